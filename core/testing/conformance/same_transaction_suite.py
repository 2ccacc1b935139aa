"""What every capability that declares same_transaction must do: stand or fall with its receipt."""

from contextlib import AbstractAsyncContextManager

from checkrein.contracts.effect import Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import Applies, Verifies
from checkrein.ports.transaction import Transaction
from checkrein.testing.conformance.target import (
    Act,
    Check,
    NotChecked,
    Target,
    act,
    counted,
    grown,
    must,
    must_commit,
)


class _RollBackError(Exception):
    """Ends a transaction as a receipt that cannot be written does."""


async def what_is_committed_stands(target: Target) -> None:
    """Once the receipt is committed the effect is there, once."""
    before = await counted(target)
    one = await act(target, target.one)
    async with _transaction(target) as transaction:
        must_commit(await _applied(target, one, transaction), "apply:")
    await grown(target, before, 1, "after the commit")


async def what_is_rolled_back_never_was(target: Target) -> None:
    """Without its receipt there is no effect: it does not commit by itself."""
    before = await counted(target)
    await _rolled_back(target, await act(target, target.one))
    await grown(target, before, 0, "after the roll-back")


async def nothing_shows_before_the_commit(target: Target) -> None:
    """Nobody else sees an effect whose receipt is not there yet."""
    before = await counted(target)
    one = await act(target, target.one)
    async with _transaction(target) as transaction:
        must_commit(await _applied(target, one, transaction), "apply:")
        await grown(target, before, 0, "before the commit")


async def after_a_roll_back_it_can_be_applied(target: Target) -> None:
    """A repeat after a crash is the first one that counts."""
    before = await counted(target)
    one = await act(target, target.one)
    await _rolled_back(target, one)
    async with _transaction(target) as transaction:
        must_commit(await _applied(target, one, transaction), "apply after a roll-back:")
    await grown(target, before, 1, "after a roll-back and a commit")


async def it_is_not_sent_by_another_way(target: Target) -> None:
    """An effect outside of the transaction would have no receipt."""
    before = await counted(target)
    one = await act(target, target.one)

    async def owner() -> bool:
        return True

    try:
        outcome = await target.capability.send(one.prepared, one.permit, owner)
    except CapabilityError as error:
        must(not error.effect_possible, "send leaves open whether something happened")
    else:
        raise AssertionError(f"send said {outcome.status}; it must raise a CapabilityError")
    await grown(target, before, 0, "after a send outside of any transaction")


async def what_was_applied_verifies(target: Target) -> None:
    """Reading the real system back finds the effect."""
    capability = target.capability
    if not isinstance(capability, Verifies):
        raise AssertionError("verifies is declared, but there is no method verify")
    one = await act(target, target.one)
    async with _transaction(target) as transaction:
        outcome = await _applied(target, one, transaction)
        must_commit(outcome, "apply:")
    found = await capability.verify(one.received(outcome))
    must(found.holds, f"after the commit it does not hold: {found.detail or 'no detail'}")


CHECKS: dict[str, list[Check]] = {
    "same_transaction": [
        what_is_committed_stands,
        what_is_rolled_back_never_was,
        nothing_shows_before_the_commit,
        after_a_roll_back_it_can_be_applied,
        it_is_not_sent_by_another_way,
    ],
}
"""Guarantee to the checks of it."""

VERIFICATION: list[Check] = [what_was_applied_verifies]


def _transaction(target: Target) -> AbstractAsyncContextManager[Transaction]:
    if target.transaction is None:
        raise NotChecked("the Target has no transaction()")
    return target.transaction()


async def _applied(target: Target, one: Act, transaction: Transaction) -> Outcome:
    capability = target.capability
    if not isinstance(capability, Applies):
        raise AssertionError("same_transaction is declared, but there is no method apply")
    return await capability.apply(one.prepared, one.permit, transaction)


async def _rolled_back(target: Target, one: Act) -> None:
    try:
        async with _transaction(target) as transaction:
            must_commit(await _applied(target, one, transaction), "apply:")
            raise _RollBackError
    except _RollBackError:
        return  # that it comes out again is how a transaction tells that it was rolled back
