"""The interrupt's value: what people's programs are offered to decide about. Pure."""

import json
from typing import Any

from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.approval_text import markdown, structured
from checkrein.contracts.display import shown
from checkrein.contracts.folding import folded
from checkrein.nodes.waiting import ANSWERS

MAX_PAYLOAD = 64 * 1024
"""Most bytes of the interrupt's value, as JSON in UTF-8."""

_ARGS_SHOWN = 8 * 1024
# Preview and arguments are there three times each, under the names that programs read.
_PREVIEWS_SHOWN = (4_096, 1_024, 256)


def payload(request: ApprovalRequest) -> dict[str, Any]:
    """The interrupt's value: LangChain's HITLRequest and Agent Inbox's form, with ours beside.

    It is in bounds, and its arguments are folded: an edit that leaves a folded value as it is gets
    the whole back. LangGraph stores it, so that it holds no credential that is seen as one.
    """
    made: dict[str, Any] = {}
    for most in _PREVIEWS_SHOWN:
        made = _payload(request, most)
        if len(json.dumps(made, ensure_ascii=False).encode("utf-8", "replace")) <= MAX_PAYLOAD:
            break
    return made


def _payload(request: ApprovalRequest, preview: int) -> dict[str, Any]:
    name, description = request.capability, markdown(request, preview)
    args = folded(request.args, whole=_ARGS_SHOWN)
    return {
        "kind": "approval",
        "approval_id": request.approval_id,
        "action_id": request.action_id,
        "resource": shown(request.resource),
        "resource_version": request.resource_version,
        "operation_hash": request.operation_hash,
        **structured(request, preview),
        "action_requests": [
            {"name": name, "args": args, "arguments": args, "description": description}
        ],
        "review_configs": [{"action_name": name, "allowed_decisions": list(ANSWERS)}],
        "action_request": {"action": name, "args": args},
        "config": {
            "allow_accept": True,
            "allow_edit": True,
            "allow_respond": True,
            "allow_ignore": False,
        },
        "description": description,
    }
