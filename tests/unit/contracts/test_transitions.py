"""Every change of status is in a table; every other one is refused, and changes nothing."""

import itertools
import random
from enum import StrEnum

import pytest

from checkrein.contracts.action import ActionStatus
from checkrein.contracts.approval import ApprovalStatus
from checkrein.contracts.attempt import ACTIVE, SUSPENDED, TERMINAL, AttemptStatus
from checkrein.contracts.effect import FINAL, EffectStatus
from checkrein.contracts.task import TaskStatus
from checkrein.contracts.transitions import TABLES, Machine, apply
from checkrein.errors import ConflictError

STATUSES: dict[Machine, type[StrEnum]] = {
    Machine.TASK: TaskStatus,
    Machine.ATTEMPT: AttemptStatus,
    Machine.ACTION: ActionStatus,
    Machine.APPROVAL: ApprovalStatus,
    Machine.EFFECT: EffectStatus,
}
FIRST = {
    Machine.TASK: "CREATED",
    Machine.ATTEMPT: "RUNNING",
    Machine.ACTION: "PROPOSED",
    Machine.APPROVAL: "PREPARED",
    Machine.EFFECT: "INTENT",
}
# A task that ended without success may be tried again: that is a new attempt, and no way back.
LAST: dict[Machine, set[str]] = {
    Machine.TASK: {"COMPLETED"},
    Machine.ATTEMPT: {str(status) for status in TERMINAL},
    Machine.ACTION: {"SUCCEEDED", "FAILED", "DENIED", "CANCELLED", "SUPERSEDED"},
    Machine.APPROVAL: {"REJECTED", "EXPIRED", "REVOKED", "STALE", "USED", "SUPERSEDED"},
    Machine.EFFECT: {str(status) for status in FINAL},
}
each_machine = pytest.mark.parametrize("machine", list(Machine))


def words(machine: Machine) -> set[str]:
    return {event for _, event in TABLES[machine]}


@pytest.mark.shows(52, 122)
@each_machine
def test_every_pair_that_is_not_listed_is_refused(machine: Machine) -> None:
    table = {(str(status), event): str(after) for (status, event), after in TABLES[machine].items()}
    every_word = {word for other in Machine for word in words(other)} | {"", "prophecy"}
    every_status = [*STATUSES[machine], "", "NOWHERE"]
    for status, word in itertools.product(every_status, sorted(every_word)):
        if (str(status), word) in table:
            assert apply(machine, status, word) == table[str(status), word]
            continue
        with pytest.raises(ConflictError) as refused:
            apply(machine, status, word)
        assert refused.value.code == "illegal_transition"
        assert refused.value.context == {
            "machine": str(machine),
            "current": str(status),
            "event": word,
        }


@each_machine
def test_tables_name_only_statuses_that_there_are(machine: Machine) -> None:
    known = set(STATUSES[machine])
    for (status, _), after in TABLES[machine].items():
        assert {status, after} <= known


@each_machine
def test_every_status_can_be_reached(machine: Machine) -> None:
    reached, grown = {FIRST[machine]}, True
    while grown:
        further = {
            str(after) for (status, _), after in TABLES[machine].items() if status in reached
        }
        grown = not further <= reached
        reached |= further
    assert reached == {str(status) for status in STATUSES[machine]}


@each_machine
def test_what_is_over_is_over_and_everything_else_goes_on(machine: Machine) -> None:
    left = {str(status) for status, _ in TABLES[machine]}
    assert {str(status) for status in STATUSES[machine]} - left == LAST[machine]


@each_machine
def test_every_status_leads_to_an_end(machine: Machine) -> None:
    """No object can get stuck: from everywhere some end can be reached."""
    for start in STATUSES[machine]:
        reached = {str(start)}
        for _ in STATUSES[machine]:
            reached |= {str(a) for (status, _), a in TABLES[machine].items() if status in reached}
        assert reached & LAST[machine], start


@each_machine
def test_nothing_comes_back_to_its_beginning(machine: Machine) -> None:
    """An effect above all: nothing ever moves a row back to INTENT."""
    back = {status for (status, _), after in TABLES[machine].items() if after == FIRST[machine]}
    allowed = {str(s) for s in (*SUSPENDED, "RUNNING", "VERIFYING")}
    assert {str(status) for status in back} <= (allowed if machine is Machine.ATTEMPT else set())


@pytest.mark.shows(119)
def test_an_unknown_effect_is_left_by_proof_or_by_the_same_key_alone() -> None:
    ways = {
        event: str(after)
        for (status, event), after in TABLES[Machine.EFFECT].items()
        if status == EffectStatus.UNKNOWN_EFFECT
    }
    assert ways == {
        "executing": "EXECUTING",
        "reconciled": "COMMITTED",
        "not_applied": "NOT_APPLIED",
        "unknown": "UNKNOWN_EFFECT",
    }


def test_nothing_denies_what_was_sent() -> None:
    """DENIED is for what never left; afterwards only the target's word counts."""
    denied = [s for (s, _), after in TABLES[Machine.EFFECT].items() if after == "DENIED"]
    assert denied == [EffectStatus.INTENT]


def test_attempts_are_active_suspended_or_ended_and_nothing_between() -> None:
    assert set(AttemptStatus) == ACTIVE | SUSPENDED | TERMINAL
    assert not (ACTIVE & SUSPENDED or ACTIVE & TERMINAL or SUSPENDED & TERMINAL)
    assert len(SUSPENDED) == 8 and len(TERMINAL) == 7
    for status in AttemptStatus:
        assert (status.is_suspended, status.is_terminal) == (
            status in SUSPENDED,
            status in TERMINAL,
        )


def test_a_cancelling_attempt_can_only_become_cancelled() -> None:
    ways = {
        str(after)
        for (status, _), after in TABLES[Machine.ATTEMPT].items()
        if status == AttemptStatus.CANCELLING
    }
    assert ways == {"CANCELLING", "CANCELLED"}
    for status in SUSPENDED:
        assert apply(Machine.ATTEMPT, status, "resumed") == "RUNNING"
        assert apply(Machine.ATTEMPT, status, "cancel_requested") == "CANCELLING"


@pytest.mark.shows(9)
def test_verified_is_reached_through_verification_alone() -> None:
    ways = [
        (str(status), event)
        for (status, event), after in TABLES[Machine.ATTEMPT].items()
        if after == AttemptStatus.CANDIDATE_VERIFIED
    ]
    assert ways == [("VERIFYING", "verified")]
    done = [str(s) for (s, _), after in TABLES[Machine.TASK].items() if after == "COMPLETED"]
    assert done == ["VERIFIED"]


@pytest.mark.shows(52)
@each_machine
def test_whatever_order_events_come_in_no_other_change_happens(machine: Machine) -> None:
    dice = random.Random(7)
    vocabulary = sorted(words(machine))
    for _ in range(200):
        status = FIRST[machine]
        for word in dice.choices(vocabulary, k=30):
            try:
                after = str(apply(machine, status, word))
            except ConflictError:
                continue
            assert (status, word, after) in {
                (str(s), e, str(a)) for (s, e), a in TABLES[machine].items()
            }
            status = after
