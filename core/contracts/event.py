"""Events: append-only, gapless, hash-chained. They are the truth; every table is derived from them.

The union below is versioned: a payload that is not in it, or has other fields, is refused on
writing and on reading.
"""

import hashlib
from datetime import datetime
from typing import Annotated

from pydantic import Field, TypeAdapter

from checkrein.contracts.codec import Frozen
from checkrein.contracts.event_action import (
    PROBLEM_CHARS,
    ActionDeduplicated,
    ActionProposed,
    ApprovalDecided,
    ApprovalEscalated,
    ApprovalExpired,
    ApprovalGranted,
    ApprovalPrepared,
    ApprovalRequested,
    ApprovalShown,
    ApprovalStale,
    EffectCommitted,
    EffectDenied,
    EffectExecuting,
    EffectPending,
    EffectReconciled,
    EffectRefused,
    EffectRetried,
    EffectUnknown,
    EffectVerified,
    IntentBound,
    Observed,
    PermissionUsed,
    PlanAccepted,
    PolicyDecided,
    PolicyRefused,
    PolicyReloaded,
    ResultAccepted,
    SecretLeased,
    SecretReleased,
)
from checkrein.contracts.event_attempt import (
    AttemptEnded,
    AttemptStarted,
    Cancelled,
    CancelRequested,
    CheckpointSaved,
    EnvironmentChosen,
    PauseRequested,
    RunResumed,
    Suspended,
    TaskCreated,
    UserAccepted,
)
from checkrein.contracts.event_turn import (
    BudgetExhausted,
    BudgetRaised,
    BudgetReserved,
    BudgetSettled,
    BudgetWarning,
    CandidateSealed,
    ContextCompiled,
    JudgeAnswered,
    JudgementAsked,
    JudgementGiven,
    ModelRequested,
    ModelResponded,
    NoProgressNoticed,
    QuestionAsked,
    RetryScheduled,
    TurnStopped,
    UserAnswered,
    VerificationFinished,
    VerificationStarted,
)

__all__ = [
    "ActionDeduplicated",
    "ActionProposed",
    "ApprovalDecided",
    "ApprovalEscalated",
    "ApprovalExpired",
    "ApprovalGranted",
    "ApprovalPrepared",
    "ApprovalRequested",
    "ApprovalShown",
    "ApprovalStale",
    "AttemptEnded",
    "AttemptStarted",
    "BudgetExhausted",
    "BudgetRaised",
    "BudgetReserved",
    "BudgetSettled",
    "BudgetWarning",
    "CancelRequested",
    "Cancelled",
    "CandidateSealed",
    "ChainFault",
    "CheckpointSaved",
    "EnvironmentChosen",
    "ContextCompiled",
    "EffectCommitted",
    "EffectDenied",
    "EffectExecuting",
    "EffectPending",
    "EffectReconciled",
    "EffectRefused",
    "EffectRetried",
    "EffectUnknown",
    "EffectVerified",
    "Event",
    "GENESIS",
    "IntentBound",
    "JudgeAnswered",
    "JudgementAsked",
    "JudgementGiven",
    "ModelRequested",
    "ModelResponded",
    "NoProgressNoticed",
    "Observed",
    "PAYLOADS",
    "PROBLEM_CHARS",
    "PauseRequested",
    "Payload",
    "PermissionUsed",
    "PlanAccepted",
    "PolicyDecided",
    "PolicyRefused",
    "PolicyReloaded",
    "QuestionAsked",
    "ResultAccepted",
    "RetryScheduled",
    "RunResumed",
    "SecretLeased",
    "SecretReleased",
    "Suspended",
    "TaskCreated",
    "TurnStopped",
    "UserAccepted",
    "UserAnswered",
    "VerificationFinished",
    "VerificationStarted",
    "chain_hash",
    "check_chain",
]

GENESIS = "sha256:" + "0" * 64
"""prev_hash of the first event of an attempt."""

Payload = Annotated[
    TaskCreated
    | AttemptStarted
    | ContextCompiled
    | BudgetReserved
    | BudgetSettled
    | BudgetExhausted
    | BudgetRaised
    | BudgetWarning
    | ModelRequested
    | ModelResponded
    | RetryScheduled
    | ActionProposed
    | PolicyDecided
    | PolicyReloaded
    | PolicyRefused
    | ApprovalPrepared
    | CheckpointSaved
    | EnvironmentChosen
    | ApprovalRequested
    | Suspended
    | ApprovalDecided
    | ApprovalEscalated
    | ApprovalShown
    | ApprovalExpired
    | RunResumed
    | ApprovalGranted
    | PermissionUsed
    | PlanAccepted
    | ResultAccepted
    | ApprovalStale
    | IntentBound
    | EffectExecuting
    | EffectCommitted
    | EffectRefused
    | EffectUnknown
    | EffectRetried
    | EffectPending
    | EffectReconciled
    | EffectVerified
    | EffectDenied
    | ActionDeduplicated
    | SecretLeased
    | SecretReleased
    | Observed
    | QuestionAsked
    | UserAnswered
    | TurnStopped
    | NoProgressNoticed
    | CandidateSealed
    | VerificationStarted
    | JudgeAnswered
    | JudgementAsked
    | JudgementGiven
    | VerificationFinished
    | CancelRequested
    | PauseRequested
    | Cancelled
    | AttemptEnded
    | UserAccepted,
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
