"""Every status change goes through these tables; a change that is not listed is refused.

The database holds the same rows (checkrein.transitions) and applies them inside its transactions;
a test compares the two.
"""

from enum import StrEnum

from checkrein.contracts.action import ActionStatus as A
from checkrein.contracts.approval import ApprovalStatus as P
from checkrein.contracts.attempt import ACTIVE, SUSPENDED
from checkrein.contracts.attempt import AttemptStatus as T
from checkrein.contracts.effect import EffectStatus as E
from checkrein.contracts.task import TaskStatus as K
from checkrein.errors import ConflictError

Table = dict[tuple[str, str], str]
"""(current status, event) to next status."""


class Machine(StrEnum):
    """The objects that have a table."""

    TASK = "task"
    ATTEMPT = "attempt"
    ACTION = "action"
    APPROVAL = "approval"
    EFFECT = "effect"


def _action() -> Table:
    # PENDING: another owner has the key, and nothing of this action was ever sent.
    waiting = (A.VALIDATED, A.AUTHORIZED, A.WAITING_APPROVAL, A.PENDING)
    table: Table = {(A.PROPOSED, "validated"): A.VALIDATED}
    for status in waiting:
        table[status, "allowed"] = A.AUTHORIZED
        table[status, "asked"] = A.WAITING_APPROVAL
        table[status, "denied"] = A.DENIED
    table[A.WAITING_APPROVAL, "granted"] = A.AUTHORIZED
    table[A.WAITING_APPROVAL, "rejected"] = A.DENIED
    table[A.WAITING_APPROVAL, "stale"] = A.WAITING_APPROVAL
    table[A.WAITING_APPROVAL, "superseded"] = A.SUPERSEDED
    for status in (A.AUTHORIZED, A.RUNNING, A.UNKNOWN_EFFECT, A.PENDING):
        table[status, "running"] = A.RUNNING
    for status in (A.AUTHORIZED, A.RUNNING):
        table[status, "succeeded"] = A.SUCCEEDED
    for status in (A.AUTHORIZED, A.RUNNING, A.UNKNOWN_EFFECT):
        table[status, "failed"] = A.FAILED
        table[status, "pending"] = A.PENDING
    for status in (*waiting, A.UNKNOWN_EFFECT):
        table[status, "deduplicated"] = A.SUCCEEDED
    table[A.RUNNING, "deduplicated"] = A.SUCCEEDED
    for status in waiting:
        table[status, "not_applicable"] = A.FAILED
        table[status, "no_change"] = A.SUCCEEDED
        table[status, "cancelled"] = A.CANCELLED
    for status in (A.RUNNING, A.UNKNOWN_EFFECT):
        # Sent already: what the policy says now no longer decides what the action is.
        for word in ("allowed", "asked", "denied"):
            table[status, word] = status
    table[A.RUNNING, "unknown"] = A.UNKNOWN_EFFECT
    table[A.UNKNOWN_EFFECT, "unknown"] = A.UNKNOWN_EFFECT
    return table


def _effect() -> Table:
    table: Table = {
        (E.INTENT, "executing"): E.EXECUTING,
        (E.INTENT, "denied"): E.DENIED,
        (E.EXECUTING, "executing"): E.EXECUTING,
        (E.UNKNOWN_EFFECT, "executing"): E.EXECUTING,
        (E.EXECUTING, "committed"): E.COMMITTED,
        (E.EXECUTING, "refused"): E.REFUSED,
        # The same owner's next try under the same key: a new row among the tries, not a new state.
        (E.EXECUTING, "retried"): E.EXECUTING,
        (E.EXECUTING, "pending"): E.EXECUTING,
    }
    for status in (E.EXECUTING, E.UNKNOWN_EFFECT):
        table[status, "unknown"] = E.UNKNOWN_EFFECT
        table[status, "reconciled"] = E.COMMITTED
        table[status, "not_applied"] = E.NOT_APPLIED
    return table


def _approval() -> Table:
    table: Table = {
        (P.PREPARED, "requested"): P.PENDING,
        (P.PENDING, "requested"): P.PENDING,
        # One yes of several that are needed, and one more role that may say it.
        (P.PENDING, "counted"): P.PENDING,
        (P.PENDING, "escalated"): P.PENDING,
        (P.PENDING, "superseded"): P.SUPERSEDED,
        (P.PENDING, "granted"): P.GRANTED,
        (P.PENDING, "rejected"): P.REJECTED,
        (P.PENDING, "expired"): P.EXPIRED,
        (P.GRANTED, "used"): P.USED,
        (P.GRANTED, "stale"): P.STALE,
        (P.GRANTED, "expired"): P.EXPIRED,
    }
    for status in (P.PREPARED, P.PENDING, P.GRANTED):
        table[status, "revoked"] = P.REVOKED
    return table


def _attempt() -> Table:
    table: Table = {
        (T.RUNNING, "sealed"): T.VERIFYING,
        (T.VERIFYING, "sealed"): T.VERIFYING,
        (T.VERIFYING, "repair"): T.RUNNING,
        # A person must look at the sealed candidate; whoever goes on then verifies it anew.
        (T.VERIFYING, f"suspended:{T.WAITING_FOR_USER}"): T.WAITING_FOR_USER,
        # A judge's call does not fit: with a larger budget it is asked then.
        (T.VERIFYING, f"suspended:{T.BUDGET_EXHAUSTED}"): T.BUDGET_EXHAUSTED,
        (T.VERIFYING, "verified"): T.CANDIDATE_VERIFIED,
        (T.VERIFYING, "not_verified"): T.FAILED_VERIFICATION,
        (T.CANCELLING, "cancelled"): T.CANCELLED,
    }
    for status in SUSPENDED:
        table[T.RUNNING, f"suspended:{status}"] = status
        table[status, "resumed"] = T.RUNNING
    for status in ACTIVE:
        table[status, "resumed"] = status
    for status in (*SUSPENDED, *ACTIVE):
        table[status, "cancel_requested"] = T.CANCELLING
    for end in (T.POLICY_BLOCKED, T.ENVIRONMENT_ERROR, T.MODEL_ERROR, T.FAILED):
        table[T.RUNNING, f"ended:{end}"] = end
    table[T.VERIFYING, f"ended:{T.ENVIRONMENT_ERROR}"] = T.ENVIRONMENT_ERROR
    return table


def _task() -> Table:
    table: Table = {
        (K.CREATED, "attempt_started"): K.RUNNING,
        (K.RUNNING, "attempt_started"): K.RUNNING,
        (K.FAILED, "attempt_started"): K.RUNNING,
        (K.CANCELLED, "attempt_started"): K.RUNNING,
        (K.ESCALATED, "attempt_started"): K.RUNNING,
        (K.RUNNING, "verified"): K.VERIFIED,
        (K.RUNNING, "failed"): K.FAILED,
        (K.RUNNING, "escalated"): K.ESCALATED,
        (K.RUNNING, "cancelled"): K.CANCELLED,
        # A commit attempt: only of what is verified, and a failed one leaves it so.
        (K.VERIFIED, "commit_started"): K.VERIFIED,
        (K.VERIFIED, "commit_failed"): K.VERIFIED,
        (K.VERIFIED, "completed"): K.COMPLETED,
    }
    return table


TABLES: dict[Machine, Table] = {
    Machine.TASK: _task(),
    Machine.ATTEMPT: _attempt(),
    Machine.ACTION: _action(),
    Machine.APPROVAL: _approval(),
    Machine.EFFECT: _effect(),
}


def apply(machine: Machine, current: str, event: str) -> str:
    """Return the next status.

    Raises:
        ConflictError: the table has no such change (code illegal_transition).
    """
    try:
        return TABLES[machine][current, event]
    except KeyError:
        raise ConflictError(
            f"An {machine} that is {current} cannot take the event {event}.",
            op="transitions.apply",
            code="illegal_transition",
            context={"machine": str(machine), "current": str(current), "event": event},
        ) from None
