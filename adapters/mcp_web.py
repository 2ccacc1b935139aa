"""A server at an address: nothing of our environment, no redirect, bounded answers."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager

import httpx
from langchain_mcp_adapters.sessions import create_session
from mcp import ClientSession

MAX_ANSWER = 16 << 20
"""Most bytes of one answer, or of one stream of events."""


class _Bounded(httpx.AsyncByteStream):
    """A body that ends with an error where it is longer than MAX_ANSWER."""

    def __init__(self, body: httpx.AsyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for part in self._body:
            taken += len(part)
            if taken > MAX_ANSWER:
                raise httpx.ReadError(f"more than {MAX_ANSWER} bytes")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


class _BoundedTransport(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Bounded(response.stream)
        return response


def _client(
    headers: dict[str, str] | None = None,
    timeout: httpx.Timeout | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        headers={**(headers or {}), "Accept-Encoding": "identity"},
        timeout=timeout,
        auth=auth,
        trust_env=False,
        follow_redirects=False,
        transport=_BoundedTransport(),
    )


def web_session(
    url: str, headers: Mapping[str, str], connect_s: float, longest_s: float
) -> AbstractAsyncContextManager[ClientSession]:
    """A session over streamable HTTP."""
    return create_session(
        {
            "transport": "streamable_http",
            "url": url,
            "headers": dict(headers),
            "timeout": connect_s,
            "sse_read_timeout": longest_s,
            "httpx_client_factory": _client,
        }
    )
