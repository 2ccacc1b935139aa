"""The message itself: what it says, whom it names, and that nothing in it can lie or overflow."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from told import NASTY, message

from checkrein.contracts.codec import to_ascii
from checkrein.contracts.message import MAX_TEXT

DECIDED = {"answer": "approve", "by": "bob", "authenticated": False, "reason": "I looked"}


def test_it_says_what_is_asked_of_whom_and_how_to_answer() -> None:
    """Protects: whoever gets it can decide and act, without looking anywhere else first."""
    told = message(request={"purpose": "the customer is right"})
    assert told.title == "Approval wanted: orders.refund@1 on order:17"
    assert (told.status, told.roles) == ("PENDING", ["approver"])
    assert told.may_answer == ["bob", "carol"], "alice asked for it"
    assert told.how_to_answer[0] == "checkrein approve apr_1 --as WHO"
    assert "why: the model says: the customer is right" in told.text
    assert "until: 2031-01-02 03:04 UTC" in told.text
    assert "may answer: bob, carol" in told.text
    assert told.request["preview"] == "refund"


def test_whoever_it_was_passed_on_to_may_answer_too() -> None:
    """Protects an escalation: the next role is told, and named."""
    steps = [{"after_s": 60, "role": "lead"}]
    told = message(kind="approval_escalated", request={"escalation": steps, "escalated": 1})
    assert (told.roles, told.may_answer) == (["approver", "lead"], ["bob", "carol", "dora"])


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("approval_decided", "GRANTED"),
        ("approval_decided", "REJECTED"),
        ("approval_expired", "EXPIRED"),
        ("approval_stale", "STALE"),
        ("approval_revoked", "REVOKED"),
    ],
)
def test_what_is_over_invites_nobody(kind: str, status: str) -> None:
    """Protects people from answering what is closed; receivers can close their message."""
    said = DECIDED if kind == "approval_decided" else None
    told = message(kind=kind, answered=said, request={"status": status})
    assert (told.status, told.may_answer, told.how_to_answer) == (status, [], [])
    assert "To answer" not in told.text
    assert (told.answered is not None) == (kind == "approval_decided")


def test_one_yes_of_two_keeps_it_open() -> None:
    """Protects a quorum: the message of the first yes still asks for the second."""
    told = message(kind="approval_decided", answered=DECIDED, request={"status": "PENDING"})
    assert told.how_to_answer and told.answered is not None
    assert "bob (name asserted, not proven) said approve: I looked" in told.text


def texts(value: Any) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, dict):
        return [text for item in cast("dict[str, Any]", value).values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in cast("Sequence[Any]", value) for text in texts(item)]
    return [value] if isinstance(value, str) else []


def test_no_text_steers_hides_or_overflows() -> None:
    """Protects every receiver, whatever the model wrote: all is shown, in bounds, as data."""
    long = NASTY + "\n" + "x" * 1_000_000
    fields = {"purpose": long, "resource": NASTY, "on_failure": long, "warnings": [long] * 50}
    said = DECIDED | {"reason": long}
    told = message(
        kind="approval_decided",
        answered=said,
        request=fields | {"preview": "p\n" * 500_000, "args": {"x": long}},
    )
    written = to_ascii(told)
    assert len(written) < 60_000
    assert written.isascii() and written.isprintable()
    allowed = {"\n", "\t"}
    for text in texts(json.loads(written)):
        assert all(c.isprintable() or c in allowed for c in text), text[:80]
    assert len(told.text) <= MAX_TEXT
    assert "\n" not in told.title


def test_the_same_claim_makes_the_same_message() -> None:
    """Protects de-duplication: a second try says word for word what the first one said."""
    elsewhere = {"expires_at": "2031-01-02T05:04:05+02:00"}
    again = message(tries=9, at="2031-01-01T02:00:00+02:00", request=elsewhere)
    assert to_ascii(message()) == to_ascii(again)


def test_arguments_are_not_sent() -> None:
    """Protects what stands in arguments and not in the preview from leaving the house."""
    assert "hush-hush" not in to_ascii(message(request={"args": {"note": "hush-hush"}}))


def test_what_cannot_be_read_says_so() -> None:
    """Protects the others: a row of another version is an error of its own."""
    with pytest.raises(ValueError, match="purpose"):
        message(request={"purpose": 7})
    with pytest.raises(ValueError, match="approval_praised"):
        message(kind="approval_praised")
