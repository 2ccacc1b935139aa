"""Writes: intent first, then act, then the receipt, through one row under one key.

The order is the specification's: ledger and target are asked before authority is, because the
other order calls an effect stale that has already happened. Bind, claim and EXECUTING are one
transaction, since the lease of the attempt is the claim.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from checkrein.contracts import ids
from checkrein.contracts.action import Guarantee
from checkrein.contracts.budget import Budget
from checkrein.contracts.effect import FINAL, Effect, EffectStatus, Outcome
from checkrein.contracts.event import Payload
from checkrein.contracts.observation import ObservationStatus
from checkrein.errors import (
    BudgetExceededError,
    CapabilityError,
    CheckreinError,
    ConflictError,
)
from checkrein.nodes import metering, observations
from checkrein.nodes.asking import ask
from checkrein.nodes.authorize import Ruling
from checkrein.nodes.calling import Failed, called
from checkrein.nodes.executing import Ready, executed, marked
from checkrein.nodes.lending import Loan, given_back, lend_to_action
from checkrein.nodes.limits import DRY_RUN, check_writes
from checkrein.nodes.perform import checked, out_of_calls
from checkrein.nodes.receipts import no_change, repeated, taken
from checkrein.nodes.run import Run
from checkrein.nodes.settling import (
    pending,
    reconciled,
    unknown,
    verified,
)
from checkrein.ports.capability import Capability, Description, Permit, Prepared
from checkrein.ports.records import ActionState, Position

RETENTION_MARGIN = 0.9
"""The part of a target's retention of keys within which a key is still sent again."""


async def perform_write(run: Run, position: Position, state: ActionState) -> str:
    """Make one effect happen at most once, or say why it did not."""
    capability = run.ports.capabilities[state.action.capability]
    effect = state.effect
    if effect is not None:
        settled = await _from_ledger(run, position, state, capability, effect)
        if settled is not None:
            return settled
    sent_before = effect is not None and effect.status is not EffectStatus.INTENT
    looked = asyncio.gather(
        capability.prepare(state.action.args, preview=False),
        capability.describe(state.action.args),
    )
    found = await called(capability, looked, passing=(CheckreinError,))
    if isinstance(found, Failed):
        error = found.told(capability, "ledger.prepare")
        if effect is not None and sent_before:
            return await _unclear(run, state, effect, f"it was sent, and now: {error}")
        await run.record(observations.failed(state.action, error, capability.spec.trust))
        return "done"
    prepared, description = found
    ready = _ready(position, state, capability, prepared, description)
    if effect is not None and sent_before:
        if prepared.from_version != effect.from_version:
            return await _moved_on(run, position, state, ready, effect)
    elif prepared.no_change:
        await run.record(no_change(state, prepared))
        return "done"
    return await _authorised(run, position, state, ready)


async def _from_ledger(
    run: Run, position: Position, state: ActionState, capability: Capability, effect: Effect
) -> str | None:
    """What the ledger, and then the target, already know; None where it may be sent."""
    ours = effect.action_id == state.action.action_id
    if not ours and effect.operation_hash != state.operation_hash:
        await run.record(observations.failed(state.action, taken(effect)))
        return "done"
    if not ours and effect.status not in FINAL:
        why = f"another run is doing this same act (effect {effect.effect_id})"
        return await pending(run, position, state, effect, why, sent=False)
    if effect.status in FINAL:
        return await _final(run, state, capability, effect)
    if effect.status is EffectStatus.INTENT:
        return None
    answer = await ask(capability, effect)
    if answer.outcome is not None:
        await reconciled(run, position, state, capability, effect, answer.outcome)
        return "done"
    if answer.unreachable is not None:
        why = f"it was sent, and its target cannot be asked ({answer.unreachable})"
        return await pending(run, position, state, effect, why, sent=True)
    if _may_be_sent_again(capability, state):
        return None
    why = "it was sent, and the target cannot say what became of it"
    return await _unclear(run, state, effect, answer.doubt or why)


async def _final(run: Run, state: ActionState, capability: Capability, effect: Effect) -> str:
    """Nothing is sent: the record is shown, read back first where that is still to be done."""
    ours = effect.action_id == state.action.action_id
    committed = effect.status is EffectStatus.COMMITTED
    if ours and committed and capability.spec.verifies and effect.verified is None:
        return await verified(run, state, capability, effect)
    await run.record(*repeated(state, effect, capability.spec.trust))
    return "done"


def _may_be_sent_again(capability: Capability, state: ActionState) -> bool:
    """Whether the declared guarantee makes the same send harmless, the former owner being gone."""
    match capability.spec.guarantee:
        case Guarantee.COMPARE_AND_SET | Guarantee.SAME_TRANSACTION:
            return True
        case Guarantee.ATOMIC_KEY:
            kept_s, age_s = capability.spec.key_retention_s, state.effect_age_s
            return kept_s is not None and age_s is not None and age_s < kept_s * RETENTION_MARGIN
        case Guarantee.NONE:
            return False


async def _moved_on(
    run: Run, position: Position, state: ActionState, ready: Ready, effect: Effect
) -> str:
    """The resource is at neither known version since it was sent."""
    match ready.capability.spec.guarantee:
        case Guarantee.ATOMIC_KEY:  # the key alone decides; the target binds it to these arguments
            return await _authorised(run, position, state, ready)
        case Guarantee.SAME_TRANSACTION:
            why = "its transaction never committed, and the row has changed since"
            outcome = Outcome(status=EffectStatus.NOT_APPLIED, message=why)
            await reconciled(run, position, state, ready.capability, effect, outcome)
            return "done"
        case _:
            why = "the target is at neither known version"
            return await _unclear(run, state, effect, why)


async def _authorised(run: Run, position: Position, state: ActionState, ready: Ready) -> str:
    """Ask for authority right before sending, mark it EXECUTING, and send."""
    effect = ready.effect if ready.resent else None
    ruling, events = await checked(
        run,
        position,
        state,
        ready.description,
        ready.prepared.from_version,
        resent=ready.resent,
    )
    if events is None and effect is not None:
        why = "it was sent, and may not be sent again under the policy of now"
        return await _unclear(run, state, effect, why)
    if events is None:
        return "changed"
    if effect is not None and ruling.operation_hash != effect.operation_hash:
        why = "its constraints changed after it was sent"
        return await _unclear(run, state, effect, why)
    limits = ruling.decision.constraints
    if effect is None:
        held = await _held_back(run, state, ready, ruling, limits)
        if held is not None:
            return held
    judged = ready.description.facts.secret_names
    try:
        loan = await lend_to_action(
            run, state, ready.capability.spec, ready.prepared, judged, limits
        )
    except CapabilityError as error:
        if effect is not None:
            return await _unclear(run, state, effect, f"it was sent, and now: {error}")
        result = observations.failed(state.action, error)
        await run.record(ruling.event, result, blobs=(ruling.input_text,))
        return "done"
    async with given_back(run, loan):
        return await _sent(run, position, state, ready, ruling, events, loan)


async def _sent(
    run: Run,
    position: Position,
    state: ActionState,
    ready: Ready,
    ruling: Ruling,
    events: Sequence[Payload],
    loan: Loan,
) -> str:
    """Mark it EXECUTING together with what permits it and what is lent to it, and send."""
    permit = Permit(
        effect_id=ids.effect_id(
            run.contract.tenant, state.action.resource, state.action.idempotency_key
        ),
        key=state.action.idempotency_key,
        operation_hash=ruling.operation_hash,
        fence=run.lease.fence,
        constraints=ruling.decision.constraints,
        secrets=loan.values,
    )
    await run.reach("before_executing")
    try:
        events_of_send = marked(run, state, ready, permit)
        await run.record(
            *events, *loan.lent(), *events_of_send, blobs=(ruling.input_text,), look=False
        )
    except BudgetExceededError as error:
        return await out_of_calls(run, error, ready.cost)
    except ConflictError as error:
        if error.code in {"cancelled", "key_bound", "approval_does_not_bind", "revoked"}:
            return "changed"  # somebody was faster; the next look finds what they did
        raise
    loan.stands()
    await run.reach("after_executing")
    return await executed(run, state, ready, permit, loan)


def _ready(
    position: Position,
    state: ActionState,
    capability: Capability,
    prepared: Prepared,
    description: Description,
) -> Ready:
    """A write with what it draws on; what another call still holds is booked before it."""
    cost = metering.of_call(position, capability.spec)
    ready = Ready(capability, prepared, description, state.effect, cost, 0, [])
    if not ready.resent:
        return ready._replace(lost=metering.booked(position, state.action.turn))
    if not position.held.get(Budget.HIGH_RISK_ACTIONS):
        cost = cost._replace(once={})  # it was booked with the send before
    return ready._replace(cost=cost, calls=position.held.get(Budget.TOOL_CALLS, 0))


async def _held_back(
    run: Run, state: ActionState, ready: Ready, ruling: Ruling, limits: Mapping[str, Any]
) -> str | None:
    """End a write that the policy permits as a rehearsal or as a read alone; nothing is sent."""
    action, spec = state.action, ready.capability.spec
    try:
        check_writes(spec, limits)
    except CapabilityError as error:
        result = observations.failed(action, error)
    else:
        if not limits.get(DRY_RUN):
            return None
        shown_to_it = await called(ready.capability, ready.capability.prepare(action.args))
        preview = "" if isinstance(shown_to_it, Failed) else shown_to_it.preview
        note = {
            "dry_run": True,
            "note": "the policy lets this be rehearsed alone; nothing was sent",
        }
        result = observations.of_action(
            action, ObservationStatus.NO_CHANGE, result={**note, "would_do": preview[:4_000]}
        )
    await run.record(ruling.event, result, blobs=(ruling.input_text,))
    return "done"


async def _unclear(run: Run, state: ActionState, effect: Effect, why: str) -> str:
    """A resend that may not be made: nobody can say what became of the send before."""
    outcome = Outcome(status=EffectStatus.UNKNOWN_EFFECT, error_type="unproven", message=why)
    return await unknown(run, state, effect, outcome)
