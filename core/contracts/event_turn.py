"""Payloads about a turn: context, model, budgets, talk, candidate and verdict."""

from typing import Literal

from pydantic import Field

from checkrein.contracts.artifact import Artifact, ChangedFile
from checkrein.contracts.budget import MOST, Budget
from checkrein.contracts.context import Trust
from checkrein.contracts.event_base import PayloadBase
from checkrein.contracts.judgement import NOTE_LIMIT, Word
from checkrein.contracts.progress import Notice
from checkrein.contracts.proposal import Usage
from checkrein.contracts.task import Name
from checkrein.contracts.verification import CheckResult, VerificationResult


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


class BudgetWarning(PayloadBase):
    """At least four fifths of a budget are used; said once until it is raised."""

    type: Literal["budget_warning"] = "budget_warning"
    budget: Budget
    pool: str
    limit: int
    used: int


class BudgetRaised(PayloadBase):
    """A person with authority raised a limit.

    Attributes:
        pool: whose budget it is: an attempt's own, or a task's shared one.
        authority: by which right they may.
    """

    type: Literal["budget_raised"] = "budget_raised"
    budget: Budget
    pool: str
    from_limit: int = Field(ge=0)
    to_limit: int = Field(gt=0, le=MOST)
    by: Name
    authority: str
    authenticated: bool
    reason: str = Field(default="", max_length=2_000)


class BudgetExhausted(PayloadBase):
    """A reservation did not fit.

    Attributes:
        pool: whose budget it is: the attempt's own, its task's, or that of the attempt it is a
            child of.
        unfinished: what is still to be done.
    """

    type: Literal["budget_exhausted"] = "budget_exhausted"
    budget: Budget
    limit: int
    left: int
    needed: int
    pool: str = ""
    unfinished: list[str] = Field(default_factory=list[str])


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


class NoProgressNoticed(PayloadBase, Notice):
    """The run goes in circles, and what is done about it from the coming turn on."""

    type: Literal["no_progress_noticed"] = "no_progress_noticed"


class CandidateSealed(PayloadBase):
    """The claim to be done, with the digest of the world that it claims it of.

    Attributes:
        changed: files that differ from the attempt's beginning; none where there are too many,
            or where the record of the beginning is not there to compare with.
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


class JudgementAsked(PayloadBase):
    """The people of a role are asked about the sealed state; everything else in it has passed."""

    type: Literal["judgement_asked"] = "judgement_asked"
    turn: int
    check: str
    role: str
    question: str
    state_digest: str


class JudgementGiven(PayloadBase):
    """A person's word on that very state. It says nothing about any other."""

    type: Literal["judgement_given"] = "judgement_given"
    check: str
    state_digest: str
    verdict: Word
    by: str
    authenticated: bool = False
    note: str = Field(default="", max_length=NOTE_LIMIT)


class JudgeAnswered(PayloadBase):
    """A model that judges said pass or fail of the sealed state; it is not asked of it again."""

    type: Literal["judge_answered"] = "judge_answered"
    turn: int
    check_id: str
    state_digest: str
    result: CheckResult


class VerificationFinished(PayloadBase):
    """The verdict, and whether the model gets another round."""

    type: Literal["verification_finished"] = "verification_finished"
    turn: int
    result: VerificationResult
    repair: bool
    artifacts: list[Artifact] = Field(default_factory=list[Artifact])
