"""Writing down what became of an effect: receipts, doubts, waits, and what was found out later."""

from collections.abc import Mapping
from typing import Any

from checkrein.contracts.action import Lookup
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, EffectStatus, Outcome, OutcomeSource
from checkrein.contracts.event import (
    EffectCommitted,
    EffectPending,
    EffectReconciled,
    EffectRefused,
    EffectUnknown,
    EffectVerified,
    Payload,
)
from checkrein.nodes import observations
from checkrein.nodes.asking import ask, read_back
from checkrein.nodes.limits import redacted
from checkrein.nodes.metering import CallCost, booked
from checkrein.nodes.receipts import not_verified, observed, repeated
from checkrein.nodes.run import Run
from checkrein.nodes.sending import Sent
from checkrein.ports.capability import Capability
from checkrein.ports.records import ActionState, Position

OPEN = frozenset({EffectStatus.EXECUTING, EffectStatus.UNKNOWN_EFFECT})
"""Sent, with a fate that is not known."""


def is_open(state: ActionState) -> bool:
    """Whether this action sent an effect whose fate is not known."""
    effect = state.effect
    ours = effect is not None and effect.action_id == state.action.action_id
    return effect is not None and ours and effect.status in OPEN


def shown(outcome: Outcome, constraints: Mapping[str, Any] | None = None) -> Outcome:
    """An outcome whose texts any store can hold, without what the policy hides."""
    return outcome.model_copy(
        update={
            "result": observations.shown(redacted(outcome.result, constraints or {})),
            "message": observations.shown(outcome.message),
        }
    )


def receipt(
    state: ActionState, effect_id: str, sent: Sent, trust: Trust, cost: CallCost, *, closes: bool
) -> list[Payload]:
    """The receipt of a definite answer, with the calls that it took; `closes` adds the result."""
    outcome = sent.outcome
    about = {"effect_id": effect_id, "action_id": state.action.action_id, "outcome": outcome}
    committed = outcome.status is EffectStatus.COMMITTED
    told: Payload = (EffectCommitted if committed else EffectRefused).model_validate(about)
    settled = cost.settled(state.action.turn, sent.tries)
    return (
        [told, settled, observed(state, effect_id, outcome, trust)] if closes else [told, settled]
    )


async def verified(run: Run, state: ActionState, capability: Capability, effect: Effect) -> str:
    """Read the real system back after the receipt, and close the call with what it says."""
    said = await read_back(capability, effect)
    detail = observations.shown(said.detail)[:500]
    told = EffectVerified(
        effect_id=effect.effect_id,
        action_id=state.action.action_id,
        holds=said.holds,
        detail=detail,
    )
    assert effect.outcome is not None
    trust = capability.spec.trust
    result = (
        observed(state, effect.effect_id, effect.outcome, trust)
        if said.holds
        else not_verified(state, effect, detail, trust)
    )
    await run.record(told, result)
    return "done"


async def unknown(run: Run, state: ActionState, effect: Effect, outcome: Outcome) -> str:
    """Record that nobody can say whether an effect happened, and stop for lookup or a person."""
    if effect.status is not EffectStatus.UNKNOWN_EFFECT:
        position = await run.position()
        await run.record(
            EffectUnknown(
                effect_id=effect.effect_id, action_id=state.action.action_id, outcome=outcome
            ),
            *settled_calls(position, state),
        )
    return "suspend"


async def unknown_then_asked(
    run: Run, state: ActionState, capability: Capability, effect: Effect, outcome: Outcome
) -> str:
    """Record the doubt; then ask the target at once. Returns "done" where it proved the effect."""
    stopped = await unknown(run, state, effect, outcome)
    if capability.spec.lookup is Lookup.NONE:
        return stopped
    answer = await ask(capability, effect)
    if answer.outcome is None:
        return stopped
    await reconciled(run, await run.position(), state, capability, effect, answer.outcome)
    return "done"


async def reconciled(
    run: Run,
    position: Position,
    state: ActionState,
    capability: Capability,
    effect: Effect,
    found: Outcome,
) -> None:
    """Record what the target has proven, that nothing is sent again, and the call's result."""
    found = shown(found)
    known = effect.model_copy(update={"status": found.status, "outcome": found})
    await run.record(
        EffectReconciled(
            effect_id=effect.effect_id,
            action_id=state.action.action_id,
            outcome=found,
            source=OutcomeSource.RECONCILED,
        ),
        *settled_calls(position, state),
        *repeated(state, known, capability.spec.trust),
    )


async def pending(
    run: Run, position: Position, state: ActionState, effect: Effect, why: str, *, sent: bool
) -> str:
    """Record that this has to wait: for another owner's effect, or for the target to be reached."""
    waits = effect.pending if sent else state.action.status == "PENDING"
    unclear = sent and effect.status is EffectStatus.UNKNOWN_EFFECT
    if not waits and not unclear:  # an unknown effect waits already, for lookup or a person
        told = EffectPending(
            effect_id=effect.effect_id, action_id=state.action.action_id, sent=sent, why=why
        )
        await run.record(told, *(settled_calls(position, state) if sent else ()))
    return "suspend"


def settled_calls(position: Position, state: ActionState) -> list[Payload]:
    """Book an action's calls that were reserved and not settled."""
    return booked(position, state.action.turn)
