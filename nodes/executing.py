"""Carrying one authorised write out: EXECUTING first, then the send, then the receipt."""

from typing import NamedTuple

from checkrein.contracts.action import Guarantee
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.contracts.event import EffectExecuting, IntentBound, Payload
from checkrein.errors import StoreError
from checkrein.nodes.calling import Failed, called
from checkrein.nodes.lending import Loan
from checkrein.nodes.limits import for_capability, time_limit_s
from checkrein.nodes.metering import CallCost
from checkrein.nodes.run import Run
from checkrein.nodes.sending import Sent, of_error, send
from checkrein.nodes.settling import receipt, shown, unknown_then_asked, verified
from checkrein.ports.capability import Applies, Capability, Description, Permit, Prepared
from checkrein.ports.records import ActionState
from checkrein.ports.transaction import Transaction


class Ready(NamedTuple):
    """A write made ready to be authorised and sent."""

    capability: Capability
    prepared: Prepared
    description: Description
    effect: Effect | None
    cost: CallCost
    calls: int  # tool calls that are reserved already, by a send that nobody settled
    lost: list[Payload]  # what books the calls of others that nobody settled

    @property
    def resent(self) -> bool:
        """Whether it was marked EXECUTING before."""
        return self.effect is not None and self.effect.status is not EffectStatus.INTENT


def marked(run: Run, state: ActionState, ready: Ready, permit: Permit) -> list[Payload]:
    """Bind the intent where it is new, and mark it EXECUTING under this owner's fence."""
    action = state.action
    events: list[Payload] = [*ready.lost]
    if ready.calls == 0:
        events.append(ready.cost.first(action.turn))
    elif ready.calls > 1:  # a former owner's repeats; one is kept for this send
        events.append(ready.cost.repeats(action.turn, ready.calls - 1))
    if ready.effect is None:
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
            from_version=ready.prepared.from_version,
            to_version=ready.prepared.to_version,
        )
    )
    return events


async def executed(run: Run, state: ActionState, ready: Ready, permit: Permit, loan: Loan) -> str:
    """Send, give back what was lent, and write the receipt; a doubt is a doubt."""
    if ready.capability.spec.guarantee is Guarantee.SAME_TRANSACTION:
        return await _applied(run, state, ready, permit)
    doubt = _doubt() if ready.resent else None
    sent = await send(run, state, ready.capability, ready.prepared, permit, ready.cost, doubt)
    sent = sent._replace(outcome=shown(sent.outcome, permit.constraints))
    returned = loan.release()
    await run.reach("before_receipt")
    if sent.outcome.status is EffectStatus.UNKNOWN_EFFECT:
        await run.record(*returned)
        loan.settled()
        effect = _bound(run, state, ready.prepared, permit)
        return await unknown_then_asked(run, state, ready.capability, effect, sent.outcome)
    return await _received(run, state, ready, permit, sent, loan)


async def _received(
    run: Run,
    state: ActionState,
    ready: Ready,
    permit: Permit,
    sent: Sent,
    loan: Loan | None = None,
) -> str:
    await run.record(
        *(loan.release() if loan else ()),
        *receipt(
            state,
            permit.effect_id,
            sent,
            ready.capability.spec.trust,
            ready.cost,
            closes=_closes(ready, sent.outcome),
        ),
    )
    if loan is not None:
        loan.settled()
    await run.reach("after_receipt")
    return await _read_back(run, state, ready, permit, sent.outcome)


def _doubt() -> Outcome:
    """What is known of the send of a former owner, who may be frozen in the middle of it."""
    return Outcome(
        status=EffectStatus.UNKNOWN_EFFECT,
        error_type="sent_before",
        message="it was sent before, and the target did not say what became of that",
    )


def _closes(ready: Ready, outcome: Outcome) -> bool:
    """Whether the receipt is the last word, with nothing to be read back after it."""
    return not (ready.capability.spec.verifies and outcome.status is EffectStatus.COMMITTED)


async def _read_back(
    run: Run, state: ActionState, ready: Ready, permit: Permit, outcome: Outcome
) -> str:
    if _closes(ready, outcome):
        return "done"
    effect = _bound(run, state, ready.prepared, permit).model_copy(
        update={"status": EffectStatus.COMMITTED, "outcome": outcome}
    )
    return await verified(run, state, ready.capability, effect)


async def _applied(run: Run, state: ActionState, ready: Ready, permit: Permit) -> str:
    """An effect of our own Postgres: it and its receipt are one transaction, or nothing."""
    capability = ready.capability
    try:
        async with run.lease.transaction() as transaction:
            sent = Sent(await _stands(capability, ready.prepared, permit, transaction), 1)
            await run.reach("before_receipt")
            closes = _closes(ready, sent.outcome)
            await run.record(
                *receipt(
                    state,
                    permit.effect_id,
                    sent,
                    ready.capability.spec.trust,
                    ready.cost,
                    closes=closes,
                )
            )
    except _NothingStands as nothing:
        refused = nothing.outcome.model_copy(update={"status": EffectStatus.REFUSED})
        return await _received(run, state, ready, permit, Sent(shown(refused), 1))
    await run.reach("after_receipt")
    return await _read_back(run, state, ready, permit, sent.outcome)


async def _stands(
    capability: Capability, prepared: Prepared, permit: Permit, transaction: Transaction
) -> Outcome:
    """Apply; anything but COMMITTED raises, so that the transaction is rolled back.

    An error of the session itself goes on: whoever goes on finds in the ledger which it was.
    """
    assert isinstance(capability, Applies), "checked when the capability was registered"
    try:
        handed = permit.model_copy(update={"constraints": for_capability(permit.constraints)})
        said = await called(
            capability,
            capability.apply(prepared, handed, transaction),
            within_s=time_limit_s(capability.spec, permit.constraints),
        )
    except StoreError as error:
        if error.retryable:
            raise
        said = Failed(error.code)
    if isinstance(said, Failed):
        nothing = Outcome(
            status=EffectStatus.REFUSED,
            error_type=said.kind,
            message="its transaction was rolled back; nothing happened",
        )
        raise _NothingStands(nothing if said.error is None else of_error(said.error))
    if said.status is not EffectStatus.COMMITTED:
        raise _NothingStands(said)
    return shown(said, permit.constraints)


class _NothingStands(Exception):  # noqa: N818 - a signal to roll back, no error
    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


def _bound(run: Run, state: ActionState, prepared: Prepared, permit: Permit) -> Effect:
    """The row as it stands after EXECUTING, for those who ask about it right after the send."""
    action = state.action
    return Effect(
        effect_id=permit.effect_id,
        tenant=run.contract.tenant,
        resource=action.resource,
        key=permit.key,
        operation_hash=permit.operation_hash,
        attempt_id=action.attempt_id,
        action_id=action.action_id,
        status=EffectStatus.EXECUTING,
        fence=permit.fence,
        from_version=prepared.from_version,
        to_version=prepared.to_version,
    )
