"""Answering an approval request: who may, and when. What a yes permits is checked at the send."""

from collections.abc import Sequence
from typing import Any

from checkrein.contracts.approval import (
    ApprovalGrant,
    ApprovalRequest,
    ApprovalStatus,
    Approver,
    Said,
)
from checkrein.contracts.event import ApprovalDecided
from checkrein.contracts.folding import unfolded
from checkrein.contracts.permission import Bound, Reach, Scope
from checkrein.contracts.task import TaskContract
from checkrein.errors import ConflictError, InputError
from checkrein.nodes.approvers import ANONYMOUS, asserted_is_enough, barred, may_answer
from checkrein.nodes.arguments import usable_arguments
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
        raise _not_open(request, grants)
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
        reach=_reach(request, said),
    )
    try:
        await events.append(request.attempt_id, [decided], fence=None)
    except ConflictError as error:
        request, grants = await records.approval(approval_id)
        if request.status is ApprovalStatus.PENDING:
            raise
        raise _not_open(request, grants) from error  # somebody was faster
    return (await records.approval(approval_id))[0]


def _not_open(request: ApprovalRequest, grants: Sequence[ApprovalGrant]) -> ConflictError:
    by = f" by {', '.join(grant.approver for grant in grants)}" if grants else ""
    return ConflictError(
        f"Approval {request.approval_id} is {request.status}{by}; only a PENDING one can be "
        "answered. `checkrein approvals` lists those.",
        op=_OP,
        code="approval_not_open",
        context={"status": str(request.status)},
    )


def _reach(request: ApprovalRequest, said: Said) -> Reach | None:
    """How far a yes reaches, within what the policy offers; None for this action alone."""
    scope = said.reach.scope
    if scope is Scope.ONCE:
        return None
    if scope not in request.terms.scopes:
        raise _refused(
            f"The policy offers no yes for {scope} here, only for "
            f"{', '.join(request.terms.scopes)}."
        )
    if request.terms.quorum > 1:
        raise _refused("Where several people must agree, each action is decided on its own.")
    for name, bound in said.reach.bounds.items():
        if name not in request.args:
            raise _refused(
                f"There is no argument {name} to bound; there are {', '.join(request.args)}."
            )
        value = request.args[name]
        if bound.below is None and not _inside(bound, value):
            raise _refused(f"The bound of {name} leaves out the value that you approve.")
    return said.reach


def _inside(bound: Bound, value: Any) -> bool:
    if bound.one_of is not None:
        return any(type(one) is type(value) and one == value for one in bound.one_of)
    assert bound.at_least is not None and bound.at_most is not None, "the contract of a range"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and bound.at_least <= value <= bound.at_most


def _refused(problem: str) -> InputError:
    return InputError(problem, op=_OP, code="unusable_scope")


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
        people = sorted(may_answer(request, roles, contract.requested_by))
        may = f"{', '.join(people)} may" if people else "the contract names nobody who may"
        raise InputError(
            f"{who.name} may not answer this request: it wants the role "
            f"{' or '.join(request.roles)}, and {may}.",
            op=_OP,
            code="approver_not_permitted",
        )
    if who.name in barred(request, contract.requested_by):
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
    """What a person put in place of the model's arguments, as the capability wants it.

    What they were only shown folded or masked, and left as it was, is put back.
    """
    usable, fault = usable_arguments(unfolded(args, request.args), request.args_schema)
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
