"""What a suspended attempt waits for: one pure function of where it stands."""

from typing import NamedTuple

from checkrein.contracts.action import ActionStatus
from checkrein.contracts.approval import ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.progress import Rung
from checkrein.ports.records import ActionState, Position

ANSWERS = ("approve", "reject", "edit", "respond")
"""What may be said to an approval request."""

JUDGES = ("pass", "fail")
"""What may be said of a sealed candidate."""


class Waiting(NamedTuple):
    """A suspension: its status, why, and what can be said to it."""

    status: AttemptStatus
    reason: str
    answers: tuple[str, ...]


def undecided(position: Position) -> list[ActionState]:
    """Actions of the newest turn whose request nobody has answered yet."""
    return [
        state
        for state in position.actions
        if not state.observed
        and state.approval is not None
        and state.approval.status in {ApprovalStatus.PREPARED, ApprovalStatus.PENDING}
    ]


def _unsettled(position: Position) -> Waiting | None:
    """An effect whose fate is not known, or that belongs to somebody else for now."""
    open_states = [state for state in position.actions if not state.observed]
    for state in open_states:
        effect = state.effect
        ours = effect is not None and effect.action_id == state.action.action_id
        if effect is not None and ours and effect.status is EffectStatus.UNKNOWN_EFFECT:
            return Waiting(
                AttemptStatus.RECONCILE_REQUIRED,
                f"nobody can say whether {state.action.capability} happened "
                f"(effect {effect.effect_id})",
                (),
            )
    for state in open_states:
        effect = state.effect
        if effect is not None and effect.pending:
            return Waiting(
                AttemptStatus.WAITING_FOR_EFFECT,
                f"{state.action.capability} was sent, and its target cannot be asked",
                (),
            )
        if state.action.status is ActionStatus.PENDING:
            return Waiting(
                AttemptStatus.WAITING_FOR_EFFECT,
                f"another run is doing the same {state.action.capability}",
                (),
            )
    return None


def _used_up(position: Position, budget: Budget) -> str:
    """Which budget is used up, what is unfinished, and how to go on, in one line."""
    line = position.budgets[budget]
    held = f", {line.reserved} reserved" if line.reserved else ""
    whose, shared, owner = "", "", position.attempt.attempt_id
    if line.pool == position.attempt.task_id:
        whose, shared = f" of task {line.pool}", " --task"
    elif line.pool is not None:
        whose, owner = f" of its parent {line.pool}", line.pool
    undone = f"; unfinished: {', '.join(position.unfinished[:3])}" if position.unfinished else ""
    return (
        f"the budget {budget}{whose} of {line.limit} is used up ({line.spent} spent{held})"
        f"{undone}; `checkrein budget raise {owner} {budget} LIMIT{shared}` raises it"
    )


def waiting_for(position: Position) -> Waiting | None:
    """Return what the attempt waits for, or None where it can go on."""
    open_requests = undecided(position)
    if open_requests:
        names = ", ".join(state.action.capability for state in open_requests)
        if any(s.approval is not None and s.approval.replaces for s in open_requests):
            return Waiting(
                AttemptStatus.APPROVAL_STALE,
                f"what was approved, or who may approve it, has changed since; {names} is shown "
                "again",
                ANSWERS,
            )
        return Waiting(
            AttemptStatus.WAITING_FOR_APPROVAL,
            f"a person must approve {names}",
            ANSWERS,
        )
    unsettled = _unsettled(position)
    if unsettled is not None:
        return unsettled
    if position.asks_people:
        asked = "; ".join(
            f"{j.role} must judge the result: {j.question}" for j in position.asks_people
        )
        return Waiting(AttemptStatus.WAITING_FOR_USER, asked, JUDGES)
    turn = position.turn
    if turn is not None and turn.status == "RESPONDED" and turn.waits_for == "question":
        return Waiting(AttemptStatus.WAITING_FOR_USER, turn.text, ("answer",))
    if turn is not None and turn.status == "RESPONDED" and turn.waits_for == "stopped":
        return Waiting(AttemptStatus.TURN_STOPPED, turn.text, ("answer",))
    notice = position.progress
    if notice is not None and notice.rung is Rung.PERSON and not notice.answered:
        return Waiting(AttemptStatus.WAITING_FOR_USER, notice.advice, ("answer",))
    if position.exhausted is not None:
        return Waiting(AttemptStatus.BUDGET_EXHAUSTED, _used_up(position, position.exhausted), ())
    if position.pause_requested:
        return Waiting(AttemptStatus.PAUSED, "a person paused it", ("resume",))
    return None
