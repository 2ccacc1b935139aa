"""What every target that declares compare_and_set must do, whatever kind of thing it changes.

The tests of a capability give two calls on one resource that differ in what they want; each check
of CHECKS is awaited with them and raises AssertionError with what went wrong. Each needs a
resource of its own, on which neither call has been made.
"""

import asyncio

from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import Permit, Prepared
from checkrein.testing.conformance.target import Check, Target

__all__ = ["CHECKS", "Check", "Target"]


async def it_declares_what_is_checked(target: Target) -> None:
    """The ledger picks its path by these words."""
    spec = target.capability.spec
    _must(spec.guarantee is Guarantee.COMPARE_AND_SET, f"it declares {spec.guarantee}")
    _must(spec.lookup is Lookup.AUTHORITATIVE, f"its lookup is {spec.lookup}")
    _must(spec.side_effect is not SideEffect.READ, "it declares to be a READ")


async def preparing_changes_nothing(target: Target) -> None:
    """A person may look at a preview for days."""
    prepared = await target.capability.prepare(target.one)
    _must(bool(prepared.preview), "there is no preview")
    _must(not prepared.no_change, "the call changes nothing; the check needs one that does")
    _must(await _now(target, prepared) == prepared.from_version, "preparing changed the resource")
    again = await target.capability.prepare(target.one)
    _must(again == prepared, "preparing twice gives two different things")


async def a_send_leads_to_the_stated_version(target: Target) -> None:
    """The receipt names what is there, and a second call has nothing to do."""
    prepared = await target.capability.prepare(target.one)
    outcome = await _sent(target, prepared)
    _must(outcome.status is EffectStatus.COMMITTED, f"it said {outcome}")
    _must(outcome.version == prepared.to_version, f"the receipt names {outcome.version}")
    _must(await _now(target, prepared) == prepared.to_version, "another version is there")
    described = await target.capability.describe(target.one)
    _must(described.resource == prepared.resource, "describe names another resource")
    _must(described.resource_version == prepared.to_version, "describe names another version")


async def sending_twice_is_sending_once(target: Target) -> None:
    """The same swap again does no harm, at the same time and afterwards."""
    prepared = await target.capability.prepare(target.one)
    outcomes = [
        *await asyncio.gather(*(_sent(target, prepared) for _ in range(8))),
        await _sent(target, prepared),
    ]
    wrong = [outcome for outcome in outcomes if outcome.status is not EffectStatus.COMMITTED]
    _must(not wrong, f"some were not told that it happened: {wrong[:1]}")
    _must(await _now(target, prepared) == prepared.to_version, "another version is there")


async def the_target_knows_whether_it_happened(target: Target) -> None:
    """Nothing is proven before, COMMITTED after, and nothing of what was never sent."""
    prepared = await target.capability.prepare(target.one)
    never = await target.capability.prepare(target.other)
    _must(await target.capability.lookup(_effect(prepared)) is None, "it claims what was not sent")
    await _sent(target, prepared)
    found = await target.capability.lookup(_effect(prepared))
    status = None if found is None else found.status
    _must(status is EffectStatus.COMMITTED, f"it said {found} of what it did")
    _must(await target.capability.lookup(_effect(never)) is None, "it claims what was never sent")


async def another_version_is_refused(target: Target) -> None:
    """What somebody else did meanwhile stays."""
    stale = await target.capability.prepare(target.other)
    first = await target.capability.prepare(target.one)
    await _sent(target, first)
    outcome = await _sent(target, stale)
    _must(outcome.status is EffectStatus.REFUSED, f"it said {outcome}")
    _must(outcome.version == first.to_version, "the refusal does not name the version found")
    _must(await _now(target, first) == first.to_version, "it overwrote what came between")


async def of_two_at_once_one_wins(target: Target) -> None:
    """No update is lost silently."""
    one = await target.capability.prepare(target.one)
    other = await target.capability.prepare(target.other)
    outcomes = await asyncio.gather(_sent(target, one), _sent(target, other))
    said = sorted(outcome.status for outcome in outcomes)
    _must(said == [EffectStatus.COMMITTED, EffectStatus.REFUSED], f"they were told {said}")
    winner = one if outcomes[0].status is EffectStatus.COMMITTED else other
    _must(await _now(target, one) == winner.to_version, "the loser's version is there")


async def a_former_owner_changes_nothing(target: Target) -> None:
    """Ownership is asked inside the swap, and a no is believed."""

    async def replaced() -> bool:
        return False

    prepared = await target.capability.prepare(target.one)
    try:
        outcome = await target.capability.send(prepared, _permit(), replaced)
    except CapabilityError as error:
        _must(error.code == "not_owner", f"the code is {error.code}")
        _must(not error.effect_possible, "it leaves open whether something happened")
    else:
        raise AssertionError(f"a former owner was told {outcome}")
    _must(await _now(target, prepared) == prepared.from_version, "a former owner wrote")


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        it_declares_what_is_checked,
        preparing_changes_nothing,
        a_send_leads_to_the_stated_version,
        sending_twice_is_sending_once,
        the_target_knows_whether_it_happened,
        another_version_is_refused,
        of_two_at_once_one_wins,
        a_former_owner_changes_nothing,
    )
}
"""Every check by its name."""


async def _owner() -> bool:
    return True


def _permit() -> Permit:
    return Permit(effect_id="eff_check", key="key", operation_hash="hash", fence=1)


async def _sent(target: Target, prepared: Prepared) -> Outcome:
    return await target.capability.send(prepared, _permit(), _owner)


async def _now(target: Target, prepared: Prepared) -> str:
    return await target.capability.version(prepared.resource)


def _effect(prepared: Prepared) -> Effect:
    return Effect(
        effect_id="eff_check",
        tenant="check",
        resource=prepared.resource,
        key="key",
        operation_hash="hash",
        action_id="act_check",
        status=EffectStatus.EXECUTING,
        from_version=prepared.from_version,
        to_version=prepared.to_version,
    )


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)
