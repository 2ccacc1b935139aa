"""Messages about approvals, as the outbox would hold them, and one that tries everything."""

from datetime import UTC, datetime
from typing import Any

from requests_made import asked

from checkrein.contracts.message import ApprovalMessage
from checkrein.graph.telling import message_of
from checkrein.ports.outbox import Claim

PEOPLE = {"approver": ["bob", "carol", "alice"], "lead": ["dora"]}

NASTY = (
    "\x1b[31mred\x07 \u202egnp.exe\r\nBcc: evil@example.com\r\n\r\n<script> \x00\ud800 \U0001f600"
)
"""ANSI, a bell, a right-to-left mark, header lines, NUL, a lone surrogate, and a plain emoji."""


def claim(kind: str = "approval_requested", **changes: Any) -> Claim:
    """A message of the outbox; `request` may name other fields of the request."""
    request = asked("orders.refund", {"order": 17}).model_dump(mode="json")
    wanted: dict[str, Any] = {"status": "PENDING", "expires_at": "2031-01-02T03:04:05Z"}
    wanted["terms"] = {"roles": ["approver"], "separation_of_duty": True}
    fields: dict[str, Any] = {
        "n": 1,
        "tries": 1,
        "key": "apr_1-approval_requested-7",
        "kind": kind,
        "tenant": "local",
        "task_id": "task_1",
        "attempt_id": "att_1",
        "approval_id": "apr_1",
        "seq": 7,
        "at": datetime(2031, 1, 1, tzinfo=UTC),
        "answered": None,
        "people": PEOPLE,
        "task_requested_by": "alice",
    }
    more = request | wanted | changes.pop("request", {})
    return Claim.model_validate(fields | changes | {"request": more})


def message(**changes: Any) -> ApprovalMessage:
    """The message of such a claim."""
    return message_of(claim(**changes))
