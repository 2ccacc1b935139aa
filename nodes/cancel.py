"""Cancelling: no new work; what was sent is asked about; CANCELLED only once all is quiet."""

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import EffectStatus, Outcome, OutcomeSource
from checkrein.contracts.event import (
    ActionDeduplicated,
    AttemptEnded,
    Cancelled,
    EffectReconciled,
    Payload,
)
from checkrein.nodes.asking import prove
from checkrein.nodes.run import Run, Step
from checkrein.nodes.settling import is_open, settled_calls, shown, unknown
from checkrein.ports.records import ActionState, Position


async def cancel(run: Run, position: Position) -> Step:
    """End an attempt that a person cancelled, unless the fate of an effect is still open."""
    for state in position.actions:
        if is_open(state):
            await _asked(run, position, state)
    if any(is_open(state) for state in (await run.position()).actions):
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
    found = None if capability is None else await prove(capability, effect)
    if found is None:
        why = "cancelled before its answer was known"
        doubt = Outcome(status=EffectStatus.UNKNOWN_EFFECT, error_type="unproven", message=why)
        await unknown(run, state, effect, doubt)
        return
    events: list[Payload] = [
        EffectReconciled(
            effect_id=effect.effect_id,
            action_id=state.action.action_id,
            outcome=shown(found),
            source=OutcomeSource.RECONCILED,
        )
    ]
    if found.status is EffectStatus.COMMITTED:
        events.append(
            ActionDeduplicated(action_id=state.action.action_id, effect_id=effect.effect_id)
        )
    await run.record(*events, *settled_calls(position, state))
