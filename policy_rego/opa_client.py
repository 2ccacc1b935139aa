"""opa-python-client, so guarded that nothing but the server's own whole answer gets through.

The client knows OPA's interface: it makes the URL of a rule and its query, carries the bearer
token, and keeps one session. All its requests go through `_request`, and its session is made in
`_init_session`; both are replaced here, since as shipped they follow redirects, send a POST again
after a 500, read a body of any size, take any status below 400 for an answer, and encode the
input anew, so that other bytes would be judged than are hashed and stored.

Here: no redirect, no proxy, no .netrc, no cookie, no compression; status, type and size are
checked before the body is parsed; only failures to connect are tried again; and one connection
is used for many questions, but never one on which the server said more than it was asked.
"""

import asyncio
import io
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from opa_client import AsyncOpaClient  # type: ignore[import-untyped]  # it ships no types

from checkrein.contracts.decision import Reserved
from checkrein.errors import CheckreinError, EnvironmentFault, InputError
from checkrein.policy_rego.opa_address import OpaAddress
from checkrein.policy_rego.opa_answer import MAX_ANSWER_BYTES, HttpAnswer

CONNECTIONS = 16
"""Most questions that are asked at once; more of them wait."""

RETRIES = 2
"""How often connecting is tried again."""

BACKOFF_S = 0.05
"""Seconds before the first new try; each further one waits twice as long."""

_OP = "policy.opa"
_QUERY = {"provenance": "true", "strict-builtin-errors": "true"}


@dataclass(frozen=True, slots=True)
class _Written:
    """An input as the bytes that it is sent in."""

    text: bytes


class _Unspoken:
    """A connector that gives up an idle connection on which the server has said something.

    What came there was not asked for; the session would take it for the next question's answer.
    """

    async def _get(self, key: Any, traces: Any) -> Any:
        pool: Any = super()
        while (connection := await pool._get(key, traces)) is not None:
            if not connection.protocol.should_close:
                return connection
            connection.close()
        return None


class _TcpConnector(_Unspoken, aiohttp.TCPConnector):
    """By host and port."""


class _UnixConnector(_Unspoken, aiohttp.UnixConnector):
    """By a socket in the file system."""


# By way of Any: it ships no types, and its annotations are narrower than what it takes.
_Client: Any = AsyncOpaClient


class GuardedOpaClient(_Client):  # type: ignore[misc]  # what is used of it stands below
    """Asks one server for one rule; use it as an async context manager, on one event loop."""

    def __init__(
        self, address: OpaAddress, *, token: str | None, ca: str | None, timeout_s: float
    ) -> None:
        """Nothing is connected yet. `ca`: a PEM file with the authorities to trust, and no others.

        Raises:
            InputError: the token or the file cannot be used, or the token would travel in clear.
        """
        client: Any = super()
        client.__init__(
            host=address.host,
            port=address.port,
            ssl=address.tls,
            token=_checked(token, address),
            retries=RETRIES,
            timeout=timeout_s,
        )
        self._address = address
        self._trusted = _trusted(ca) if address.tls else None

    async def decision(self, input_text: bytes) -> dict[str, Any]:
        """The whole answer for one input, given as JSON text.

        Raises:
            EnvironmentFault: there is no answer that could be believed; the code says why.
            TimeoutError, aiohttp.ClientError, OSError: it cannot be had.
        """
        answer: dict[str, Any] = await self.query_rule(
            _Written(input_text), "checkrein", "decision", query_params=_QUERY
        )
        return answer

    async def _init_session(self) -> None:
        if not hasattr(aiohttp.BaseConnector, "_get"):
            # It is no public part of aiohttp; without it what is replaced above would never run.
            raise EnvironmentFault(
                f"aiohttp {aiohttp.__version__} is too new for this version of Checkrein. "
                "Install an older one: pip install 'aiohttp<3.15'.",
                op=_OP,
                code=Reserved.POLICY_UNAVAILABLE,
            )
        if self._address.socket is not None:
            self._connector: aiohttp.BaseConnector = _UnixConnector(
                self._address.socket, limit=CONNECTIONS
            )
        else:
            self._connector = _TcpConnector(ssl=self._trusted or True, limit=CONNECTIONS)
        self._session: aiohttp.ClientSession | None = aiohttp.ClientSession(
            connector=self._connector,
            headers={**(self.headers or {}), "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    @asynccontextmanager
    async def _request(self, method: str, url: str, **more: Any) -> AsyncGenerator[HttpAnswer]:
        written = more.get("json", {}).get("input")
        if method != "POST" or not isinstance(written, _Written) or self._session is None:
            raise CheckreinError("Only an open client asks, and only for decisions.", op=_OP)
        tries = 0
        while True:
            try:
                answer = await self._asked(self._session, url, written)
                break
            except (aiohttp.ClientSSLError, TimeoutError):
                raise
            except aiohttp.ClientConnectionError:
                # The question may have been judged; judging it twice changes nothing.
                if tries >= self.retries:
                    raise
            await asyncio.sleep(BACKOFF_S * 2**tries)
            tries += 1
        yield answer

    async def _asked(
        self, session: aiohttp.ClientSession, url: str, written: _Written
    ) -> HttpAnswer:
        response = await session.request(
            "POST",
            url,
            # As a stream, which is written in pieces: megabytes at once would hold up the loop.
            data=io.BytesIO(b'{"input":' + written.text + b"}"),
            headers={"Content-Type": "application/json"},
            allow_redirects=False,
        )
        try:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise _invalid("is compressed, which was not asked for")
            return HttpAnswer(
                status=response.status,
                media=response.headers.get("Content-Type", "").partition(";")[0].strip().lower(),
                body=await _bounded(response),
            )
        finally:
            # Where it was read to its end the connection is kept all the same.
            response.close()


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    if (response.content_length or 0) > MAX_ANSWER_BYTES:
        raise _invalid(f"is larger than {MAX_ANSWER_BYTES} bytes")
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise _invalid(f"is larger than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _checked(token: str | None, address: OpaAddress) -> str | None:
    if token is None:
        return None
    if not token.isascii() or not token.isprintable() or " " in token or not token:
        raise InputError(
            "The token for OPA holds a space or a character that no header can hold.",
            op=_OP,
            code="opa_token",
        )
    if not address.tls and address.leaves_the_machine:
        raise InputError(
            f"The token for OPA would be sent in clear to {address.text}. Use https.",
            op=_OP,
            code="opa_token",
        )
    return token


def _trusted(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:  # ssl.SSLError is one too
        raise InputError(
            f"{ca} cannot be used as the authority of OPA's certificate "
            f"({error.strerror or 'no certificate in it'}). Name a PEM file.",
            op=_OP,
            code="opa_ca",
        ) from error


def _invalid(why: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"The OPA server's answer {why}.", op=_OP, code=Reserved.POLICY_OUTPUT_INVALID
    )
