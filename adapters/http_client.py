"""One HTTP exchange, bounded in time and size: an answer, or how it was lost and if bytes left.

Nothing is taken from the environment (no proxy, no netrc), no redirect is followed, nothing is
unpacked, no cookie is kept, and every exchange has a connection of its own: an answer that was left
over on a kept connection would be taken for the answer to the next request, and a kept one that
the other side closes meanwhile would leave a write in doubt for nothing.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Self

import httpx

_CONNECT_S = 5.0
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True)
class Answer:
    """A whole answer; of a redirect only the status."""

    status: int
    content_type: str
    body: bytes
    retry_after: str = ""


@dataclass(frozen=True)
class Lost:
    """There is no answer to be believed.

    Attributes:
        sent: whether a byte of the request may have left. False is certain.
    """

    error_type: str
    message: str
    sent: bool = True


class HttpClient:
    """Asks one service. The client behind it is made when first used in an event loop."""

    def __init__(self, client: httpx.AsyncClient | None = None) -> None:
        """Use a client of yours, which you close yourself, or none."""
        self._given = client
        self._own: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def exchange(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_s: float,
        max_bytes: int,
    ) -> Answer | Lost:
        """Send one request and read its answer within `timeout_s` seconds in all."""
        phase = httpx.Timeout(timeout_s, connect=min(_CONNECT_S, timeout_s / 4), pool=timeout_s / 4)
        request = httpx.Request(
            method,
            url,
            headers={**headers, "Accept-Encoding": "identity", "Connection": "close"},
            content=body,
            extensions={"timeout": phase.as_dict()},
        )
        try:
            async with asyncio.timeout(timeout_s):
                return await self._answered(request, max_bytes)
        except _NOT_SENT as error:
            kind = type(error).__name__
            return Lost("target_unreachable", f"no connection could be made ({kind})", sent=False)
        except (TimeoutError, httpx.TimeoutException):
            return Lost("timed_out", f"no whole answer came within {timeout_s:g} s")
        except httpx.RemoteProtocolError:
            return Lost("bad_answer", "the connection ended early, or what came is no HTTP")
        except httpx.HTTPError as error:
            # Only its type: the text of some quotes headers, and those hold secrets.
            return Lost("connection_lost", f"the connection broke ({type(error).__name__})")

    async def _answered(self, request: httpx.Request, max_bytes: int) -> Answer | Lost:
        response = await self._client().send(
            request, stream=True, follow_redirects=False, auth=None
        )
        try:
            if 300 <= response.status_code < 400:
                return Answer(response.status_code, "", b"")
            if response.headers.get("content-encoding", "identity") != "identity":
                return Lost("bad_answer", "the answer is packed, which was not asked for")
            body = bytearray()
            # Raw, so that no small answer unpacks to a large one.
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > max_bytes:
                    return Lost("answer_too_large", f"the answer is larger than {max_bytes} bytes")
            return Answer(
                response.status_code,
                response.headers.get("content-type", ""),
                bytes(body),
                response.headers.get("retry-after", ""),
            )
        finally:
            # Shielded: whoever cuts this off meanwhile must not leave the connection open.
            await asyncio.shield(response.aclose())

    def _client(self) -> httpx.AsyncClient:
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._own is None or self._loop is not loop:
            # One of an older loop holds no connection, and can no longer be closed.
            self._own, self._loop = _new_client(), loop
        return self._own

    async def aclose(self) -> None:
        """Close the client, unless it is yours. It may be used again afterwards."""
        own, self._own = self._own, None
        if own is not None:
            await own.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _new_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(
        http1=True,
        http2=False,
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        limits=httpx.Limits(max_keepalive_connections=0),
    )
