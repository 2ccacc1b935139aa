"""Answering an approval request: who may, and when. What a yes permits is checked at the send."""

from typing import Any

from checkrein.contracts.approval import ApprovalRequest, ApprovalStatus, Approver, Said
from checkrein.contracts.event import ApprovalDecided
from checkrein.contracts.task import TaskContract
from checkrein.errors import ConflictError, InputError
from checkrein.nodes.arguments import usable_arguments
from checkrein.nodes.consent import ANONYMOUS, asserted_is_enough
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records

_OP = "approvals.answer"


async def answer_approval(
    events: EventStore, records: Records, approval_id: str, said: Said, who: Approver
) -> ApprovalRequest:
    """Store a person's decision and return the request as it then stands.

    It is PENDING still where more people must say yes.

    Raises:
        InputError: no such request, the person may not answer it (code approver_not_permitted,
            requester_excluded, identity_required or other_tenant), or other arguments cannot be
            used.
        ConflictError: it is not open: answered, used, stale, expired, or its attempt cancelled;
            or this person has said yes already (code approval_does_not_bind).
    """
    request, grants = await records.approval(approval_id)
    contract = await events.contract(request.attempt_id)
    if who.tenant is not None and who.tenant != contract.tenant:
        raise InputError(
            f"There is no approval {approval_id} for {who.tenant}.", op=_OP, code="other_tenant"
        )
    if request.status is not ApprovalStatus.PENDING:
        by = f" by {', '.join(grant.approver for grant in grants)}" if grants else ""
        raise ConflictError(
            f"Approval {approval_id} is {request.status}{by}; only a PENDING one can be answered. "
            f"`checkrein approvals` lists those.",
            op=_OP,
            code="approval_not_open",
            context={"status": str(request.status)},
        )
    role = _role(contract, request, who)
    args = None if said.args is None else _other_arguments(request, said.args)
    decided = ApprovalDecided(
        approval_id=approval_id,
        action_id=request.action_id,
        answer=said.answer,
        approver=who.name,
        authority=role,
        authenticated=who.authenticated,
        reason=said.reason,
        args=args,
    )
    await events.append(request.attempt_id, [decided], fence=None)
    return (await records.approval(approval_id))[0]


def _role(contract: TaskContract, request: ApprovalRequest, who: Approver) -> str:
    """The role by which a person may answer."""
    if not (who.authenticated or asserted_is_enough(contract)):
        raise InputError(
            f"This task's risk is {contract.risk}, and a name that is only asserted is good up to "
            f"{contract.approvals.asserted_up_to}. Answer with a token (`checkrein token issue`) "
            "or signed in to the server.",
            op=_OP,
            code="identity_required",
        )
    if who.name == ANONYMOUS:
        return _anonymous(contract, request)
    roles = contract.approvals.roles
    role = next((r for r in request.roles if who.name in roles.get(r, [])), None)
    if role is None:
        people = sorted({p for r in request.roles for p in roles.get(r, [])})
        may = f"{', '.join(people)} may" if people else "the contract names nobody who may"
        raise InputError(
            f"{who.name} may not answer this request: it wants the role "
            f"{' or '.join(request.roles)}, and {may}.",
            op=_OP,
            code="approver_not_permitted",
        )
    apart = {request.requested_by, contract.requested_by}
    if request.terms.separation_of_duty and who.name in apart:
        asked = "asked for this task" if who.name == contract.requested_by else "wrote this"
        raise InputError(
            f"{who.name} {asked} and may not approve it too: duties are separated.",
            op=_OP,
            code="requester_excluded",
        )
    return role


def _anonymous(contract: TaskContract, request: ApprovalRequest) -> str:
    if not contract.approvals.anonymous:
        raise InputError(
            "Nobody is named as the one who answers, and the task does not take answers without a "
            "name (`approvals.anonymous`). Say who you are.",
            op=_OP,
            code="identity_required",
        )
    return request.roles[0]


def _other_arguments(request: ApprovalRequest, args: dict[str, Any]) -> dict[str, Any]:
    """What a person put in place of the model's arguments, as the capability wants it."""
    usable, fault = usable_arguments(args, request.args_schema)
    if fault is not None:
        raise InputError(
            f"{request.capability} cannot be called so. {fault.advice}",
            op=_OP,
            code="unusable_edit",
        )
    if usable == request.args:
        raise InputError(
            "These are the arguments that are asked about already. Approve them, or change some.",
            op=_OP,
            code="unusable_edit",
        )
    return usable
