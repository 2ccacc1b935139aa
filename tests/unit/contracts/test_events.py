"""Events: a closed union whose old members stay readable, and a chain that shows every change."""

import json
from typing import Any, cast

import pytest
from filled import filled
from golden_events import golden_history, golden_payloads, payload_types
from pydantic import ValidationError

from checkrein.contracts import event as events
from checkrein.contracts.codec import to_text
from checkrein.contracts.event import (
    GENESIS,
    PAYLOADS,
    Event,
    PauseRequested,
    Payload,
    chain_hash,
    check_chain,
)

TYPES = payload_types()
each_type = pytest.mark.parametrize("kind", sorted(TYPES))

LEAST = {
    "task_created",
    "attempt_started",
    "context_compiled",
    "model_requested",
    "model_responded",
    "action_proposed",
    "policy_decided",
    "approval_prepared",
    "checkpoint_saved",
    "approval_requested",
    "suspended",
    "approval_decided",
    "run_resumed",
    "approval_granted",
    "approval_stale",
    "intent_bound",
    "effect_executing",
    "effect_committed",
    "effect_refused",
    "effect_unknown",
    "effect_reconciled",
    "effect_denied",
    "action_deduplicated",
    "observation",
    "retry_scheduled",
    "budget_reserved",
    "budget_settled",
    "budget_exhausted",
    "candidate_sealed",
    "verification_started",
    "verification_finished",
    "cancel_requested",
    "cancelled",
    "attempt_ended",
}


def test_the_least_set_is_there() -> None:
    assert TYPES.keys() >= LEAST


def test_types_are_unlike_and_exported() -> None:
    names = [kind.__name__ for kind in TYPES.values()]
    assert len(set(names)) == len(TYPES)
    assert set(names) <= set(events.__all__)


@pytest.mark.shows(18)
@each_type
def test_a_payload_is_read_back_as_what_it_was(kind: str) -> None:
    made = filled(TYPES[kind])
    again = PAYLOADS.validate_json(to_text(made))
    assert type(again) is TYPES[kind]
    assert again == made
    assert again.type == kind


@pytest.mark.shows(18)
@each_type
def test_a_payload_with_another_field_version_or_type_is_refused(kind: str) -> None:
    stored: dict[str, Any] = json.loads(to_text(filled(TYPES[kind])))
    for wrong in ({"surprise": 1}, {"v": 2}, {"v": "1"}, {"type": "prophecy"}, {"type": None}):
        with pytest.raises(ValidationError):
            PAYLOADS.validate_json(json.dumps(stored | wrong))


@pytest.mark.shows(18)
@pytest.mark.parametrize("text", ["{}", "[]", "null", "", '{"v":1}', '{"type":"suspended"}', "{"])
def test_what_is_no_payload_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        PAYLOADS.validate_json(text)


# --- the corpus ----------------------------------------------------------------------------------


@pytest.mark.shows(238)
@each_type
def test_events_of_earlier_versions_stay_readable(kind: str) -> None:
    """The files are never rewritten; what this version reads of them is all that is in them."""
    golden = golden_payloads()
    assert kind in golden, "run tests/support/golden_events.py"
    read = PAYLOADS.validate_json(golden[kind])
    assert read.type == kind
    known = json.loads(to_text(read))
    stored = json.loads(golden[kind])
    assert contained(stored, known) == []


def contained(stored: Any, known: Any, where: str = "") -> list[str]:
    """What stands in the stored JSON and was lost or changed in reading."""
    if isinstance(stored, list) and isinstance(known, list):
        a = dict(enumerate(cast(list[object], stored)))
        b = dict(enumerate(cast(list[object], known)))
        return [where] if a.keys() != b.keys() else contained(a, b, where)
    if isinstance(stored, dict) and isinstance(known, dict):
        fields, read = cast(dict[str, Any], stored), cast(dict[str, Any], known)
        return [
            lost
            for key, value in fields.items()
            for lost in contained(value, read.get(key), f"{where}/{key}")
        ]
    return [] if stored == known else [where]


def test_no_event_type_has_ever_gone() -> None:
    assert golden_payloads().keys() <= TYPES.keys()


@pytest.mark.shows(238)
def test_a_trace_of_an_earlier_version_is_whole_and_readable() -> None:
    history = golden_history()
    assert len(history) > 20
    assert check_chain(history, len(history), history[-1].hash) == []
    assert [event.read().type for event in history] == [event.type for event in history]
    assert all(event.time.utcoffset() is not None for event in history)


# --- the chain -----------------------------------------------------------------------------------


def chained(payloads: list[Payload]) -> list[Event]:
    """Events as the database makes them."""
    found: list[Event] = []
    previous = GENESIS
    for seq, payload in enumerate(payloads, start=1):
        bare = Event(
            attempt_id="a",
            seq=seq,
            event_id=f"a/{seq}",
            cause_id=f"a/{seq - 1}" if seq > 1 else None,
            type=payload.type,
            at="2026-01-02T03:04:05.678901+00:00",
            payload=to_text(payload),
            prev_hash=previous,
            hash="",
        )
        found.append(bare.model_copy(update={"hash": chain_hash(bare)}))
        previous = found[-1].hash
    return found


FIVE = chained([PauseRequested(by=name) for name in "abcde"])
HEAD = FIVE[-1].hash


def test_a_whole_chain_has_no_fault() -> None:
    assert check_chain(FIVE, 5, HEAD) == []
    assert check_chain([], 0, GENESIS) == []


@pytest.mark.shows(225)
@pytest.mark.parametrize("field", [name for name in Event.model_fields if name != "seq"])
def test_an_edit_of_any_field_is_found(field: str) -> None:
    for place, event in enumerate(FIVE):
        value = (getattr(event, field) or "") + "x"
        edited = [*FIVE]
        edited[place] = event.model_copy(update={field: value})
        assert place + 1 in {fault.seq for fault in check_chain(edited, 5, HEAD)}


@pytest.mark.shows(225)
def test_a_gap_a_swap_a_double_and_a_cut_are_found() -> None:
    one, two, three, four, five = FIVE
    for wrong in (
        [one, two, four, five],
        [two, three, four, five],
        [one, three, two, four, five],
        [one, two, two, three, four],
        [one, two, three, four],
        [],
        [one, two, three, four, five, five],
    ):
        assert check_chain(wrong, 5, HEAD) != []
    assert check_chain(FIVE, 4, HEAD) != []
    assert check_chain(FIVE, 5, GENESIS) != []


def test_a_chain_that_was_forged_from_the_middle_on_is_found_by_its_head() -> None:
    forged = chained([PauseRequested(by=name) for name in "abXde"])
    faults = check_chain(forged, 5, HEAD)
    assert [fault.seq for fault in faults] == [5]
    assert "head" in faults[0].problem


def test_no_two_events_hash_alike_by_shifting_text_between_fields() -> None:
    event = FIVE[1]
    shifted = event.model_copy(update={"at": event.at[:-1], "type": event.type + event.at[-1]})
    assert chain_hash(shifted) != chain_hash(event)
