"""What is said of a write from the ledger's record, never from memory."""

from checkrein.contracts.action import ActionStatus
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.contracts.event import ActionDeduplicated, Observed, Payload
from checkrein.contracts.observation import Diagnostics, ObservationStatus
from checkrein.errors import CapabilityError
from checkrein.nodes import observations
from checkrein.ports.capability import Prepared
from checkrein.ports.records import ActionState


def observed(state: ActionState, effect_id: str, outcome: Outcome, trust: Trust) -> Observed:
    """The result, made from the record; its words are the target's, and trusted no further."""
    if outcome.status is EffectStatus.COMMITTED:
        return observations.of_action(
            state.action,
            ObservationStatus.OK,
            result=outcome.result,
            effect_id=effect_id,
            version=outcome.version,
            trust=trust,
        )
    return observations.of_action(
        state.action,
        ObservationStatus.FAILED,
        diagnostics=Diagnostics(error_type=outcome.error_type or "refused", advice=outcome.message),
        version=outcome.version,
        trust=trust,
    )


def repeated(state: ActionState, effect: Effect, trust: Trust) -> list[Payload]:
    """An effect whose fate is known: nothing is sent, that is said, and the record is shown."""
    outcome = effect.outcome or Outcome(
        status=EffectStatus.NOT_APPLIED,
        error_type=effect.status.lower(),
        message="this act was settled before, without an effect",
    )
    if effect.status is not EffectStatus.COMMITTED:
        return [observed(state, effect.effect_id, outcome, trust)]
    if state.action.status is ActionStatus.SUCCEEDED:
        return [observed(state, effect.effect_id, outcome, trust)]
    said = ActionDeduplicated(action_id=state.action.action_id, effect_id=effect.effect_id)
    return [said, observed(state, effect.effect_id, outcome, trust)]


def no_change(state: ActionState, prepared: Prepared) -> Observed:
    """Nothing was sent, since it is so already."""
    return observations.of_action(
        state.action,
        ObservationStatus.NO_CHANGE,
        result={"note": "it is already as you ask"},
        version=prepared.from_version,
    )


def not_verified(state: ActionState, effect: Effect, detail: str, trust: Trust) -> Observed:
    """It has its receipt, and reading the real system back does not show it: no success."""
    outcome = effect.outcome
    return observations.of_action(
        state.action,
        ObservationStatus.FAILED,
        effect_id=effect.effect_id,
        diagnostics=Diagnostics(
            error_type="effect_not_verified",
            effect_possible=True,
            advice="The target confirmed this, yet reading it back does not show it"
            + (f": {detail}" if detail else "")
            + ". Do not send it again. Compensate it, or ask the person.",
        ),
        version="" if outcome is None else outcome.version,
        trust=trust,
    )


def taken(effect: Effect) -> CapabilityError:
    """The key of this act holds other arguments."""
    return CapabilityError(
        f"The key of this act is bound to other arguments (effect {effect.effect_id}).",
        op="ledger.bind",
        code="key_reused_with_other_args",
        advice="This act was asked for before with other arguments; it is not changed.",
    )
