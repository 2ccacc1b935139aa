"""Approval: a durable protocol. A request binds what is asked; a grant binds who said yes to it."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.codec import Frozen
from checkrein.contracts.decision import ApprovalTerms


class ApprovalStatus(StrEnum):
    """PREPARED is stored but not yet shown; USED has been spent on the one action it is for."""

    PREPARED = "PREPARED"
    PENDING = "PENDING"
    GRANTED = "GRANTED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    REVOKED = "REVOKED"
    STALE = "STALE"
    USED = "USED"


class ApprovalRequest(Frozen):
    """What a person is asked. One request per revision of what is asked.

    Attributes:
        resource_version: version of the resource for which the preview was made.
        preview: what would change, for people; for files a unified diff.
        purpose: the model's own words, shown as a claim.
        replaces: the stale request that this one follows, if any.
    """

    schema_version: Literal[1] = 1
    approval_id: str
    action_id: str
    attempt_id: str
    request_revision: int
    capability: str
    args: dict[str, Any]
    operation_hash: str
    resource: str
    resource_version: str
    contract_version: str
    policy_version: str
    reason_code: str
    terms: ApprovalTerms
    requested_by: str
    purpose: str
    preview: str
    reversible: bool
    on_failure: str
    scope: Literal["once"] = "once"
    replaces: str | None = None
    expires_at: datetime | None = None
    status: ApprovalStatus = ApprovalStatus.PREPARED


class Answer(StrEnum):
    """What a person may say to a request."""

    APPROVE = "approve"
    REJECT = "reject"


class ApprovalGrant(Frozen):
    """One person's decision. `authenticated` is false where the name was only asserted."""

    schema_version: Literal[1] = 1
    approval_id: str
    answer: Answer
    approver: str
    authority: str
    authenticated: bool
    reason: str = ""
    decided_at: datetime | None = Field(default=None)
