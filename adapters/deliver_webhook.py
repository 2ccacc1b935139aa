"""Deliver by HTTP: one signed POST, as https://www.standardwebhooks.com has it.

The receiver's name is looked up first and the connection goes to an address that was found and
looked at, so that a name cannot lead into a private network by changing its mind. No redirect is
followed, and nothing is taken from the environment.
"""

import asyncio
import base64
import hashlib
import hmac
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import cast

import httpx

from checkrein.adapters.addresses import is_public, url_fact
from checkrein.adapters.deliverer_spec import WebhookSpec
from checkrein.contracts.codec import to_ascii
from checkrein.contracts.message import ApprovalMessage
from checkrein.errors import DeliveryError
from checkrein.ports.clock import Clock

ANSWER_BYTES = 65_536
"""Most bytes of an answer that are read; what it says is not looked at."""

GONE = 410
"""The status by which a receiver says that it wants no more."""

_OP = "deliver.webhook"
_ADDRESSES = 3

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""A host and a port to the addresses of that host."""


async def looked_up(host: str, port: int) -> list[str]:
    """All addresses of a host, as the machine's resolver gives them.

    Raises:
        OSError: it has none.
    """
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(cast(str, address[0]) for *_, address in found))


class WebhookDeliverer:
    """ports.deliverer.Deliverer by a signed POST. The key is in `webhook-id`."""

    def __init__(
        self,
        spec: WebhookSpec,
        secret: bytes,
        trust: ssl.SSLContext,
        clock: Clock,
        resolve: Resolve = looked_up,
    ) -> None:
        """`secret`: the key of the signatures. `trust`: whose certificates are believed."""
        self.name, self.tenant = spec.name, spec.tenant
        self.limit_s, self.give_up_s = float(spec.timeout_s), spec.give_up_s
        self._url = httpx.URL(spec.url)
        self._fact = url_fact(spec.url, op=_OP)
        self._allow_private = spec.allow_private
        self._secret = secret
        self._trust = trust
        self._clock = clock
        self._resolve = resolve

    async def deliver(self, message: ApprovalMessage) -> str:
        """See the port."""
        body = to_ascii(message).encode()
        headers = {
            **self._signed(message.key, body),
            "Content-Type": "application/json",
            "User-Agent": "checkrein",
            "Accept-Encoding": "identity",
            "Connection": "close",
            "Host": self._url.netloc.decode("ascii"),
        }
        status, wait_s = await self._posted(await self._addresses(), headers, body)
        if 200 <= status < 300:
            return ""
        raise DeliveryError(
            f"The receiver answered {status}"
            f"{': it wants no more messages' if status == GONE else ''}.",
            op=_OP,
            final=status == GONE,
            wait_s=wait_s,
        )

    def _signed(self, key: str, body: bytes) -> dict[str, str]:
        seconds = str(self._clock.now_ns() // 1_000_000_000)
        content = b".".join((key.encode(), seconds.encode(), body))
        signature = hmac.new(self._secret, content, hashlib.sha256).digest()
        return {
            "webhook-id": key,
            "webhook-timestamp": seconds,
            "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
        }

    async def _addresses(self) -> list[str]:
        try:
            found = await self._resolve(self._fact.host, self._fact.port)
        except OSError as error:
            raise DeliveryError("The receiver's host has no address.", op=_OP) from error
        # One that is not public spoils them all: an honest public name has no such address.
        if not self._allow_private and not all(map(is_public, found)):
            raise DeliveryError(
                "The receiver's host leads to an address that is not public, and the file does not "
                "say allow_private. Nothing was sent.",
                op=_OP,
            )
        return found[:_ADDRESSES]

    async def _posted(
        self, addresses: list[str], headers: dict[str, str], body: bytes
    ) -> tuple[int, float]:
        """Post to the first address that takes a connection; status, and how long to wait."""
        fault = "no address"
        async with self._client() as client:
            for address in addresses:
                request = httpx.Request(
                    "POST",
                    self._url.copy_with(host=address, username=None, password=None),
                    headers=headers,
                    content=body,
                    extensions={
                        "timeout": httpx.Timeout(self.limit_s, connect=self.limit_s / 4).as_dict(),
                        "sni_hostname": self._fact.host,
                    },
                )
                try:
                    return await _answered(client, request)
                except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                    fault = type(error).__name__
                except httpx.HTTPError as error:
                    # Only its type: the text of some quotes what was sent.
                    raise DeliveryError(
                        f"The connection to the receiver broke ({type(error).__name__}).", op=_OP
                    ) from error
        raise DeliveryError(f"No connection to the receiver ({fault}).", op=_OP)

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            verify=self._trust, http2=False, trust_env=False, follow_redirects=False
        )


async def _answered(client: httpx.AsyncClient, request: httpx.Request) -> tuple[int, float]:
    response = await client.send(request, stream=True, auth=None, follow_redirects=False)
    try:
        read = 0
        # The status alone is the answer; the rest is read for the receiver's sake, and bounded.
        async for chunk in response.aiter_raw():
            read += len(chunk)
            if read > ANSWER_BYTES:
                break
    except httpx.HTTPError:
        pass
    finally:
        await asyncio.shield(response.aclose())
    asked = response.headers.get("retry-after", "")
    return response.status_code, float(asked) if asked.isdecimal() and len(asked) < 6 else 0.0
