"""Whether a machine may try an ended attempt again, and whose words for states mean which of ours.

Data: what programs branch on, so that not every end is one and the same "error".
"""

from enum import StrEnum

from checkrein.contracts.attempt import AttemptStatus as S
from checkrein.contracts.codec import Frozen


class May(StrEnum):
    """Whether a new attempt of the same task, by a machine, makes sense."""

    YES = "yes"
    """Usually: what was broken may be whole again."""

    CHANGED = "changed"
    """With something changed first: `why` names it."""

    PERSON = "person"
    """Only after a person has decided."""

    NO = "no"


class Retry(Frozen):
    """A word for programs, and why."""

    may: May
    why: str


RETRY: dict[S, Retry] = {
    S.CANDIDATE_VERIFIED: Retry(may=May.NO, why="it is verified; there is nothing to try again"),
    S.FAILED_VERIFICATION: Retry(
        may=May.PERSON, why="it depends on the task: the checks refused what was made"
    ),
    S.POLICY_BLOCKED: Retry(may=May.CHANGED, why="it needs authority, or another plan"),
    S.ENVIRONMENT_ERROR: Retry(
        may=May.YES, why="the machine, a dependency or an outside service was broken"
    ),
    S.MODEL_ERROR: Retry(may=May.CHANGED, why="perhaps with another model"),
    S.FAILED: Retry(may=May.NO, why="a tool failed for good; the same would fail again"),
    S.CANCELLED: Retry(may=May.NO, why="a person or a parent ended it"),
}
"""For each end. A suspended attempt is not tried again: it is resumed."""

AGENT_LOOP: dict[str, frozenset[S]] = {
    "COMPLETED": frozenset({S.CANDIDATE_VERIFIED}),
    "FAILED": frozenset({S.FAILED, S.MODEL_ERROR, S.ENVIRONMENT_ERROR, S.POLICY_BLOCKED}),
    "FAILED_VERIFICATION": frozenset({S.FAILED_VERIFICATION}),
    "STOPPED": frozenset({S.BUDGET_EXHAUSTED, S.TURN_STOPPED, S.PAUSED, S.WAITING_FOR_USER}),
    "CANCELLED": frozenset({S.CANCELLED, S.CANCELLING}),
    "APPROVAL_STALE": frozenset({S.APPROVAL_STALE}),
    "UNKNOWN_RESULT": frozenset({S.RECONCILE_REQUIRED, S.WAITING_FOR_EFFECT}),
    "WAITING_APPROVAL": frozenset({S.WAITING_FOR_APPROVAL}),
    "VERIFYING": frozenset({S.VERIFYING}),
    "RUNNING": frozenset({S.RUNNING}),
}
"""The states that an agent loop is often drawn with. STOPPED is not FAILED: it can go on."""

DURABLE_TASK: dict[str, frozenset[S]] = {
    "RUNNING": frozenset({S.RUNNING, S.CANCELLING}),
    "WAITING": frozenset(
        {
            S.WAITING_FOR_APPROVAL,
            S.APPROVAL_STALE,
            S.WAITING_FOR_EFFECT,
            S.RECONCILE_REQUIRED,
            S.WAITING_FOR_USER,
            S.BUDGET_EXHAUSTED,
            S.TURN_STOPPED,
        }
    ),
    "PAUSED": frozenset({S.PAUSED}),
    "VERIFYING": frozenset({S.VERIFYING}),
    "COMPLETED": frozenset({S.CANDIDATE_VERIFIED}),
    "FAILED": frozenset(
        {
            S.FAILED_VERIFICATION,
            S.POLICY_BLOCKED,
            S.ENVIRONMENT_ERROR,
            S.MODEL_ERROR,
            S.FAILED,
        }
    ),
    "CANCELLED": frozenset({S.CANCELLED}),
}
"""The coarser states of a durable task."""

RUN_END: dict[str, frozenset[S]] = {
    "SUCCEEDED": frozenset({S.CANDIDATE_VERIFIED}),
    "FAILED": frozenset({S.FAILED, S.FAILED_VERIFICATION}),
    "BUDGET_EXHAUSTED": frozenset({S.BUDGET_EXHAUSTED}),
    "POLICY_BLOCKED": frozenset({S.POLICY_BLOCKED}),
    "ENVIRONMENT_ERROR": frozenset({S.ENVIRONMENT_ERROR}),
    "MODEL_ERROR": frozenset({S.MODEL_ERROR}),
}
"""The ends that an evaluation of runs tells apart."""
