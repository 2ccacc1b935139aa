"""Targets that keep every promise, over a real store."""

import asyncio
import os
import sqlite3
import tempfile
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from targets_store import LAG_S, charged, rows, run, transaction

from checkrein.adapters.function_capability import capability
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    Capability,
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
)
from checkrein.ports.transaction import Transaction
from checkrein.testing.conformance.target import Target


def resource(args: dict[str, Any]) -> str:
    """An account is the object of every call."""
    return f"account:{args['account']}"


def on_account(made: Capability, table: str = "charges", **more: Any) -> Target:
    """Two calls on a fresh account."""
    account = uuid.uuid4().hex

    async def count() -> int:
        query = f"SELECT count(*) FROM {table} WHERE account = ?"  # noqa: S608 - names of ours
        return int((await rows(query, account))[0][0])

    one, other = ({"account": account, "cents": cents} for cents in (5, 7))
    return Target(made, one, other, count=count, **more)


async def find(effect: Effect) -> Outcome | None:
    """The charge under our key, if it is the one that we bound."""
    query = "SELECT cents FROM charges WHERE key = ? AND hash = ?"
    found = await rows(query, effect.effect_id, effect.operation_hash)
    return Outcome(status=EffectStatus.COMMITTED, result={"cents": found[0][0]}) if found else None


async def find_later(effect: Effect) -> Outcome | None:
    """As `find`, over an index that lags."""
    query = "SELECT 1 FROM charges WHERE key = ? AND at < julianday('now') * 86400.0 - ?"
    return await find(effect) if await rows(query, effect.effect_id, LAG_S) else None


async def verify(effect: Effect) -> bool:
    """Whether the charge is really there."""
    return bool(await rows("SELECT 1 FROM charges WHERE key = ?", effect.effect_id))


KEYS: dict[str, Any] = {
    "guarantee": "atomic_key",
    "key_retention_s": 3600,
    "resource": resource,
    "side_effect": "REVERSIBLE",
}


@capability("store.charge", lookup="authoritative", find=find, verify=verify, **KEYS)
async def charging(
    account: str, cents: int, *, idempotency_key: str, operation_hash: str
) -> dict[str, int]:
    """Charge an account."""
    return await charged(account, cents, idempotency_key, operation_hash)


@capability("store.charge_later", lookup="eventual", find=find_later, **KEYS)
async def charging_later(
    account: str, cents: int, *, idempotency_key: str, operation_hash: str
) -> dict[str, int]:
    """Charge an account whose index lags."""
    return await charged(account, cents, idempotency_key, operation_hash)


@capability("store.note", resource=resource)
async def noting(account: str, cents: int) -> None:
    """Write a note; nothing is promised."""
    await rows("INSERT INTO notes (account, text) VALUES (?, ?)", account, str(cents))


class Page:
    """One text for each account, swapped by version."""

    spec = CapabilitySpec(
        name="store.page",
        description="Replace a page.",
        parameters={"type": "object"},
        guarantee=Guarantee.COMPARE_AND_SET,
        lookup=Lookup.AUTHORITATIVE,
    )

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        return action_id

    async def describe(self, args: dict[str, Any]) -> Description:
        named = resource(args)
        return Description(resource=named, resource_version=await self.version(named))

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        raise CapabilityError("It is no READ.", op="page.read", code="not_supported")

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        named, text = resource(args), str(args["cents"])
        now = await self.version(named)
        wanted = f"{int(now.partition(':')[0]) + 1}:{text}"
        return Prepared(
            resource=named,
            from_version=now,
            to_version=wanted,
            preview=f"{now} -> {wanted}",
            plan=text.encode(),
        )

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        if not await still_owner():
            raise CapabilityError("Replaced.", op="page.send", code="not_owner")
        account = prepared.resource.removeprefix("account:")

        def swap(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO pages VALUES (?, 0, '')", (account,))
            connection.execute(
                "UPDATE pages SET version = version + 1, text = ? "
                "WHERE account = ? AND version || ':' || text = ?",
                (prepared.plan.decode(), account, prepared.from_version),
            )

        await run(swap)
        now = await self.version(prepared.resource)
        if now == prepared.to_version:
            return Outcome(status=EffectStatus.COMMITTED, version=now)
        return Outcome(status=EffectStatus.REFUSED, version=now)

    async def version(self, resource: str) -> str:
        query = "SELECT version || ':' || text FROM pages WHERE account = ?"
        found = await rows(query, resource.removeprefix("account:"))
        return str(found[0][0]) if found else "0:"

    async def lookup(self, effect: Effect) -> Outcome | None:
        now = await self.version(effect.resource)
        if now != effect.to_version:
            return None
        return Outcome(status=EffectStatus.COMMITTED, version=now)


class Booking(Page):
    """Notes written inside the caller's transaction."""

    spec = CapabilitySpec(
        name="store.book",
        description="Book a note.",
        parameters={"type": "object"},
        guarantee=Guarantee.SAME_TRANSACTION,
    )

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        raise CapabilityError("It is applied, not sent.", op="book.send", code="not_supported")

    async def lookup(self, effect: Effect) -> Outcome | None:
        return None

    async def apply(self, prepared: Prepared, permit: Permit, transaction: Transaction) -> Outcome:
        account = prepared.resource.removeprefix("account:")
        await transaction.rows(
            "INSERT INTO notes (account, text) VALUES (?, ?)", [account, prepared.plan.decode()]
        )
        return Outcome(status=EffectStatus.COMMITTED)


def charge() -> Target:
    """atomic_key, authoritative look-up, verification; made by a plain function."""
    return on_account(charging)


async def charge_later() -> Target:
    """atomic_key, eventual look-up; made by an async function."""
    return on_account(charging_later)


@asynccontextmanager
async def note() -> AsyncGenerator[Target]:
    """No guarantee and no look-up; made by a context manager."""
    yield on_account(noting, "notes")


def page() -> Target:
    """compare_and_set."""
    return on_account(Page())


def book() -> Target:
    """same_transaction."""
    return on_account(Booking(), "notes", transaction=transaction)


FOLDER = "TARGETS_FOLDER"
"""The variable that leads a child process to the folder of `filed`."""


@asynccontextmanager
async def filed() -> AsyncGenerator[Target]:
    """atomic_key in a store made for one target: a folder with one file for each key."""
    with tempfile.TemporaryDirectory() as made:
        yield _in_folder(Path(os.environ.get(FOLDER, made)), {FOLDER: made})


@asynccontextmanager
async def unreachable() -> AsyncGenerator[Target]:
    """As `filed`, but no child process is told where the folder is."""
    with tempfile.TemporaryDirectory() as made:
        yield _in_folder(Path(made), {})


def _file(folder: Path, key: str, bound: str) -> None:
    """Write one file under its key, whole or not at all."""
    whole = folder / f".{uuid.uuid4().hex}"
    whole.write_text(bound, encoding="utf-8")
    try:
        (folder / key).hardlink_to(whole)
    except FileExistsError:
        if (folder / key).read_text(encoding="utf-8") != bound:
            raise CapabilityError("Taken.", op="file", code="key_reused") from None


def _in_folder(folder: Path, environment: dict[str, str]) -> Target:
    @capability("store.file", **KEYS)
    async def file(account: str, cents: int, *, idempotency_key: str, operation_hash: str) -> None:
        """File a charge."""
        await asyncio.to_thread(_file, folder, idempotency_key, operation_hash)

    async def count() -> int:
        return len(await asyncio.to_thread(lambda: list(folder.glob("eff_*"))))

    one, other = ({"account": "a", "cents": cents} for cents in (5, 7))
    return Target(file, one, other, count=count, environment=environment)


fixed = on_account(charging)
"""One target for all checks."""

fixed_page = page()
"""One target for all checks, where each needs a fresh one."""

nothing = 7
"""No target."""


def reading() -> Target:
    """A READ, which has no effect to check."""

    @capability("store.read", side_effect="READ")
    async def read() -> None:
        """Read."""

    return Target(read, {}, {})


def uncounted() -> Target:
    """One that cannot count."""
    counting = on_account(charging)
    return Target(counting.capability, counting.one, counting.other)
