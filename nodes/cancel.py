"""Cancelling: no new work; what was sent is asked about; CANCELLED only once all is quiet."""

from checkrein.contracts.action import Guarantee
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import Effect, EffectStatus, Outcome, OutcomeSource
from checkrein.contracts.event import (
    ActionDeduplicated,
    AttemptEnded,
    Cancelled,
    EffectReconciled,
    Payload,
)
from checkrein.nodes.ledger import OPEN, settled_call, unknown
from checkrein.nodes.run import Run, Step
from checkrein.ports.capability import Capability
from checkrein.ports.records import ActionState, Position


async def cancel(run: Run, position: Position) -> Step:
    """End an attempt that a person cancelled, unless the fate of an effect is still open."""
    for state in position.actions:
        if state.effect is not None and state.effect.status in OPEN:
            await _asked(run, position, state)
    left = [s for s in (await run.position()).actions if s.effect and s.effect.status in OPEN]
    if left:
        return Step("cancelling")
    await run.reach("in_cancel")
    reason = position.cancel_reason or ""
    await run.record(
        Cancelled(reason=reason), AttemptEnded(status=AttemptStatus.CANCELLED, detail=reason)
    )
    return Step("cancelled")


async def _asked(run: Run, position: Position, state: ActionState) -> None:
    """Settle one effect by its target. Old owners are fenced off, so what is read stays true."""
    effect = state.effect
    assert effect is not None
    capability = run.ports.capabilities.get(state.action.capability)
    outcome = None if capability is None else await _looked_up(capability, effect)
    if outcome is None:
        await unknown(run, position, state, effect, "cancelled before its answer was known")
        return
    events: list[Payload] = [
        EffectReconciled(
            effect_id=effect.effect_id,
            action_id=state.action.action_id,
            outcome=outcome,
            source=OutcomeSource.RECONCILED,
        )
    ]
    if outcome.status is EffectStatus.COMMITTED:
        events.append(
            ActionDeduplicated(action_id=state.action.action_id, effect_id=effect.effect_id)
        )
    await run.record(*events, *settled_call(position, state))


async def _looked_up(capability: Capability, effect: Effect) -> Outcome | None:
    """What the target can prove: that it happened, or that it did not and cannot any more."""
    outcome = await capability.lookup(effect)
    if outcome is not None and outcome.status is not EffectStatus.COMMITTED:
        outcome = None  # a lookup proves that it happened, or nothing
    swaps = capability.spec.guarantee is Guarantee.COMPARE_AND_SET
    if outcome is not None or not swaps:
        return outcome
    if await capability.version(effect.resource) != effect.from_version:
        return None
    return Outcome(status=EffectStatus.NOT_APPLIED, message="still at the version before")
