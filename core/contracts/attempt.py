"""An attempt: one execution of a task, which is one LangGraph thread."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field, model_validator

from checkrein.contracts.codec import Frozen


class AttemptStatus(StrEnum):
    """Where an attempt stands. See ACTIVE, SUSPENDED and TERMINAL."""

    RUNNING = "RUNNING"
    VERIFYING = "VERIFYING"
    CANCELLING = "CANCELLING"

    WAITING_FOR_APPROVAL = "WAITING_FOR_APPROVAL"
    APPROVAL_STALE = "APPROVAL_STALE"
    WAITING_FOR_EFFECT = "WAITING_FOR_EFFECT"
    RECONCILE_REQUIRED = "RECONCILE_REQUIRED"
    WAITING_FOR_USER = "WAITING_FOR_USER"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"
    TURN_STOPPED = "TURN_STOPPED"
    PAUSED = "PAUSED"

    CANDIDATE_VERIFIED = "CANDIDATE_VERIFIED"
    FAILED_VERIFICATION = "FAILED_VERIFICATION"
    POLICY_BLOCKED = "POLICY_BLOCKED"
    ENVIRONMENT_ERROR = "ENVIRONMENT_ERROR"
    MODEL_ERROR = "MODEL_ERROR"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing follows."""
        return self in TERMINAL

    @property
    def is_suspended(self) -> bool:
        """Whether it waits and can be resumed."""
        return self in SUSPENDED


_S = AttemptStatus
ACTIVE = frozenset({_S.RUNNING, _S.VERIFYING, _S.CANCELLING})
"""An owner works, or has died while it worked."""
SUSPENDED = frozenset(
    {
        _S.WAITING_FOR_APPROVAL,
        _S.APPROVAL_STALE,
        _S.WAITING_FOR_EFFECT,
        _S.RECONCILE_REQUIRED,
        _S.WAITING_FOR_USER,
        _S.BUDGET_EXHAUSTED,
        _S.TURN_STOPPED,
        _S.PAUSED,
    }
)
"""Resumable; no process is needed while it waits."""
TERMINAL = frozenset(set(AttemptStatus) - ACTIVE - SUSPENDED)
"""Nothing follows."""


class WorkspaceRef(Frozen):
    """The folder that the attempt works in.

    Attributes:
        root: absolute path of the folder that effects change.
        source: the folder that the person named; equal to root for `in_place`.
        baseline: digest of the folder's content when the attempt began.
    """

    root: str
    source: str
    mode: Literal["copy", "in_place"]
    baseline: str


class CommitOf(Frozen):
    """What a commit attempt hands over, and who wants it: the task's commit authority.

    Attributes:
        attempt_id: the attempt whose candidate was verified.
        state_digest, candidate_hash: what was verified, and nothing else is handed over.
        authenticated: whether a token or a session proved the name.
    """

    attempt_id: str
    state_digest: str
    candidate_hash: str
    by: str
    authenticated: bool


class Attempt(Frozen):
    """One execution of a task; not a tool's network retry.

    Attributes:
        parent: the attempt on whose budgets it draws besides its own.
        purpose: `work` is a model's; `commit` is the final commit, which no model decides.
        commit: with the purpose `commit`, what is handed over.
    """

    schema_version: Literal[1] = 1
    attempt_id: str
    task_id: str
    number: int = Field(ge=1)
    runtime: str
    runtime_version: str
    harness_profile: str
    model: str
    workspace_ref: WorkspaceRef
    policy_profile: str
    policy_version: str
    parent: str | None = None
    started_at: datetime | None = None
    status: AttemptStatus = AttemptStatus.RUNNING
    purpose: Literal["work", "commit"] = "work"
    commit: CommitOf | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Attempt":
        if (self.purpose == "commit") != (self.commit is not None):
            raise ValueError("a commit attempt, and no other, says what it hands over")
        return self


class Checkpoint(Frozen):
    """Our own safe point, committed with its events. LangGraph's only tells the graph's place."""

    schema_version: Literal[1] = 1
    attempt_id: str
    state_version: int
    event_offset: int
    workspace_ref: str | None
    pending_effect_ids: list[str] = Field(default_factory=list[str])
    context_projection_ref: str | None = None
