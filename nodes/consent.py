"""Whether the yes that is held covers what is about to be sent, by those who may say it now."""

from checkrein.contracts.approval import Answer, ApprovalGrant, ApprovalRequest
from checkrein.contracts.decision import ApprovalTerms
from checkrein.contracts.task import RISK_ORDER, TaskContract
from checkrein.nodes.authorize import Ruling
from checkrein.nodes.run import Run
from checkrein.ports.records import ActionState, Position

ANONYMOUS = "anonymous"
"""The name of nobody in particular, whose answers count where the contract says so."""


def lacking(
    run: Run, position: Position, state: ActionState, ruling: Ruling, version: str
) -> str | None:
    """Why what was approved does not cover what is about to be sent; None where it does.

    Everything is asked anew, right before the send: the policy of now names the roles, the number
    of people and the separation of duties, where they are stricter than what was asked for.
    """
    request = state.approval
    assert request is not None
    bound = (request.operation_hash, request.contract_version)
    if request.action_id != state.action.action_id or bound != (
        ruling.operation_hash,
        run.contract_version,
    ):
        return "it is another operation than was approved"
    if request.resource_version != version:
        return "what it acts on has changed since"
    terms = ruling.decision.approval or request.terms
    escalated = (step.role for step in request.escalation[: request.escalated])
    roles = {*terms.roles, *escalated}
    counted = {
        grant.approver
        for grant in state.grants
        if grant.answer is Answer.APPROVE
        and _still_may(run.contract, position, request, terms, roles, grant)
    }
    needed = max(request.terms.quorum, terms.quorum)
    if len(counted) < needed:
        return f"{len(counted)} of {needed} approvals still count under the policy of now"
    return None


def _still_may(
    contract: TaskContract,
    position: Position,
    request: ApprovalRequest,
    terms: ApprovalTerms,
    roles: set[str],
    grant: ApprovalGrant,
) -> bool:
    if f"user:{grant.approver}" in position.revocations:
        return False
    if not (grant.authenticated or asserted_is_enough(contract)):
        return False
    if grant.approver == ANONYMOUS and contract.approvals.anonymous:
        return True
    apart = request.terms.separation_of_duty or terms.separation_of_duty
    if apart and grant.approver in {request.requested_by, contract.requested_by}:
        return False
    held = contract.approvals.roles
    return any(grant.approver in held.get(role, []) for role in roles)


def asserted_is_enough(contract: TaskContract) -> bool:
    """Whether a name that nobody proved is good for the risk of this task."""
    limit = contract.approvals.asserted_up_to
    return RISK_ORDER.index(contract.risk) <= RISK_ORDER.index(limit)
