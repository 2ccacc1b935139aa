"""What every write must do, whatever its target promises: look before, say who, verify after."""

from checkrein.contracts.action import Guarantee
from checkrein.errors import CapabilityError
from checkrein.ports.capability import Verifies
from checkrein.ports.effect_contract import contradictions
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
    sent,
)


async def the_declaration_can_be_meant(target: Target) -> None:
    """The ledger picks its path by these words."""
    problems = contradictions(target.capability)
    must(not problems, " ".join(problems))


async def calls_name_one_resource(target: Target) -> None:
    """Policies, people and the ledger mean the same object."""
    resources = {
        (await target.capability.describe(target.one)).resource,
        (await target.capability.describe(target.other)).resource,
        (await target.capability.prepare(target.one)).resource,
        (await target.capability.prepare(target.other)).resource,
    }
    must(len(resources) == 1, f"describe and prepare name {sorted(resources)}")
    described = await target.capability.describe(target.one)
    prepared = await target.capability.prepare(target.one)
    must(
        described.resource_version == prepared.from_version,
        f"describe is at version {described.resource_version!r}, "
        f"prepare at {prepared.from_version!r}",
    )


async def the_business_key_is_constant(target: Target) -> None:
    """A proposal that is computed again is the same act."""
    keys = [target.capability.idempotency_key("act_1", dict(target.one)) for _ in range(3)]
    must(len(set(keys)) == 1, f"equal inputs have the keys {keys}")
    must(bool(keys[0]), "the key is empty")


async def there_is_a_preview(target: Target) -> None:
    """A person sees something, and the same again on looking again."""
    prepared = await target.capability.prepare(target.one)
    must(bool(prepared.preview.strip()), "the preview is empty")
    must(await target.capability.prepare(target.one) == prepared, "preparing twice differs")


async def preparing_has_no_effect(target: Target) -> None:
    """A person may look at a preview for days."""
    before = await counted(target)
    await target.capability.describe(target.one)
    await target.capability.prepare(target.one)
    await grown(target, before, 0, "after preparing")


async def a_former_owner_is_told_so(target: Target) -> None:
    """Who was replaced hears not_owner, and that nothing happened."""
    await _send_as_a_former_owner(target)


async def a_former_owner_sends_nothing(target: Target) -> None:
    """Ownership is asked right before the request, and a no is believed."""
    before = await counted(target)
    await _send_as_a_former_owner(target)
    await grown(target, before, 0, "after a former owner's send")


async def _send_as_a_former_owner(target: Target) -> None:
    one = await act(target, target.one)

    async def replaced() -> bool:
        return False

    try:
        outcome = await target.capability.send(one.prepared, one.permit, replaced)
    except CapabilityError as error:
        must(error.code == "not_owner", f"a former owner was told {error.code}, not not_owner")
        must(not error.effect_possible, "it leaves open whether something happened")
    else:
        raise AssertionError(f"a former owner was told {outcome.status}")


async def what_was_done_verifies(target: Target) -> None:
    """Reading the real system back finds the effect."""
    capability = _verifier(target)
    one = await act(target, target.one)
    outcome = await sent(target, one)
    must_commit(outcome, "the send before the verification:")
    found = await capability.verify(one.received(outcome))
    must(found.holds, f"after a send it does not hold: {found.detail or 'no detail'}")


async def what_was_not_done_does_not_verify(target: Target) -> None:
    """A verification that always says yes reads nothing."""
    capability = _verifier(target)
    never: Act = await act(target, target.one)
    try:
        found = await capability.verify(never.effect)
    except CapabilityError:
        return  # raising means that it does not hold
    must(not found.holds, "it holds for what was never sent")


def _verifier(target: Target) -> Verifies:
    capability = target.capability
    if not isinstance(capability, Verifies):
        raise AssertionError("verifies is declared, but there is no method verify")
    if capability.spec.guarantee is Guarantee.SAME_TRANSACTION:
        raise NotChecked("its effects are made in transactions; see the checks of those")
    return capability


CHECKS: dict[str, list[Check]] = {
    "declaration": [the_declaration_can_be_meant],
    "resource": [calls_name_one_resource],
    "business key": [the_business_key_is_constant],
    "preview": [there_is_a_preview, preparing_has_no_effect],
}
"""Guarantee to the checks of it, for every write."""

OWNERSHIP: list[Check] = [a_former_owner_is_told_so, a_former_owner_sends_nothing]
VERIFICATION: list[Check] = [what_was_done_verifies, what_was_not_done_does_not_verify]
