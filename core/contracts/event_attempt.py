"""Payloads about the task and the attempt as a whole."""

from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.attempt import Attempt, AttemptStatus
from checkrein.contracts.budget import BudgetLimits
from checkrein.contracts.environment import ChosenEnvironment
from checkrein.contracts.event_base import PayloadBase
from checkrein.contracts.task import Task


class TaskCreated(PayloadBase):
    """A task came into being, with its whole contract."""

    type: Literal["task_created"] = "task_created"
    task: Task
    contract: dict[str, Any]


class AttemptStarted(PayloadBase):
    """One execution of the task begins."""

    type: Literal["attempt_started"] = "attempt_started"
    attempt: Attempt
    contract: dict[str, Any]
    budgets: BudgetLimits


class EnvironmentChosen(PayloadBase):
    """Where commands run from here on; again whenever that is another place than before.

    Attributes:
        restored_differs: an owner went on where it is not as it was before.
    """

    type: Literal["environment_chosen"] = "environment_chosen"
    environment: ChosenEnvironment
    restored_differs: bool = False


class CheckpointSaved(PayloadBase):
    """A safe point: everything up to here is stored, and the owner lets go."""

    type: Literal["checkpoint_saved"] = "checkpoint_saved"
    turn: int


class Suspended(PayloadBase):
    """The attempt waits; no process is needed while it does."""

    type: Literal["suspended"] = "suspended"
    status: AttemptStatus
    reason: str


class RunResumed(PayloadBase):
    """An owner goes on with the attempt."""

    type: Literal["run_resumed"] = "run_resumed"
    how: Literal["resume", "recover"]
    fence: int


class CancelRequested(PayloadBase):
    """A person wants it stopped. Whether work has stopped is another event."""

    type: Literal["cancel_requested"] = "cancel_requested"
    by: str
    reason: str


class PauseRequested(PayloadBase):
    """A person wants it to wait at the next safe point."""

    type: Literal["pause_requested"] = "pause_requested"
    by: str


class Cancelled(PayloadBase):
    """Everything is quiet."""

    type: Literal["cancelled"] = "cancelled"
    reason: str


class UserAccepted(PayloadBase):
    """A person signs what was verified. The one event that may follow the end of an attempt.

    Attributes:
        state_digest, candidate_hash: the verified state and candidate that the signature is for.
        authority: the role by which the person may, or `requester`.
        authenticated: whether a token or a session proved the name.
    """

    type: Literal["user_accepted"] = "user_accepted"
    state_digest: str
    candidate_hash: str
    by: str
    authority: str
    authenticated: bool
    note: str = Field(default="", max_length=4000)


class AttemptEnded(PayloadBase):
    """Nothing follows but what people sign.

    `detail` says why, for people; `error_type` says it for programs.
    """

    type: Literal["attempt_ended"] = "attempt_ended"
    status: AttemptStatus
    detail: str = ""
    needs_escalation: bool = False
    error_type: str | None = None
