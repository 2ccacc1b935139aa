"""The targets of the crash table: each kind over its real adapter, with a failpoint in its send.

It lies beside compose, which alone picks adapters: what a cell names becomes a capability here.
"""

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx
import psycopg
from pydantic import Field

from checkrein.adapters.payment_target import payments
from checkrein.adapters.plug_in import load_object
from checkrein.adapters.sql_target import RowDeclaration, SqlRow, SqlRowWithReceipt
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.codec import Frozen
from checkrein.contracts.effect import Effect, Outcome
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.capability import (
    Capability,
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    RetryPolicy,
    StillOwner,
    Verification,
    Verifies,
)
from checkrein.testing.conformance.target import made

__all__ = ["ROWS", "Opened", "Place", "arranged", "limited", "opened", "queued"]

Reach = Callable[[str], Awaitable[None]]

FILE_ARGS: dict[str, Any] = {"path": "a.txt", "content": "two\n"}
ROW_ARGS: dict[str, Any] = {"key": "one", "set": {"value": "two"}}
PAYMENT_ARGS: dict[str, Any] = {"amount": 500, "currency": "EUR", "to": "alice"}

ROWS = """
CREATE SCHEMA crash;
CREATE TABLE crash.rows (
    id text PRIMARY KEY, value text NOT NULL, version bigint NOT NULL);
CREATE TABLE crash.effects (n bigint GENERATED ALWAYS AS IDENTITY);
CREATE FUNCTION crash.counted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO crash.effects DEFAULT VALUES;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER UPDATE ON crash.rows
FOR EACH ROW EXECUTE FUNCTION crash.counted();
INSERT INTO crash.rows VALUES ('one', 'one', 1);
GRANT USAGE ON SCHEMA crash TO checkrein_app;
GRANT SELECT, UPDATE ON crash.rows TO checkrein_app;
"""
"""A table that counts by itself what is changed in it."""


class Place(Frozen):
    """Where the target of one cell is, as every process of the cell is told.

    Attributes:
        at: the service's URL, the database's URL, the workspace's folder, or MODULE:OBJECT.
        namespace: the account at the payment service.
        busy_once: whether the first send is turned away, without effect.
        environment: variables by which a process finds the same store.
    """

    of: Literal["file", "row", "same_transaction", "http", "object"]
    at: str
    namespace: str = ""
    guarantee: Guarantee = Guarantee.NONE
    lookup: Lookup = Lookup.NONE
    busy_once: bool = False
    environment: dict[str, str] = Field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Opened:
    """A target in reach of one process.

    Attributes:
        capabilities: those to be given; none for files, which every run has.
        count: how many effects the target itself has counted; None: it cannot.
    """

    capabilities: tuple[Capability, ...]
    name: str
    args: dict[str, Any]
    count: Callable[[], Awaitable[int]] | None
    spec: CapabilitySpec | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


async def _no_failpoint(place: str) -> None:
    """Nothing happens."""


@asynccontextmanager
async def opened(place: Place, reach: Reach = _no_failpoint) -> AsyncGenerator[Opened]:
    """Open the target; `reach` is awaited at `after_target`.

    Raises:
        InputError: an object of somebody's is no target, or no crash table can be made of it.
    """
    async with AsyncExitStack() as stack:
        match place.of:
            case "file":
                yield Opened((), "workspace.write_file", FILE_ARGS, None)
            case "row":
                yield _row(place, passing(SqlRow(_declared("crash.row"), place.at), reach, place))
            case "same_transaction":
                yield _row(place, SqlRowWithReceipt(_declared("crash.row"), place.at))
            case "http":
                client = await stack.enter_async_context(httpx.AsyncClient())
                yield _paid(place, client, reach)
            case "object":
                os.environ.update(place.environment)
                target = await stack.enter_async_context(made(load_object(place.at)))
                spec = target.capability.spec
                _usable(spec)
                known = {**place.environment, **target.environment}
                one = passing(target.capability, reach, place)
                yield Opened((one,), spec.name, target.one, target.count, spec, known)


def _usable(spec: CapabilitySpec) -> None:
    if spec.side_effect is SideEffect.READ or spec.guarantee is Guarantee.SAME_TRANSACTION:
        why = "it is a READ, which has no effect"
        if spec.guarantee is Guarantee.SAME_TRANSACTION:
            why = "it writes the harness's own database, and the table makes one of its own"
        raise InputError(
            f"No crash table can be made of {spec.name}: {why}.",
            op="crash_targets.open",
            code="target_unusable",
        )


def _declared(name: str) -> RowDeclaration:
    return RowDeclaration(
        name=name,
        description="Set the value of a row.",
        table="crash.rows",
        key_column="id",
        columns={"value": {"type": "string"}},
        version_column="version",
    )


def _row(place: Place, capability: Capability) -> Opened:
    async def count() -> int:
        async with await psycopg.AsyncConnection.connect(place.at) as connection:
            row = await (await connection.execute("SELECT count(*) FROM crash.effects")).fetchone()
        assert row is not None
        return int(row[0])

    return Opened((capability,), capability.spec.name, ROW_ARGS, count)


def _paid(place: Place, client: httpx.AsyncClient, reach: Reach) -> Opened:
    target = payments(
        place.at,
        place.namespace,
        guarantee=place.guarantee,
        lookup=place.lookup,
        timeout_s=5.0,
        # Reading it back is a question too: it is left out where the target answers none.
        verified=place.lookup is Lookup.AUTHORITATIVE,
        retry=RetryPolicy(first_s=0.02),
        client=client,
    )

    async def count() -> int:
        answer = await client.get(f"{place.at}/{place.namespace}/count")
        return int(answer.raise_for_status().json()["payments"])

    return Opened((passing(target, reach, place),), target.spec.name, PAYMENT_ARGS, count)


class Passing:
    """A capability whose send passes the failpoint between the target's answer and the ledger."""

    def __init__(self, inner: Capability, reach: Reach, *, busy: bool) -> None:
        self._inner = inner
        self._reach = reach
        self._busy = busy

    @property
    def spec(self) -> CapabilitySpec:
        """See the port."""
        return self._inner.spec

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """See the port."""
        return self._inner.idempotency_key(action_id, args)

    async def describe(self, args: dict[str, Any]) -> Description:
        """See the port."""
        return await self._inner.describe(args)

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """See the port."""
        return await self._inner.read(args, constraints)

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """See the port."""
        return await self._inner.prepare(args, preview=preview)

    async def version(self, resource: str) -> str:
        """See the port."""
        return await self._inner.version(resource)

    async def lookup(self, effect: Effect) -> Outcome | None:
        """See the port."""
        return await self._inner.lookup(effect)

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """See the port."""
        if self._busy:
            self._busy = False
            raise CapabilityError(
                "It takes nothing now; nothing was changed.",
                op="crash_targets.send",
                code="target_busy",
                retryable=True,
            )
        outcome = await self._inner.send(prepared, permit, still_owner)
        await self._reach("after_target")
        return outcome


class PassingVerified(Passing):
    """The same for one that is read back after its receipt."""

    async def verify(self, effect: Effect) -> Verification:
        """See the port."""
        assert isinstance(self._inner, Verifies), "it was made of one"
        return await self._inner.verify(effect)


def passing(inner: Capability, reach: Reach, place: Place) -> Capability:
    """The capability with a failpoint in its send."""
    kind = PassingVerified if inner.spec.verifies else Passing
    return kind(inner, reach, busy=place.busy_once)


async def arranged(place: Place, **more: Any) -> None:
    """Tell the payment service what this account's lookups are like."""
    if place.of != "http":
        return
    settings: dict[str, Any] = {"lookup": str(place.lookup).lower(), **more}
    if place.lookup is Lookup.EVENTUAL:
        settings["eventual_after_s"] = 3600  # for a whole cell, absence proves nothing
    await _put(place, "settings", settings)


async def limited(place: Place) -> None:
    """Let the payment service refuse from now on what it has taken before."""
    await arranged(place, limit=1)


async def queued(place: Place, faults: list[str]) -> None:
    """Let the payment service do so with this account's next requests."""
    await _put(place, "faults", {"next": faults})


async def _put(place: Place, what: str, value: dict[str, Any]) -> None:
    async with httpx.AsyncClient() as client:
        answer = await client.put(f"{place.at}/{place.namespace}/{what}", json=value)
        answer.raise_for_status()
