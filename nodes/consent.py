"""Whether the yes that is held covers what is about to be sent, by those who may say it now."""

from typing import NamedTuple

from checkrein.contracts.approval import Answer
from checkrein.nodes.approvers import still_may
from checkrein.nodes.authorize import Ruling
from checkrein.nodes.run import Run
from checkrein.ports.records import ActionState, Position


class Lack(NamedTuple):
    """Why a yes is not enough, for people."""

    why: str


def lacking(
    run: Run, position: Position, state: ActionState, ruling: Ruling, version: str
) -> Lack | None:
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
        return Lack("it is another operation than was approved")
    if request.resource_version != version:
        return Lack("what it acts on has changed since")
    terms = ruling.decision.approval or request.terms
    escalated = (step.role for step in request.escalation[: request.escalated])
    roles = {*terms.roles, *escalated}
    separate = request.terms.separation_of_duty or terms.separation_of_duty
    apart = {request.requested_by, run.contract.requested_by} if separate else set[str]()
    counted = {
        grant.approver
        for grant in state.grants
        if grant.answer is Answer.APPROVE
        and still_may(
            run.contract,
            position,
            grant.approver,
            authenticated=grant.authenticated,
            roles=roles,
            apart=frozenset(apart),
        )
    }
    needed = max(request.terms.quorum, terms.quorum)
    if len(counted) < needed:
        return Lack(f"{len(counted)} of {needed} approvals still count under the policy of now")
    return None
