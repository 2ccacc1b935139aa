"""After a pause: what people said about an action becomes its result, or another action."""

from checkrein.contracts.action import Action, ActionStatus
from checkrein.contracts.approval import Answer, ApprovalGrant, ApprovalRequest, ApprovalStatus
from checkrein.contracts.decision import PolicyDecision
from checkrein.contracts.event import ApprovalExpired, Payload
from checkrein.contracts.proposal import ToolProposal
from checkrein.errors import CapabilityError
from checkrein.nodes import observations
from checkrein.nodes.arguments import usable_arguments
from checkrein.nodes.judging import Origin, judge
from checkrein.nodes.offering import alternatives
from checkrein.nodes.requests import request
from checkrein.nodes.run import Run
from checkrein.ports.records import ActionState, Position

SPENT = frozenset({ApprovalStatus.STALE, ApprovalStatus.USED, ApprovalStatus.REVOKED})
"""Requests that nobody can answer any more, and that say nothing against asking again."""


async def taken_up(run: Run, position: Position, state: ActionState) -> None:
    """Record what follows for one action from what was said of it; nothing, where it is unsaid."""
    events, blobs = await _following(run, position, state)
    await run.record(*events, blobs=blobs)


async def _following(
    run: Run, position: Position, state: ActionState
) -> tuple[list[Payload], tuple[bytes, ...]]:
    action, approval = state.action, state.approval
    if approval is not None and approval.status is ApprovalStatus.REJECTED:
        said = state.answered(Answer.REJECT)
        return [observations.rejected(action, "" if said is None else said.reason)], ()
    if approval is not None and approval.status is ApprovalStatus.EXPIRED:
        return _expired(state, approval), ()
    if approval is not None and approval.status is ApprovalStatus.SUPERSEDED:
        return await _superseded(run, position, state, approval)
    if state.decision is None or state.operation_hash is None:
        return [], ()
    if action.status is ActionStatus.DENIED:
        return [
            observations.denied(
                action, state.decision, alternatives(run, position, action.capability)
            )
        ], ()
    answered = approval is None or approval.status in SPENT
    if action.status is not ActionStatus.WAITING_APPROVAL or not answered:
        return [], ()
    if approval is None and _still_covered(position, state.decision):
        return [], ()
    asked = await request(
        run,
        action,
        state.decision,
        state.operation_hash,
        purpose="" if approval is None else approval.purpose,
        follows=approval,
    )
    return [asked], ()


def _still_covered(position: Position, decision: PolicyDecision) -> bool:
    """Whether the yes that stands in for an approval is there still; the send will use it."""
    return any(p.permission_id == decision.covered_by for p in position.permissions)


def _expired(state: ActionState, approval: ApprovalRequest) -> list[Payload]:
    """A recorded no, and why: nobody answered, too few did, or the yes came to nothing in time."""
    late = any(grant.answer is Answer.APPROVE for grant in state.grants)
    why = "what was approved did not run in time" if late else "nobody answered in time"
    result = observations.rejected(state.action, why)
    if state.action.status is not ActionStatus.WAITING_APPROVAL:
        return [result]  # somebody recorded it already, from outside
    expired = ApprovalExpired(approval_id=approval.approval_id, action_id=state.action.action_id)
    return [expired, result]


async def _superseded(
    run: Run, position: Position, state: ActionState, approval: ApprovalRequest
) -> tuple[list[Payload], tuple[bytes, ...]]:
    answer = state.answered(Answer.RESPOND)
    if answer is not None:
        return [observations.answered(state.action, answer)], ()
    edit = state.answered(Answer.EDIT)
    assert edit is not None and edit.args is not None, "the contract of an edit"
    return await _edited(run, position, state.action, approval, edit)


async def _edited(
    run: Run, position: Position, action: Action, approval: ApprovalRequest, edit: ApprovalGrant
) -> tuple[list[Payload], tuple[bytes, ...]]:
    """Other arguments are another action: described, judged and, where need be, asked anew."""
    spec = run.ports.capabilities[action.capability].spec
    args, fault = usable_arguments(edit.args or {}, spec.parameters)
    if fault is not None:  # checked when it was said; the capability has changed since
        error = CapabilityError(fault.advice, op="answered.edit", code=fault.error_type)
        return [observations.failed(action, error)], ()
    proposal = ToolProposal(
        position=action.position,
        call_id=action.call_id,
        capability=action.capability,
        args=args,
    )
    origin = Origin(
        action.turn,
        action.provenance.context,
        action.provenance.lowest_trust,
        approval.purpose,
        revision=action.revision + 1,
        edited_by=edit.approver,
    )
    try:
        judged = await judge(run, position, proposal, origin)
    except CapabilityError as error:
        return [observations.failed(action, error)], ()
    return judged.events(), (judged.blob,)
