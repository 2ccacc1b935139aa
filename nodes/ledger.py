"""Writes: intent first, then act, then the receipt, through one row under one key.

The order is the specification's: ledger and target are asked before authority is, because the
other order calls an effect stale that has already happened. Bind, claim and EXECUTING are one
transaction, since the lease of the attempt is the claim.
"""

import asyncio

from checkrein.contracts import ids
from checkrein.contracts.action import Guarantee
from checkrein.contracts.budget import Budget
from checkrein.contracts.effect import FINAL, Effect, EffectStatus, Outcome, OutcomeSource
from checkrein.contracts.event import (
    BudgetReserved,
    BudgetSettled,
    EffectCommitted,
    EffectExecuting,
    EffectReconciled,
    EffectRefused,
    EffectUnknown,
    IntentBound,
    Payload,
)
from checkrein.errors import (
    BudgetExceededError,
    CapabilityError,
    ConflictError,
    LeaseLostError,
)
from checkrein.nodes import observations
from checkrein.nodes.perform import checked, out_of_calls
from checkrein.nodes.receipts import no_change, observed, repeated, taken
from checkrein.nodes.run import Run
from checkrein.ports.capability import Capability, Description, Permit, Prepared
from checkrein.ports.records import ActionState, Position

OPEN = frozenset({EffectStatus.EXECUTING, EffectStatus.UNKNOWN_EFFECT})
"""Sent, with a fate that is not known."""


async def perform_write(run: Run, position: Position, state: ActionState) -> str:
    """Make one effect happen at most once, or say why it did not."""
    action = state.action
    capability = run.ports.capabilities[action.capability]
    effect = state.effect
    if effect is not None:
        settled = await _from_ledger(run, position, state, capability, effect)
        if settled is not None:
            return settled
    sent_before = effect is not None and effect.status is not EffectStatus.INTENT
    try:
        prepared, description = await asyncio.gather(
            capability.prepare(action.args), capability.describe(action.args)
        )
    except CapabilityError as error:
        if effect is not None and sent_before:
            return await unknown(run, position, state, effect, str(error))
        await run.record(observations.failed(action, error))
        return "done"
    if effect is not None and sent_before:
        if prepared.from_version != effect.from_version:
            why = "the target is at neither known version"
            return await unknown(run, position, state, effect, why)
    elif prepared.no_change:
        await run.record(no_change(state, prepared))
        return "done"
    return await _sent(run, position, state, capability, description, prepared, effect)


async def _from_ledger(
    run: Run, position: Position, state: ActionState, capability: Capability, effect: Effect
) -> str | None:
    """What the ledger, and then the target, already know; None where it may be sent."""
    action = state.action
    ours = effect.action_id == action.action_id
    if not ours and (effect.operation_hash != state.operation_hash or effect.status not in FINAL):
        await run.record(observations.failed(action, taken(effect, state)))
        return "done"
    if effect.status in FINAL:
        await run.record(*repeated(state, effect))
        return "done"
    if effect.status is EffectStatus.INTENT:
        return None
    found = await capability.lookup(effect)
    if found is not None and found.status is EffectStatus.COMMITTED:
        reconciled = EffectReconciled(
            effect_id=effect.effect_id,
            action_id=action.action_id,
            outcome=found,
            source=OutcomeSource.RECONCILED,
        )
        committed = effect.model_copy(update={"status": EffectStatus.COMMITTED, "outcome": found})
        await run.record(reconciled, *settled_call(position, state), *repeated(state, committed))
        return "done"
    if capability.spec.guarantee is Guarantee.COMPARE_AND_SET:
        return None  # the same swap again, under this owner's fence, does no harm
    why = "it was sent, and the target cannot say what became of it"
    return await unknown(run, position, state, effect, why)


async def _sent(
    run: Run,
    position: Position,
    state: ActionState,
    capability: Capability,
    description: Description,
    prepared: Prepared,
    effect: Effect | None,
) -> str:
    resent = effect is not None and effect.status is not EffectStatus.INTENT
    ruling, events = await checked(
        run, position, state, description, prepared.from_version, resent=resent
    )
    if events is None and effect is not None and resent:
        why = "it was sent, and may not be sent again under the policy of now"
        return await unknown(run, position, state, effect, why)
    if events is None:
        return "changed"
    if effect is not None and resent and ruling.operation_hash != effect.operation_hash:
        why = "its constraints changed after it was sent"
        return await unknown(run, position, state, effect, why)
    permit = Permit(
        effect_id=ids.effect_id(
            run.contract.tenant, state.action.resource, state.action.idempotency_key
        ),
        key=state.action.idempotency_key,
        operation_hash=ruling.operation_hash,
        fence=run.lease.fence,
        constraints=ruling.decision.constraints,
    )
    await run.reach("before_executing")
    try:
        marked = _marked(run, state, prepared, permit, effect)
        await run.record(*events, *marked, blobs=(ruling.input_text,), look=False)
    except BudgetExceededError:
        return await out_of_calls(run, position)
    except ConflictError as error:
        if error.code in {"cancelled", "key_bound", "approval_does_not_bind"}:
            return "changed"  # somebody was faster; the next look finds what they did
        raise
    await run.reach("after_executing")
    outcome = await _outcome(run, capability, prepared, permit)
    await run.reach("before_receipt")
    return await _receipt(run, state, permit.effect_id, outcome)


def _marked(
    run: Run, state: ActionState, prepared: Prepared, permit: Permit, effect: Effect | None
) -> list[Payload]:
    """Bind the intent where it is new, and mark it EXECUTING under this owner's fence."""
    action = state.action
    resent = effect is not None and effect.status is not EffectStatus.INTENT
    events: list[Payload] = []
    if not resent:
        events.append(BudgetReserved(turn=action.turn, amounts={Budget.TOOL_CALLS: 1}))
    if effect is None:
        events.append(
            IntentBound(
                effect_id=permit.effect_id,
                tenant=run.contract.tenant,
                resource=action.resource,
                key=permit.key,
                operation_hash=permit.operation_hash,
                action_id=action.action_id,
            )
        )
    events.append(
        EffectExecuting(
            effect_id=permit.effect_id,
            action_id=action.action_id,
            fence=permit.fence,
            from_version=prepared.from_version,
            to_version=prepared.to_version,
        )
    )
    return events


async def _outcome(run: Run, capability: Capability, prepared: Prepared, permit: Permit) -> Outcome:
    """Send. Only a definite answer is definite; every other end is UNKNOWN_EFFECT."""
    try:
        return await capability.send(prepared, permit, run.lease.still_owner)
    except CapabilityError as error:
        if error.code == "not_owner":
            raise LeaseLostError(
                "Another owner took the attempt over while this one was about to write.",
                op="ledger.send",
            ) from error
        said = Outcome(
            status=EffectStatus.REFUSED, error_type=error.code, message=error.advice or str(error)
        )
        unclear = {"status": EffectStatus.UNKNOWN_EFFECT}
        return said.model_copy(update=unclear) if error.effect_possible else said
    except Exception as error:  # whatever a target's client raises, nobody knows what happened
        return Outcome(
            status=EffectStatus.UNKNOWN_EFFECT,
            error_type=type(error).__name__,
            message="the call ended without an answer",
        )


async def _receipt(run: Run, state: ActionState, effect_id: str, outcome: Outcome) -> str:
    action = state.action
    outcome = outcome.model_copy(
        update={
            "result": observations.shown(outcome.result),
            "message": observations.shown(outcome.message),
        }
    )
    one = {Budget.TOOL_CALLS: 1}
    settled = BudgetSettled(turn=action.turn, released=one, spent=one)
    about = {"effect_id": effect_id, "action_id": action.action_id, "outcome": outcome}
    if outcome.status is EffectStatus.UNKNOWN_EFFECT:
        await run.record(EffectUnknown.model_validate(about), settled)
        return "suspend"
    committed = outcome.status is EffectStatus.COMMITTED
    receipt: Payload = (EffectCommitted if committed else EffectRefused).model_validate(about)
    await run.record(receipt, settled, observed(state, outcome))
    await run.reach("after_receipt")
    return "done"


def settled_call(position: Position, state: ActionState) -> list[Payload]:
    """Book the call that a dead owner had reserved, at its worst case: it was made."""
    if not position.budgets[Budget.TOOL_CALLS].reserved:
        return []
    one = {Budget.TOOL_CALLS: 1}
    return [BudgetSettled(turn=state.action.turn, released=one, spent=one)]


async def unknown(
    run: Run, position: Position, state: ActionState, effect: Effect, why: str
) -> str:
    """Record that nobody can say whether an effect happened, and stop for a person."""
    if effect.status is not EffectStatus.UNKNOWN_EFFECT:
        outcome = Outcome(status=EffectStatus.UNKNOWN_EFFECT, error_type="unproven", message=why)
        await run.record(
            EffectUnknown(
                effect_id=effect.effect_id, action_id=state.action.action_id, outcome=outcome
            ),
            *settled_call(position, state),
        )
    return "suspend"
