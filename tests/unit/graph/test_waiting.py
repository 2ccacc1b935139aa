"""What a suspended attempt waits for, and what comes first where there are several things."""

from typing import Any

import pytest
from filled import filled

from checkrein.contracts.action import ActionStatus
from checkrein.contracts.approval import ApprovalRequest, ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget, BudgetLine
from checkrein.contracts.effect import Effect, EffectStatus
from checkrein.nodes.waiting import undecided, waiting_for
from checkrein.ports.records import ActionState, Position, TurnState

T = AttemptStatus


def position(**changes: Any) -> Position:
    """An attempt that waits for nothing, changed."""
    quiet: dict[str, Any] = {
        "actions": [],
        "turn": None,
        "exhausted": None,
        "pause_requested": False,
        "cancel_reason": None,
        "budgets": {Budget.STEPS: BudgetLine(limit=3, spent=3)},
    }
    return filled(Position).model_copy(update=quiet | changes)


def action(**changes: Any) -> ActionState:
    quiet: dict[str, Any] = {"approval": None, "effect": None, "grant": None, "observed": False}
    return filled(ActionState).model_copy(update=quiet | changes)


def asked(status: ApprovalStatus, replaces: str | None = None, **changes: Any) -> ActionState:
    request = filled(ApprovalRequest).model_copy(update={"status": status, "replaces": replaces})
    return action(approval=request, **changes)


def sent(status: EffectStatus, *, pending: bool = False, **changes: Any) -> ActionState:
    effect = filled(Effect).model_copy(update={"status": status, "pending": pending})
    return action(effect=effect, **changes)


def elsewhere() -> ActionState:
    """An action whose key another run holds."""
    waits = filled(ActionState).action.model_copy(update={"status": ActionStatus.PENDING})
    effect = filled(Effect).model_copy(update={"action_id": "act_of_another", "pending": False})
    return action(action=waits, effect=effect)


def turn(waits_for: str | None, status: str = "RESPONDED") -> TurnState:
    return TurnState(turn=1, status=status, waits_for=waits_for, text="Which one?")


OPEN = (ApprovalStatus.PREPARED, ApprovalStatus.PENDING)

CASES: dict[str, tuple[dict[str, Any], AttemptStatus, tuple[str, ...]]] = {
    "prepared": (
        {"actions": [asked(ApprovalStatus.PREPARED)]},
        T.WAITING_FOR_APPROVAL,
        ("approve", "reject", "edit", "respond"),
    ),
    "pending": (
        {"actions": [asked(ApprovalStatus.PENDING)]},
        T.WAITING_FOR_APPROVAL,
        ("approve", "reject", "edit", "respond"),
    ),
    "stale": (
        {"actions": [asked(ApprovalStatus.PENDING, replaces="apr_1")]},
        T.APPROVAL_STALE,
        ("approve", "reject", "edit", "respond"),
    ),
    "unknown": ({"actions": [sent(EffectStatus.UNKNOWN_EFFECT)]}, T.RECONCILE_REQUIRED, ()),
    "unreachable": (
        {"actions": [sent(EffectStatus.EXECUTING, pending=True)]},
        T.WAITING_FOR_EFFECT,
        (),
    ),
    "elsewhere": ({"actions": [elsewhere()]}, T.WAITING_FOR_EFFECT, ()),
    "question": ({"turn": turn("question")}, T.WAITING_FOR_USER, ("answer",)),
    "stopped": ({"turn": turn("stopped")}, T.TURN_STOPPED, ("answer",)),
    "exhausted": ({"exhausted": Budget.STEPS}, T.BUDGET_EXHAUSTED, ()),
    "paused": ({"pause_requested": True}, T.PAUSED, ("resume",)),
}


@pytest.mark.parametrize("case", CASES)
def test_each_wait_has_its_status_and_its_answers(case: str) -> None:
    changes, status, answers = CASES[case]
    waiting = waiting_for(position(**changes))
    assert waiting is not None
    assert (waiting.status, waiting.answers) == (status, answers)
    assert waiting.reason
    assert status.is_suspended


def test_the_reason_says_what_a_person_needs() -> None:
    said = {case: waiting_for(position(**changes)) for case, (changes, *_) in CASES.items()}
    reasons = {case: waiting.reason for case, waiting in said.items() if waiting}
    assert reasons["question"] == reasons["stopped"] == "Which one?"
    assert "steps of 3 is used up (3 spent)" in reasons["exhausted"]
    assert filled(ActionState).action.capability in reasons["pending"]


def test_people_are_asked_before_anything_else_is_waited_for() -> None:
    """In this order, since the first is what somebody can do something about."""
    order = ["pending", "unknown", "question", "exhausted", "paused"]
    for first, case in enumerate(order):
        together: dict[str, Any] = {"actions": []}
        for other in order[first:]:
            changes = CASES[other][0]
            together["actions"] = [*together["actions"], *changes.get("actions", [])]
            together |= {key: value for key, value in changes.items() if key != "actions"}
        waiting = waiting_for(position(**together))
        assert waiting is not None and waiting.status is CASES[case][1]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"turn": turn("question", "CLOSED")},
        {"turn": turn("stopped", "CLOSED")},
        {"turn": turn(None)},
        {"actions": [action()]},
        {"actions": [asked(ApprovalStatus.PENDING, observed=True)]},
        {"actions": [sent(EffectStatus.UNKNOWN_EFFECT, observed=True)]},
        *({"actions": [asked(s)]} for s in ApprovalStatus if s not in OPEN),
        *({"actions": [sent(s)]} for s in EffectStatus if s is not EffectStatus.UNKNOWN_EFFECT),
    ],
)
def test_what_is_settled_is_waited_for_no_more(changes: dict[str, Any]) -> None:
    assert waiting_for(position(**changes)) is None


def test_one_stale_request_makes_the_whole_wait_stale() -> None:
    both = [asked(ApprovalStatus.PENDING), asked(ApprovalStatus.PENDING, replaces="apr_1")]
    waiting = waiting_for(position(actions=both))
    assert waiting is not None and waiting.status is T.APPROVAL_STALE
    assert undecided(position(actions=both)) == both
