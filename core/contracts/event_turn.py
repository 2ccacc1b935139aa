"""Payloads about a turn: context, model, budgets, talk, candidate and verdict."""

from typing import Literal

from pydantic import Field

from checkrein.contracts.artifact import Artifact, ChangedFile
from checkrein.contracts.budget import Budget
from checkrein.contracts.context import Trust
from checkrein.contracts.event_base import PayloadBase
from checkrein.contracts.proposal import Usage
from checkrein.contracts.verification import VerificationResult


class ContextCompiled(PayloadBase):
    """The context of a turn is ready. The manifest is stored under its digest."""

    type: Literal["context_compiled"] = "context_compiled"
    turn: int
    manifest_ref: str
    sent: str
    tokens: int
    lowest_trust: Trust


class BudgetReserved(PayloadBase):
    """The worst case of what comes next was set aside."""

    type: Literal["budget_reserved"] = "budget_reserved"
    turn: int
    amounts: dict[Budget, int]


class BudgetSettled(PayloadBase):
    """What was set aside was released, and what was used was booked."""

    type: Literal["budget_settled"] = "budget_settled"
    turn: int
    released: dict[Budget, int]
    spent: dict[Budget, int]


class BudgetExhausted(PayloadBase):
    """A reservation did not fit."""

    type: Literal["budget_exhausted"] = "budget_exhausted"
    budget: Budget
    limit: int
    left: int
    needed: int


class ModelRequested(PayloadBase):
    """The model is about to be called. If no answer is ever stored, it may have been paid."""

    type: Literal["model_requested"] = "model_requested"
    turn: int
    model: str
    try_number: int = 1


class ModelResponded(PayloadBase):
    """The raw output is stored; nothing has been read from it yet."""

    type: Literal["model_responded"] = "model_responded"
    turn: int
    raw_ref: str
    usage: Usage
    model_id: str
    request_id: str | None = None


class RetryScheduled(PayloadBase):
    """A passing fault; the same thing is tried again after a pause."""

    type: Literal["retry_scheduled"] = "retry_scheduled"
    turn: int
    what: str
    try_number: int
    delay_s: float
    error_type: str


class QuestionAsked(PayloadBase):
    """The model asks the person something."""

    type: Literal["question_asked"] = "question_asked"
    turn: int
    call_id: str
    question: str


class UserAnswered(PayloadBase):
    """A person answered the question, or steered a stopped turn."""

    type: Literal["user_answered"] = "user_answered"
    text: str
    by: str


class TurnStopped(PayloadBase):
    """The model stopped without an action, a question or a candidate."""

    type: Literal["turn_stopped"] = "turn_stopped"
    turn: int
    why: str


class CandidateSealed(PayloadBase):
    """The claim to be done, with the digest of the world that it claims it of.

    Attributes:
        changed: files that differ from the attempt's beginning; none where there are too many.
    """

    type: Literal["candidate_sealed"] = "candidate_sealed"
    turn: int
    summary: str
    state_digest: str
    candidate_hash: str
    artifacts: list[Artifact] = Field(default_factory=list[Artifact])
    changed: list[ChangedFile] = Field(default_factory=list[ChangedFile])


class VerificationStarted(PayloadBase):
    """Independent checks begin."""

    type: Literal["verification_started"] = "verification_started"
    turn: int
    state_digest: str


class VerificationFinished(PayloadBase):
    """The verdict, and whether the model gets another round."""

    type: Literal["verification_finished"] = "verification_finished"
    turn: int
    result: VerificationResult
    repair: bool
    artifacts: list[Artifact] = Field(default_factory=list[Artifact])
