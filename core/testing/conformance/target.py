"""What an author gives to have a target checked, and what all its checks share.

async def payments() -> Target:
    account = await open_test_account()
    one, other = {"account": account, "cents": 5}, {"account": account, "cents": 7}
    return Target(refund, one, other, count=lambda: payments_of(account))

checkrein conformance target shop.checks:payments
"""

import asyncio
import inspect
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from checkrein.contracts import ids
from checkrein.contracts.codec import digest_of
from checkrein.contracts.effect import Effect, EffectStatus, Outcome, OutcomeSource
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.capability import Capability, Permit, Prepared
from checkrein.ports.transaction import Transaction

UNUSABLE = "target_unusable"
"""The code of an error that says that what was given is no target."""

TENANT = "conformance"
"""The tenant of every effect that checks make."""


@dataclass(frozen=True)
class Target:
    """A capability, and the arguments of two calls on the same resource that differ.

    Attributes:
        capability: what is checked. Its effects really happen: give one of a test account.
        one, other: neither call has been made when a check begins, where a factory makes targets.
        count: how many effects there really are at the target, read past the capability; only
            its growth is looked at. Without it, checks that must count are not made.
        transaction: for same_transaction, a transaction of the database that it writes; it commits
            where the block ends well, and rolls back where it raises.
        environment: variables with which a child process that loads the same object reaches the
            same store, where that store was made for this one target.
    """

    capability: Capability
    one: dict[str, Any]
    other: dict[str, Any]
    count: Callable[[], Awaitable[int]] | None = None
    transaction: Callable[[], AbstractAsyncContextManager[Transaction]] | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


Check = Callable[[Target], Awaitable[None]]
"""Raises AssertionError with what went wrong, or NotChecked."""


class NotChecked(Exception):  # noqa: N818 - a control signal, no error
    """A check could not be made; says why. It is neither a success nor a failure."""


@dataclass(frozen=True)
class Act:
    """One call on its way: what it would do, and the key and hash under which."""

    args: dict[str, Any]
    prepared: Prepared
    permit: Permit

    @property
    def effect(self) -> Effect:
        """The row that the ledger would hold of it once it was sent."""
        return Effect(
            effect_id=self.permit.effect_id,
            tenant=TENANT,
            resource=self.prepared.resource,
            key=self.permit.key,
            operation_hash=self.permit.operation_hash,
            action_id="act_check",
            status=EffectStatus.EXECUTING,
            from_version=self.prepared.from_version,
            to_version=self.prepared.to_version,
        )

    def received(self, outcome: Outcome) -> Effect:
        """The row once it holds its receipt, as `verify` is given it."""
        source = OutcomeSource.EXECUTED
        changed = {"status": outcome.status, "outcome": outcome, "source": source}
        return self.effect.model_copy(update=changed)


@asynccontextmanager
async def made(source: object) -> AsyncGenerator[Target]:
    """A target from what an author gives: itself, or what makes a fresh one for each check.

    `source` is a Target, a function or async function that returns one, or a function that
    returns an async context manager of one.

    Raises:
        InputError: it gives something else (code target_unusable).
    """
    found: Any = source() if callable(source) else source
    if inspect.isawaitable(found):
        found = await found
    if isinstance(found, AbstractAsyncContextManager):
        async with cast("AbstractAsyncContextManager[object]", found) as target:
            yield _target(target)
        return
    yield _target(found)


def _target(found: object) -> Target:
    if isinstance(found, Target):
        return found
    raise InputError(
        f"A value of type {type(found).__name__} is no Target. Give a checkrein.testing.conformance"
        ".target.Target, or a function or async context manager that makes one.",
        op="conformance.target",
        code=UNUSABLE,
    )


async def act(target: Target, args: dict[str, Any], key: str | None = None) -> Act:
    """Prepare a call, under a fresh key unless one is given."""
    prepared = await target.capability.prepare(args)
    key = key or f"check-{uuid.uuid4().hex}"
    permit = Permit(
        effect_id=ids.effect_id(TENANT, prepared.resource, key),
        key=key,
        operation_hash=digest_of([args, target.capability.spec.type, prepared.resource, {}]),
        fence=1,
    )
    return Act(args, prepared, permit)


async def sent(target: Target, one: Act) -> Outcome:
    """Send as an owner that nobody has replaced."""
    return await target.capability.send(one.prepared, one.permit, owner)


async def owner() -> bool:
    """Nobody has replaced this owner."""
    return True


async def refusal_of(target: Target, one: Act) -> str | None:
    """What is wrong with the answer to a send that must be refused without effect, or None."""
    try:
        outcome = await sent(target, one)
    except CapabilityError as error:
        return "the refusal leaves open whether it happened" if error.effect_possible else None
    if outcome.status in {EffectStatus.REFUSED, EffectStatus.NOT_APPLIED}:
        return None
    return f"it said {outcome.status}, not REFUSED"


async def counted(target: Target) -> int:
    """How many effects there are now.

    Raises:
        NotChecked: the target cannot count.
    """
    if target.count is None:
        raise NotChecked("it must be counted, and the Target has no count()")
    return await target.count()


async def grown(target: Target, before: int, by: int, when: str) -> None:
    """Fail unless exactly so many effects were added; a late one is given a moment to show."""
    await asyncio.sleep(0.1)
    found = await counted(target) - before
    must(found == by, f"{when} there are {found} new effects at the target, not {by}")


def must(holds: bool, problem: str) -> None:
    """Fail a check unless something holds."""
    if not holds:
        raise AssertionError(problem)


def must_commit(outcome: Outcome, when: str) -> None:
    """Fail a check unless an outcome is COMMITTED."""
    why = f" ({outcome.error_type or outcome.message})" if outcome.error_type else ""
    must(outcome.status is EffectStatus.COMMITTED, f"{when} it said {outcome.status}{why}")
