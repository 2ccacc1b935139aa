"""Events: append-only, gapless, hash-chained. They are the truth; every table is derived from them.

The union below is versioned: a payload that is not in it, or has other fields, is refused on
writing and on reading.
"""

import hashlib
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from checkrein.contracts.action import Action
from checkrein.contracts.approval import Answer, ApprovalRequest
from checkrein.contracts.artifact import Artifact
from checkrein.contracts.attempt import Attempt, AttemptStatus
from checkrein.contracts.budget import Budget, BudgetLimits
from checkrein.contracts.codec import Frozen
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import PolicyDecision
from checkrein.contracts.effect import Outcome, OutcomeSource
from checkrein.contracts.observation import Observation
from checkrein.contracts.proposal import Usage
from checkrein.contracts.task import Task
from checkrein.contracts.verification import VerificationResult

GENESIS = "sha256:" + "0" * 64
"""prev_hash of the first event of an attempt."""


class _Payload(Frozen):
    v: Literal[1] = 1


class TaskCreated(_Payload):
    """A task came into being, with its whole contract."""

    type: Literal["task_created"] = "task_created"
    task: Task
    contract: dict[str, Any]


class AttemptStarted(_Payload):
    """One execution of the task begins."""

    type: Literal["attempt_started"] = "attempt_started"
    attempt: Attempt
    contract: dict[str, Any]
    budgets: BudgetLimits


class ContextCompiled(_Payload):
    """The context of a turn is ready. The manifest is stored under its digest."""

    type: Literal["context_compiled"] = "context_compiled"
    turn: int
    manifest_ref: str
    sent: str
    tokens: int
    lowest_trust: Trust


class BudgetReserved(_Payload):
    """The worst case of what comes next was set aside."""

    type: Literal["budget_reserved"] = "budget_reserved"
    turn: int
    amounts: dict[Budget, int]


class BudgetSettled(_Payload):
    """What was set aside was released, and what was used was booked."""

    type: Literal["budget_settled"] = "budget_settled"
    turn: int
    released: dict[Budget, int]
    spent: dict[Budget, int]


class BudgetExhausted(_Payload):
    """A reservation did not fit."""

    type: Literal["budget_exhausted"] = "budget_exhausted"
    budget: Budget
    limit: int
    left: int
    needed: int


class ModelRequested(_Payload):
    """The model is about to be called. If no answer is ever stored, it may have been paid."""

    type: Literal["model_requested"] = "model_requested"
    turn: int
    model: str
    try_number: int = 1


class ModelResponded(_Payload):
    """The raw output is stored; nothing has been read from it yet."""

    type: Literal["model_responded"] = "model_responded"
    turn: int
    raw_ref: str
    usage: Usage
    model_id: str
    request_id: str | None = None


class RetryScheduled(_Payload):
    """A passing fault; the same thing is tried again after a pause."""

    type: Literal["retry_scheduled"] = "retry_scheduled"
    turn: int
    what: str
    try_number: int
    delay_s: float
    error_type: str


class ActionProposed(_Payload):
    """A valid proposal became an action."""

    type: Literal["action_proposed"] = "action_proposed"
    action: Action


class PolicyDecided(_Payload):
    """The policy answered. `phase` dispatch is the answer right before the action runs."""

    type: Literal["policy_decided"] = "policy_decided"
    action_id: str
    phase: Literal["propose", "dispatch"]
    decision: PolicyDecision
    operation_hash: str


class ApprovalPrepared(_Payload):
    """A request is stored, not yet shown to anybody."""

    type: Literal["approval_prepared"] = "approval_prepared"
    approval: ApprovalRequest


class CheckpointSaved(_Payload):
    """A safe point: everything up to here is stored, and the owner lets go."""

    type: Literal["checkpoint_saved"] = "checkpoint_saved"
    turn: int


class ApprovalRequested(_Payload):
    """The request is on offer to people."""

    type: Literal["approval_requested"] = "approval_requested"
    approval_id: str
    action_id: str
    interrupt_id: str | None = None


class Suspended(_Payload):
    """The attempt waits; no process is needed while it does."""

    type: Literal["suspended"] = "suspended"
    status: AttemptStatus
    reason: str


class ApprovalDecided(_Payload):
    """A person answered. That is stored when it is said; what it permits is checked later."""

    type: Literal["approval_decided"] = "approval_decided"
    approval_id: str
    action_id: str
    answer: Answer
    approver: str
    authority: str
    authenticated: bool
    reason: str = ""


class RunResumed(_Payload):
    """An owner goes on with the attempt."""

    type: Literal["run_resumed"] = "run_resumed"
    how: Literal["resume", "recover"]
    fence: int


class ApprovalGranted(_Payload):
    """The grant was checked again and is spent on its one action."""

    type: Literal["approval_granted"] = "approval_granted"
    approval_id: str
    action_id: str
    operation_hash: str
    resource_version: str


class ApprovalStale(_Payload):
    """What was approved is no longer what would happen. Nothing ran."""

    type: Literal["approval_stale"] = "approval_stale"
    approval_id: str
    action_id: str
    approved_version: str
    found_version: str


class IntentBound(_Payload):
    """The intent holds its key in the ledger, once."""

    type: Literal["intent_bound"] = "intent_bound"
    effect_id: str
    tenant: str
    resource: str
    key: str
    operation_hash: str
    action_id: str


class EffectExecuting(_Payload):
    """Durable before the first byte leaves."""

    type: Literal["effect_executing"] = "effect_executing"
    effect_id: str
    action_id: str
    fence: int
    from_version: str = ""
    to_version: str = ""


class EffectCommitted(_Payload):
    """The receipt: it happened."""

    type: Literal["effect_committed"] = "effect_committed"
    effect_id: str
    action_id: str
    outcome: Outcome


class EffectRefused(_Payload):
    """The target said a definite no."""

    type: Literal["effect_refused"] = "effect_refused"
    effect_id: str
    action_id: str
    outcome: Outcome


class EffectUnknown(_Payload):
    """Nobody can say whether it happened."""

    type: Literal["effect_unknown"] = "effect_unknown"
    effect_id: str
    action_id: str
    outcome: Outcome


class EffectReconciled(_Payload):
    """The target, asked afterwards, proved what had happened."""

    type: Literal["effect_reconciled"] = "effect_reconciled"
    effect_id: str
    action_id: str
    outcome: Outcome
    source: OutcomeSource


class EffectDenied(_Payload):
    """Authority was refused before anything was sent."""

    type: Literal["effect_denied"] = "effect_denied"
    effect_id: str
    action_id: str
    reason_code: str


class ActionDeduplicated(_Payload):
    """The effect had happened already; nothing was sent."""

    type: Literal["action_deduplicated"] = "action_deduplicated"
    action_id: str
    effect_id: str


class Observed(_Payload):
    """The one result of one call."""

    type: Literal["observation"] = "observation"
    observation: Observation


class QuestionAsked(_Payload):
    """The model asks the person something."""

    type: Literal["question_asked"] = "question_asked"
    turn: int
    call_id: str
    question: str


class UserAnswered(_Payload):
    """A person answered the question, or steered a stopped turn."""

    type: Literal["user_answered"] = "user_answered"
    text: str
    by: str


class TurnStopped(_Payload):
    """The model stopped without an action, a question or a candidate."""

    type: Literal["turn_stopped"] = "turn_stopped"
    turn: int
    why: str


class CandidateSealed(_Payload):
    """The claim to be done, with the digest of the world that it claims it of."""

    type: Literal["candidate_sealed"] = "candidate_sealed"
    turn: int
    summary: str
    state_digest: str
    candidate_hash: str
    artifacts: list[Artifact] = Field(default_factory=list)


class VerificationStarted(_Payload):
    """Independent checks begin."""

    type: Literal["verification_started"] = "verification_started"
    turn: int
    state_digest: str


class VerificationFinished(_Payload):
    """The verdict, and whether the model gets another round."""

    type: Literal["verification_finished"] = "verification_finished"
    turn: int
    result: VerificationResult
    repair: bool
    artifacts: list[Artifact] = Field(default_factory=list)


class CancelRequested(_Payload):
    """A person wants it stopped. Whether work has stopped is another event."""

    type: Literal["cancel_requested"] = "cancel_requested"
    by: str
    reason: str


class PauseRequested(_Payload):
    """A person wants it to wait at the next safe point."""

    type: Literal["pause_requested"] = "pause_requested"
    by: str


class Cancelled(_Payload):
    """Everything is quiet."""

    type: Literal["cancelled"] = "cancelled"
    reason: str


class AttemptEnded(_Payload):
    """Nothing follows. `detail` says why, for people."""

    type: Literal["attempt_ended"] = "attempt_ended"
    status: AttemptStatus
    detail: str = ""
    needs_escalation: bool = False


Payload = Annotated[
    TaskCreated
    | AttemptStarted
    | ContextCompiled
    | BudgetReserved
    | BudgetSettled
    | BudgetExhausted
    | ModelRequested
    | ModelResponded
    | RetryScheduled
    | ActionProposed
    | PolicyDecided
    | ApprovalPrepared
    | CheckpointSaved
    | ApprovalRequested
    | Suspended
    | ApprovalDecided
    | RunResumed
    | ApprovalGranted
    | ApprovalStale
    | IntentBound
    | EffectExecuting
    | EffectCommitted
    | EffectRefused
    | EffectUnknown
    | EffectReconciled
    | EffectDenied
    | ActionDeduplicated
    | Observed
    | QuestionAsked
    | UserAnswered
    | TurnStopped
    | CandidateSealed
    | VerificationStarted
    | VerificationFinished
    | CancelRequested
    | PauseRequested
    | Cancelled
    | AttemptEnded,
    Field(discriminator="type"),
]

PAYLOADS: TypeAdapter[Payload] = TypeAdapter(Payload)


class Event(Frozen):
    """One event as stored. `payload` is the exact text that the hash covers."""

    attempt_id: str
    seq: int
    event_id: str
    cause_id: str | None
    type: str
    at: str
    payload: str
    prev_hash: str
    hash: str

    def read(self) -> Payload:
        """Return the payload as a noun; raises pydantic.ValidationError for an unknown one."""
        return PAYLOADS.validate_json(self.payload)

    @property
    def time(self) -> datetime:
        """When it was appended, by the database's clock, in UTC."""
        return datetime.fromisoformat(self.at)


def chain_hash(event: Event) -> str:
    """Compute an event's hash from its content. The database computes the same, apart from us.

    The fields are joined by newlines; none but the payload can hold one, and it stands last.
    """
    fields = (
        event.attempt_id,
        str(event.seq),
        event.event_id,
        event.cause_id or "",
        event.type,
        event.at,
        event.prev_hash,
        event.payload,
    )
    return "sha256:" + hashlib.sha256("\n".join(fields).encode()).hexdigest()


class ChainFault(Frozen):
    """Where a chain breaks, and how."""

    seq: int
    problem: str


def check_chain(events: list[Event], head_seq: int, head_hash: str) -> list[ChainFault]:
    """Return every fault of an attempt's chain: edits, gaps, swaps, and a cut tail."""
    faults: list[ChainFault] = []
    previous = GENESIS
    for place, event in enumerate(events, start=1):
        if event.seq != place:
            faults.append(ChainFault(seq=place, problem=f"expected seq {place}, found {event.seq}"))
            return faults
        if event.prev_hash != previous:
            faults.append(ChainFault(seq=place, problem="does not follow the event before it"))
        if chain_hash(event) != event.hash:
            faults.append(ChainFault(seq=place, problem="its content does not match its hash"))
        previous = event.hash
    if len(events) != head_seq or previous != head_hash:
        faults.append(
            ChainFault(
                seq=len(events),
                problem=f"the attempt's head says {head_seq} events ending in {head_hash[:19]}, "
                f"found {len(events)} ending in {previous[:19]}",
            )
        )
    return faults
