"""Real receivers on loopback: one that takes webhooks, and one that takes mail. They count."""

import asyncio
import contextlib
import email.parser
import email.policy
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(
    serve: Serve, port: int = 0, trust: ssl.SSLContext | None = None
) -> AsyncGenerator[int]:
    """The port of a server of this event loop; nothing of it is left after the block."""
    tasks: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with contextlib.suppress(
                ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError
            ):
                await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError, ssl.SSLError, asyncio.CancelledError):
                await writer.wait_closed()
            tasks.discard(task)

    server = await asyncio.start_server(one, "127.0.0.1", port, ssl=trust)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(frozen=True)
class Post:
    """One request, as it came over the wire."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        """What receivers throw doubles away by."""
        return self.headers["webhook-id"]


@dataclass
class HookReceiver:
    """Takes webhooks.

    Attributes:
        answers: what is answered to the next requests, whole; 204 once they are used up. `hang`
            never answers, `drop` closes at once.
        posts: everything that came.
        peer_names: the server names that TLS clients asked for.
    """

    answers: list[bytes] = field(default_factory=list[bytes])
    always: bytes = b""
    posts: list[Post] = field(default_factory=list[Post])
    peer_names: list[str | None] = field(default_factory=list[str | None])
    url: str = ""
    port: int = 0

    @property
    def keys(self) -> list[str]:
        """The keys of all that came, doubles too, in order."""
        return [post.key for post in self.posts]

    @property
    def once(self) -> list[str]:
        """The keys with doubles thrown away, as a receiver counts."""
        return list(dict.fromkeys(self.keys))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head.strip().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (h.partition(":") for h in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.posts.append(Post(line, headers, body))
        answer = self.always or (self.answers.pop(0) if self.answers else status(204))
        if answer == b"hang":
            await reader.read()
        elif answer != b"drop":
            writer.write(answer)
            await writer.drain()


def status(code: int, *headers: str, body: bytes = b"") -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {code} Said", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


@asynccontextmanager
async def hooks(
    port: int = 0, trust: ssl.SSLContext | None = None, receiver: HookReceiver | None = None
) -> AsyncGenerator[HookReceiver]:
    """A receiver of webhooks that is up until the block ends."""
    receiver = receiver or HookReceiver()
    if trust is not None:
        trust.sni_callback = lambda _socket, name, _context: receiver.peer_names.append(name)
    async with served(receiver.serve, port, trust) as receiver.port:
        scheme = "http" if trust is None else "https"
        receiver.url = f"{scheme}://127.0.0.1:{receiver.port}/hook"
        yield receiver


@dataclass
class MailReceiver:
    """Takes mail, as far as a client of SMTP needs it.

    Attributes:
        trust: offers STARTTLS with these certificates.
        refuse: addresses that it takes no mail for, with the code that it says.
        greeting, after_data: said in place of the usual; `hang` says nothing, `drip` one byte at
            a time and never a whole line.
        lines: all that clients said, but for the mails themselves.
        mails: what it took.
    """

    trust: ssl.SSLContext | None = None
    refuse: dict[str, int] = field(default_factory=dict[str, int])
    greeting: str = "220 ready"
    after_data: str = "250 taken"
    password: str = ""
    lines: list[str] = field(default_factory=list[str])
    mails: list[bytes] = field(default_factory=list[bytes])
    encrypted: list[bool] = field(default_factory=list[bool])
    port: int = 0

    @property
    def texts(self) -> list[str]:
        """What stands in the mails."""
        return [str(mail.get_content()).replace("\r\n", "\n") for mail in self.read]

    @property
    def read(self) -> list[EmailMessage]:
        """The mails, taken apart as a reader would."""
        parser = email.parser.BytesParser(policy=email.policy.default)
        return [parser.parsebytes(raw) for raw in self.mails]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One conversation."""
        await self._say(writer, self.greeting)
        while line := (await reader.readline()).decode().strip():
            self.lines.append(line)
            if not await self._obey(line, reader, writer):
                break

    async def _obey(
        self, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        word, _, rest = line.partition(" ")
        secure = writer.get_extra_info("ssl_object") is not None
        match word.upper():
            case "EHLO":
                offered = ["AUTH PLAIN"] if secure else []
                offered += ["STARTTLS"] if self.trust is not None and not secure else []
                lines = ["receiver.test", *offered]
                text = [f"250{'-' if n < len(lines) - 1 else ' '}{t}" for n, t in enumerate(lines)]
                await self._say(writer, "\r\n".join(text))
            case "STARTTLS" if self.trust is not None:
                await self._say(writer, "220 go on")
                await writer.start_tls(self.trust)
            case "RCPT":
                address = rest.partition("<")[2].partition(">")[0]
                code = self.refuse.get(address)
                await self._say(writer, "250 ok" if code is None else f"{code} secret reason")
            case "DATA":
                await self._say(writer, "354 go on")
                raw = (await reader.readuntil(b"\r\n.\r\n"))[:-3]
                self.mails.append(raw.replace(b"\r\n..", b"\r\n."))
                self.encrypted.append(secure)
                await self._say(writer, self.after_data)
            case "QUIT":
                await self._say(writer, "221 bye")
                return False
            case _:
                await self._say(writer, "250 ok" if word.upper() != "AUTH" else "235 welcome")
        return True

    async def _say(self, writer: asyncio.StreamWriter, text: str) -> None:
        if text == "hang":
            await asyncio.Event().wait()
        while text == "drip":
            writer.write(b"2")
            await writer.drain()
            await asyncio.sleep(0.02)
        writer.write(text.encode() + b"\r\n")
        await writer.drain()


@asynccontextmanager
async def mails(receiver: MailReceiver | None = None) -> AsyncGenerator[MailReceiver]:
    """A mail server that is up until the block ends."""
    receiver = receiver or MailReceiver()
    async with served(receiver.serve) as receiver.port:
        yield receiver
