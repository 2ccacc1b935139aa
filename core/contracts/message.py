"""What people are told of an approval, wherever it is: one message, the same at each try."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.approval import ApprovalStatus
from checkrein.contracts.codec import Frozen

KEY = r"^[A-Za-z0-9_-]{1,128}$"
"""Form of a key: it stands in headers and in Message-IDs as it is."""

MAX_TEXT = 16_000
"""Most characters of a message's text for people."""


class MessageKind(StrEnum):
    """What happened to a request. All but the first two tell receivers to look at `status`."""

    REQUESTED = "approval_requested"
    ESCALATED = "approval_escalated"
    DECIDED = "approval_decided"
    EXPIRED = "approval_expired"
    STALE = "approval_stale"
    REVOKED = "approval_revoked"


class AnswerTold(Frozen):
    """One person's answer. `authenticated` is false where the name was only asserted."""

    answer: str
    by: str
    authenticated: bool
    reason: str = Field(default="", max_length=1_000)


class ApprovalMessage(Frozen):
    """One message. Every text of it is safe to show, in bounds, and without known secrets.

    Attributes:
        key: the same for this message whenever it is sent again. Whoever has seen a key throws
            the message away.
        seq: number of the event that it tells of, growing within an attempt.
        status: of the request, right after that event. Only a PENDING one can be answered.
        title, text: for people: one line, and some more without the preview.
        request: for programs: what is asked, why, by whom, and the preview.
        may_answer: who may, by the contract's roles, at that moment.
        how_to_answer: commands; none where nothing can be answered any more.
    """

    schema_version: Literal[1] = 1
    key: str = Field(pattern=KEY)
    kind: MessageKind
    seq: int
    at: datetime
    tenant: str
    task_id: str
    attempt_id: str
    approval_id: str
    status: ApprovalStatus
    title: str = Field(max_length=300)
    text: str = Field(max_length=MAX_TEXT)
    request: dict[str, Any]
    roles: list[str]
    may_answer: list[str] = Field(default_factory=list[str])
    answered: AnswerTold | None = None
    how_to_answer: list[str] = Field(default_factory=list[str])
