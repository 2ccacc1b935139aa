"""Approval requests, as they would be stored."""

from typing import Any

from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.decision import ApprovalTerms


def asked(
    capability: str, args: dict[str, Any], schema: dict[str, Any] | None = None, **fields: Any
) -> ApprovalRequest:
    """A request about one call."""
    made: dict[str, Any] = {
        "approval_id": "apr_1",
        "action_id": "act_1",
        "attempt_id": "att_1",
        "request_revision": 1,
        "capability": f"{capability}@1",
        "args": args,
        "args_schema": schema or {},
        "operation_hash": "sha256:op",
        "resource": "order:17",
        "resource_version": "v1",
        "contract_version": "c1",
        "policy_version": "p1",
        "reason_code": "asks",
        "terms": ApprovalTerms(roles=["approver"]),
        "requested_by": "alice",
        "purpose": "",
        "preview": "refund",
        "reversible": False,
        "on_failure": "nothing",
    }
    return ApprovalRequest.model_validate(made | fields)
