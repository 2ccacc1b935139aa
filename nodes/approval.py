"""approval: a doorbell. One interrupt, nothing else; the answers are read from the database."""

from typing import Any

from langgraph.types import interrupt

from checkrein.contracts.approval import ApprovalRequest
from checkrein.nodes.run import Run, Step
from checkrein.nodes.waiting import ANSWERS, undecided


async def approval(run: Run) -> Step:
    """Pause for the first action that nobody has decided; what is answered here counts nothing."""
    waiting = undecided(await run.position())
    if waiting and waiting[0].approval is not None:
        interrupt(payload(waiting[0].approval))
    return Step("rung")


def payload(request: ApprovalRequest) -> dict[str, Any]:
    """The interrupt's value: LangChain's HITLRequest and Agent Inbox's form, with ours beside."""
    name, description = request.capability, _described(request)
    return {
        "kind": "approval",
        "approval_id": request.approval_id,
        "action_id": request.action_id,
        "resource": request.resource,
        "resource_version": request.resource_version,
        "operation_hash": request.operation_hash,
        "roles": request.roles,
        "expires_in_s": request.terms.expires_in_s,
        "action_requests": [
            {
                "name": name,
                "args": request.args,
                "arguments": request.args,
                "description": description,
            }
        ],
        "review_configs": [{"action_name": name, "allowed_decisions": list(ANSWERS)}],
        "action_request": {"action": name, "args": request.args},
        "config": {
            "allow_accept": True,
            "allow_edit": True,
            "allow_respond": True,
            "allow_ignore": False,
        },
        "description": description,
    }


def _described(request: ApprovalRequest) -> str:
    undo = "can be undone" if request.reversible else "cannot be undone"
    return (
        f"{request.capability} on {request.resource} ({undo}), asked because of "
        f"{request.reason_code}.\n\nThe model says: {request.purpose or '(nothing)'}\n\n"
        f"{request.preview}"
    )
