"""Answering an approval request: who may, and when. What a yes permits is checked at the send."""

from checkrein.contracts.approval import Answer, ApprovalRequest, ApprovalStatus
from checkrein.contracts.event import ApprovalDecided
from checkrein.contracts.task import TaskContract
from checkrein.errors import ConflictError, InputError
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records


async def answer_approval(
    events: EventStore,
    records: Records,
    approval_id: str,
    answer: Answer,
    *,
    approver: str,
    authenticated: bool,
    reason: str = "",
) -> ApprovalRequest:
    """Store a person's decision and return the request as it then stands.

    `authenticated` is true only where a server signed the person in; a name given on a command
    line is stored as asserted.

    Raises:
        InputError: no such request, or the person may not answer it.
        ConflictError: it is not open: answered, used, stale, expired, or its attempt cancelled.
    """
    request, grants = await records.approval(approval_id)
    if request.status is not ApprovalStatus.PENDING:
        by = f" by {grants[0].approver}" if grants else ""
        raise ConflictError(
            f"Approval {approval_id} is {request.status}{by}; only a PENDING one can be answered. "
            f"`checkrein approvals` lists those.",
            op="approvals.answer",
            code="approval_not_open",
            context={"status": str(request.status)},
        )
    contract = await events.contract(request.attempt_id)
    role = _role(contract, request, approver)
    await events.append(
        request.attempt_id,
        [
            ApprovalDecided(
                approval_id=approval_id,
                action_id=request.action_id,
                answer=answer,
                approver=approver,
                authority=role,
                authenticated=authenticated,
                reason=reason,
            )
        ],
        fence=None,
    )
    return (await records.approval(approval_id))[0]


def _role(contract: TaskContract, request: ApprovalRequest, approver: str) -> str:
    """The role by which a person may answer."""
    roles = contract.approvals.roles
    role = next((r for r in request.terms.roles if approver in roles.get(r, [])), None)
    if role is None:
        people = sorted({p for r in request.terms.roles for p in roles.get(r, [])})
        may = f"{', '.join(people)} may" if people else "the contract names nobody who may"
        raise InputError(
            f"{approver} may not answer this request: it wants the role "
            f"{' or '.join(request.terms.roles)}, and {may}.",
            op="approvals.answer",
            code="approver_not_permitted",
        )
    if request.terms.separation_of_duty and approver == request.requested_by:
        raise InputError(
            f"{approver} asked for this task and may not approve it too: duties are separated.",
            op="approvals.answer",
            code="requester_excluded",
        )
    return role
