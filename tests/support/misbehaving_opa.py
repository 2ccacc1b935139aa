"""A server that speaks like OPA until it is told to misbehave, over a real socket."""

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

REVISION = "sha256:the-right-one"

Writer = asyncio.StreamWriter
Behaviour = Callable[[Writer], Awaitable[None]]


def provenance(revision: str | None = REVISION, version: str = "1.22.3") -> dict[str, Any]:
    """Who answered, as OPA says it."""
    bundle = {} if revision is None else {"revision": revision}
    return {"version": version, "build_commit": "", "bundles": {"b": bundle}}


def decision(**change: Any) -> dict[str, Any]:
    """A whole ALLOW: whatever is taken from a wrong answer would let the action run."""
    whole: dict[str, Any] = {
        "decision": "ALLOW",
        "reason_code": "fine",
        "reasons": ["fine"],
        "constraints": {},
        "approval": None,
        "obligations": [],
    }
    return whole | change


def body(**change: Any) -> bytes:
    """A right answer, or one with other parts."""
    return json.dumps({"provenance": provenance(), "result": decision(), **change}).encode()


def http(
    content: bytes, status: str = "200 OK", media: str = "application/json", more: str = ""
) -> bytes:
    """An HTTP answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {len(content)}\r\n{more}"
    return head.encode() + b"\r\n" + content


def says(answer: bytes) -> Behaviour:
    """Answers with these bytes."""

    async def behave(writer: Writer) -> None:
        writer.write(answer)
        await writer.drain()

    return behave


RIGHT = says(http(body()))
"""Allows everything, as a server with such a bundle would."""


async def closes(writer: Writer) -> None:
    """Ends the connection without a word."""
    writer.close()


async def cuts(writer: Writer) -> None:
    """Ends the connection in the middle of its answer."""
    writer.write(http(body())[:-20])
    await writer.drain()
    writer.close()


async def hangs(writer: Writer) -> None:
    """Never answers."""
    await asyncio.sleep(3_600)


async def drips(writer: Writer) -> None:
    """Answers one byte at a time, each of them in time for a time-out that is per read."""
    for byte in http(body()):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def drips_body(writer: Writer) -> None:
    """The same with whole headers."""
    head, _, content = http(body()).partition(b"\r\n\r\n")
    writer.write(head + b"\r\n\r\n")
    for byte in content:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.05)


async def floods(writer: Writer) -> None:
    """Five megabytes in pieces, without saying so before."""
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    piece = b" " * 65_536
    for _ in range(80):
        writer.write(b"10000\r\n" + piece + b"\r\n")
        await writer.drain()
    writer.write(b"%x\r\n" % len(body()) + body() + b"\r\n0\r\n\r\n")
    await writer.drain()


async def speaks_twice(writer: Writer) -> None:
    """A denial, and a moment later an allow that nobody asked for, on the same connection."""
    denial = decision(decision="DENY", reason_code="the_answer", reasons=["the_answer"])
    writer.write(http(body(result=denial)))
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.write(http(body()))
    await writer.drain()


def redirects(port: int) -> Behaviour:
    """Sends the asker elsewhere, where everything is allowed."""
    return says(http(body(), "302 Found", more=f"Location: http://127.0.0.1:{port}/v1/data/x\r\n"))


def compressed() -> Behaviour:
    """A right answer, compressed though nobody said that it may be."""
    return says(http(gzip.compress(body()), more="Content-Encoding: gzip\r\n"))


class MisbehavingOpa:
    """One server. `behave` may be changed at any time.

    Attributes:
        questions: the head and body of every request, in order.
        connections: how often somebody connected.
    """

    def __init__(self) -> None:
        self.behave: Behaviour = RIGHT
        self.questions: list[tuple[str, bytes]] = []
        self.connections = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        """Answer one connection's questions until it ends."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                size = next(
                    int(line.partition(":")[2])
                    for line in head.splitlines()
                    if line.lower().startswith("content-length")
                )
                self.questions.append((head, await reader.readexactly(size)))
                await self.behave(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # the asker is gone, as it should be
        except asyncio.CancelledError:
            return  # the test is over; asyncio's own server logs a task that ends otherwise
        finally:
            self._tasks.discard(task)
            writer.close()

    def stop(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()


@asynccontextmanager
async def misbehaving() -> AsyncGenerator[MisbehavingOpa]:
    """A server on a free port, gone afterwards."""
    told = MisbehavingOpa()
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0)
    told.port = server.sockets[0].getsockname()[1]
    try:
        yield told
    finally:
        server.close()
        told.stop()
        await asyncio.sleep(0)
