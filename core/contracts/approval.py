"""Approval: a durable protocol. A request binds what is asked; a grant binds who said yes to it."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, model_validator

from checkrein.contracts.codec import Frozen
from checkrein.contracts.decision import ApprovalTerms
from checkrein.contracts.permission import Reach, Scope
from checkrein.contracts.task import Escalation, Name, Risk

MAX_SAID = 100_000
"""Most characters of what a person says with an answer."""


class ApprovalStatus(StrEnum):
    """PREPARED is stored but not yet shown; USED has been spent on the one action it is for.

    SUPERSEDED: a person put something else in its place, other arguments or the result itself.
    """

    PREPARED = "PREPARED"
    PENDING = "PENDING"
    GRANTED = "GRANTED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    REVOKED = "REVOKED"
    STALE = "STALE"
    USED = "USED"
    SUPERSEDED = "SUPERSEDED"


class Level(StrEnum):
    """What kind of thing is asked about: a plan, one action, or the result of the work."""

    PLAN = "plan"
    ACTION = "action"
    RESULT = "result"


class PreviewKind(StrEnum):
    """What a preview is a preview of."""

    DIFF = "diff"
    SQL = "sql"
    HTTP = "http"
    MESSAGE = "message"
    TEXT = "text"


class ApprovalRequest(Frozen):
    """What a person is asked. One request per revision of what is asked.

    Attributes:
        args_schema: JSON Schema of the arguments, by which other ones are checked at once.
        constraints: the limits under which it would run; they are part of what is approved.
        resource_version: version of the resource for which the preview was made.
        purpose: the model's own words, shown as a claim.
        expected: what the capability does, in its author's words.
        preview: what would change, for people, already safe to show: hidden characters written
            out, credentials masked, in bounds.
        undo, on_failure: how it is undone, and what happens if it fails.
        warnings: what in arguments, purpose or preview may deceive, each with its place.
        requested_by, agent: as whom it would run: the person behind the task, and the model; for
            other arguments than the model's, whoever wrote them.
        scope: what a plain yes is for; `terms.scopes` says how much further one may reach.
        replaces: the stale request that this one follows, if any.
        escalation, escalated: the roles that may answer too once nobody has for so long, and how
            many of them may by now.
    """

    schema_version: Literal[1] = 1
    approval_id: str
    action_id: str
    attempt_id: str
    request_revision: int
    level: Level = Level.ACTION
    capability: str
    args: dict[str, Any]
    args_schema: dict[str, Any] = Field(default_factory=dict[str, Any])
    constraints: dict[str, Any] = Field(default_factory=dict[str, Any])
    operation_hash: str
    resource: str
    resource_version: str
    contract_version: str
    policy_version: str
    reason_code: str
    terms: ApprovalTerms
    requested_by: str
    agent: str = ""
    risk: Risk = Risk.LOW
    environment: str | None = None
    purpose: str
    expected: str = ""
    preview: str
    preview_kind: PreviewKind = PreviewKind.TEXT
    warnings: list[str] = Field(default_factory=list[str])
    reversible: bool
    undo: str = ""
    on_failure: str
    scope: Literal["once"] = "once"
    replaces: str | None = None
    escalation: list[Escalation] = Field(default_factory=list[Escalation])
    escalated: int = Field(default=0, ge=0)
    expires_at: datetime | None = None
    status: ApprovalStatus = ApprovalStatus.PREPARED

    @property
    def roles(self) -> list[str]:
        """Who may answer now: the policy's roles, and those that it was escalated to."""
        later = (step.role for step in self.escalation[: self.escalated])
        return list(dict.fromkeys([*self.terms.roles, *later]))


class Answer(StrEnum):
    """What a person may say to a request, in LangChain's words.

    Attributes:
        EDIT: not this, but the same with other arguments: a new action, which is judged anew.
        RESPOND: not this at all; the person's text is the call's result.
    """

    APPROVE = "approve"
    REJECT = "reject"
    EDIT = "edit"
    RESPOND = "respond"


class Approver(Frozen):
    """Who answers. Never read from the answer itself.

    Attributes:
        authenticated: a server or a token of ours proved the name; else it was only asserted.
        tenant: the tenant that they are signed in to; None where nothing signed them in.
    """

    name: Name
    authenticated: bool = False
    tenant: Name | None = None


class Said(Frozen):
    """An answer, as a person gives it.

    Attributes:
        reason: why; with RESPOND the result itself.
        args: with EDIT, all the arguments that it should run with.
        reach: with APPROVE, how far the yes reaches.
    """

    answer: Answer
    reason: str = Field(default="", max_length=MAX_SAID)
    args: dict[str, Any] | None = None
    reach: Reach = Reach()

    @model_validator(mode="after")
    def _consistent(self) -> "Said":
        if self.reach.scope is not Scope.ONCE and self.answer is not Answer.APPROVE:
            raise ValueError("only a yes reaches further than this action")
        if (self.args is not None) != (self.answer is Answer.EDIT):
            raise ValueError("arguments go with edit, and edit needs them")
        if self.answer is Answer.RESPOND and not self.reason.strip():
            raise ValueError("respond needs the text that is the result")
        return self


class ApprovalGrant(Frozen):
    """One person's decision. `authenticated` is false where the name was only asserted."""

    schema_version: Literal[1] = 1
    approval_id: str
    answer: Answer
    approver: str
    authority: str
    authenticated: bool
    reason: str = ""
    args: dict[str, Any] | None = None
    reach: Reach | None = None
    decided_at: datetime | None = Field(default=None)
