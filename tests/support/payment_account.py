"""A payment account at a real service, a server that records, and what a send is given."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from checkrein.adapters.http_target import HttpTarget
from checkrein.adapters.payment_target import payments, refunds
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.ports.capability import Permit, RetryPolicy

ARGS = {"amount": 500, "currency": "EUR", "to": "alice"}
FAST = RetryPolicy(tries=3, first_s=0.01, longest_s=0.05)
"""Repeats without a pause worth waiting for."""

HASH = "sha256:" + "a" * 64
SECRET = "Bearer open-sesame-123"
COMMITTED, REFUSED, UNKNOWN = (
    EffectStatus.COMMITTED,
    EffectStatus.REFUSED,
    EffectStatus.UNKNOWN_EFFECT,
)


@dataclass
class Account:
    """A namespace at the service, and who asks it about what really happened."""

    url: str
    namespace: str
    client: httpx.AsyncClient

    def charge(self, **terms: Any) -> HttpTarget:
        return payments(self.url, self.namespace, **terms)

    def refund(self) -> HttpTarget:
        return refunds(self.url, self.namespace)

    async def faults(self, **queues: list[str]) -> None:
        (await self.client.put(f"/{self.namespace}/faults", json=queues)).raise_for_status()

    async def set(self, **settings: Any) -> None:
        (await self.client.put(f"/{self.namespace}/settings", json=settings)).raise_for_status()

    async def paid(self) -> int:
        return (await self.counted())["payments"]

    async def counted(self) -> dict[str, int]:
        found = (await self.client.get(f"/{self.namespace}/count")).raise_for_status().json()
        return {kind: int(found[kind]) for kind in ("payments", "refunds")}

    async def calls(self) -> dict[str, int]:
        return dict((await self.client.get(f"/{self.namespace}/calls")).json())


@dataclass
class Recorder:
    """A real server that gives one answer to everything, and keeps what it was sent."""

    answer: bytes
    url: str = ""
    heads: list[str] = field(default_factory=list[str])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        writer.write(self.answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def recording(answer: bytes) -> AsyncGenerator[Recorder]:
    recorder = Recorder(answer)
    server = await asyncio.start_server(recorder.serve, "127.0.0.1", 0)
    async with server:
        recorder.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield recorder


def answered(body: str, status: str = "200 OK", *more: str) -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", "Connection: close", *more]
    return ("\r\n".join([*head, f"Content-Length: {len(body)}", "", ""]) + body).encode()


def new_permit(effect_id: str | None = None, operation_hash: str = HASH, **more: Any) -> Permit:
    key = effect_id or f"eff_{uuid.uuid4().hex[:24]}"
    return Permit(effect_id=key, key="act_1", operation_hash=operation_hash, fence=1, **more)


def effect_of(permit: Permit, outcome: Outcome | None = None) -> Effect:
    return Effect(
        effect_id=permit.effect_id,
        tenant="t",
        resource="account:alice",
        key=permit.key,
        operation_hash=permit.operation_hash,
        action_id="act_1",
        status=EffectStatus.EXECUTING,
        outcome=outcome,
    )


async def owner() -> bool:
    return True


async def sent(
    target: HttpTarget, permit: Permit | None = None, args: dict[str, Any] | None = None
) -> Outcome:
    prepared = await target.prepare(args or ARGS)
    return await target.send(prepared, permit or new_permit(), owner)


async def secret_headers() -> Mapping[str, str]:
    return {"Authorization": SECRET}
