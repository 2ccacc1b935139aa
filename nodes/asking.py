"""Asking a target about effects: bounded in time; one that cannot be asked says nothing."""

from typing import NamedTuple

from checkrein.contracts.action import Guarantee, Lookup
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.nodes.calling import Failed, called
from checkrein.ports.capability import Capability, Verification, Verifies


class Answer(NamedTuple):
    """What a target said of an effect.

    Attributes:
        outcome: COMMITTED where it is proven; None where nothing is.
        unreachable: why it could not be asked; None where it answered.
        doubt: what is odd about its answer, for the record.
    """

    outcome: Outcome | None = None
    unreachable: str | None = None
    doubt: str | None = None


async def ask(capability: Capability, effect: Effect) -> Answer:
    """Look one effect up. Nothing but COMMITTED is ever believed: absence proves nothing.

    same_transaction is not asked: the ledger's row and the effect are one transaction.
    """
    spec = capability.spec
    if spec.lookup is Lookup.NONE or spec.guarantee is Guarantee.SAME_TRANSACTION:
        return Answer()
    found = await called(capability, capability.lookup(effect))
    if isinstance(found, Failed):
        return Answer(unreachable=f"its lookup ended with {found.kind}")
    if found is None or found.status is EffectStatus.COMMITTED:
        return Answer(outcome=found)
    return Answer(doubt=f"the target says {found.status} ({found.error_type or 'no reason given'})")


async def prove(capability: Capability, effect: Effect) -> Outcome | None:
    """What can be proven of an effect that nobody can send any more, its owner being fenced off.

    COMMITTED by the target's word; NOT_APPLIED where the guarantee proves it: a swap whose resource
    is still at the version before, or a transaction of ours that never committed. Else None.
    """
    if capability.spec.guarantee is Guarantee.SAME_TRANSACTION:
        return _not_applied("its transaction never committed")
    answer = await ask(capability, effect)
    swaps = capability.spec.guarantee is Guarantee.COMPARE_AND_SET
    if answer.outcome is not None or answer.unreachable is not None or not swaps:
        return answer.outcome
    version = await called(capability, capability.version(effect.resource))
    return _not_applied("still at the version before") if version == effect.from_version else None


def _not_applied(why: str) -> Outcome:
    return Outcome(status=EffectStatus.NOT_APPLIED, message=why)


async def read_back(capability: Capability, effect: Effect) -> Verification:
    """Read the real system after a receipt. What cannot be read does not hold."""
    if not isinstance(capability, Verifies):
        return Verification(holds=False, detail="the capability has no way to read it back")
    said = await called(capability, capability.verify(effect))
    if isinstance(said, Failed):  # an answer that is missing is not a yes
        return Verification(holds=False, detail=f"it could not be read back: {said.kind}")
    return said
