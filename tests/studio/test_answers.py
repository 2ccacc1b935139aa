"""What programs send as an answer, in each of the forms that they send."""

from typing import Any

import pytest
from requests_made import asked

from checkrein.contracts.approval import MAX_SAID, Answer, Said
from checkrein.errors import ConflictError, InputError
from checkrein.studio_answers import addressed, decision, text

ID = "0123456789abcdef0123456789abcdef"
OTHER = "f" * 32
NAME = "orders.refund@1"
YES = Said(answer=Answer.APPROVE)
SHOWN = {"order": "17", "amount": 5, "why": "late"}
ASKED = asked(
    "orders.refund",
    SHOWN,
    {
        "type": "object",
        "properties": {
            "order": {"type": "string"},
            "amount": {"type": "integer"},
            "why": {"type": "string"},
            "lines": {"type": "array"},
        },
        "required": ["order", "amount"],
        "additionalProperties": False,
    },
)
EDITED = {"order": "17", "amount": 4, "why": "late"}
EDIT = Said(answer=Answer.EDIT, args=EDITED)


def no(why: str = "") -> Said:
    return Said(answer=Answer.REJECT, reason=why)


@pytest.mark.parametrize(
    ("value", "spoken"),
    [
        ({"decisions": [{"type": "approve"}]}, YES),
        ([{"type": "accept", "args": None}], YES),
        ({"type": "approve"}, YES),
        (
            [{"type": "accept", "args": {"action": NAME, "args": {**SHOWN, "amount": "5"}}}],
            YES,
        ),
        ({"type": "approve", "message": "Fine.", "approver": "carol"}, YES),
        ({"decisions": [{"type": "reject", "message": "Why?"}]}, no("Why?")),
        ({"type": "reject"}, no()),
        ([{"type": "ignore", "args": None}], no()),
        ([{"type": "response", "args": "Not so."}], no("Not so.")),
        (
            {"decisions": [{"type": "edit", "edited_action": {"name": NAME, "args": EDITED}}]},
            EDIT,
        ),
        (
            [{"type": "edit", "args": {"action": NAME, "args": {**EDITED, "amount": "4"}}}],
            EDIT,
        ),
        (
            {"type": "edit", "edited_action": {"name": "orders_refund", "args": EDITED}},
            EDIT,
        ),
        (
            {"type": "respond", "message": "It was refunded."},
            Said(answer=Answer.RESPOND, reason="It was refunded."),
        ),
    ],
)
def test_every_program_is_understood(value: Any, spoken: Said) -> None:
    """Protects LangChain's form, Agent Inbox's and a bare decision."""
    assert decision(value, ASKED) == spoken


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        "approve",
        "yes",
        [],
        {},
        [{"type": "approve"}, {"type": "approve"}],
        {"decisions": []},
        {"decisions": {"type": "approve"}, "type": "approve", "x": 1} | {"decisions": 7},
        {"type": "edit", "edited_action": {"name": "x", "args": {}}},
        {"type": "edit", "edited_action": {"name": "orders.delete", "args": {}}},
        {"type": "edit", "edited_action": {"name": NAME}},
        {"type": "edit", "edited_action": {"name": NAME, "args": "all"}},
        {"type": "edit"},
        # A yes to something else than what was shown.
        {"type": "approve", "edited_action": {"name": NAME, "args": {**SHOWN, "amount": 4}}},
        [{"type": "accept", "args": {"action": NAME, "args": {"order": "17"}}}],
        [{"type": "accept", "args": {"action": "orders.delete", "args": SHOWN}}],
        {"type": "respond"},
        {"type": "respond", "message": "  "},
        {"type": "APPROVE"},
        {"type": ["approve"]},
        {"approve": True},
        {"type": "reject", "message": {"nested": 1}},
        {"type": "reject", "message": "x" * (MAX_SAID + 1)},
    ],
)
def test_anything_else_is_no_answer(value: Any) -> None:
    """Protects that nothing but a plain yes is a yes."""
    with pytest.raises(InputError, match="approve"):
        decision(value, ASKED)


def test_answer_is_matched_by_interrupt_id() -> None:
    """Protects that an answer to what was shown before is not one to what is shown now."""
    yes = {"type": "approve"}
    assert addressed({ID: yes}, ID) == yes
    assert addressed(yes, ID) == yes
    assert addressed("a text", ID) == "a text"
    assert addressed({}, ID) == {}
    with pytest.raises(ConflictError, match=f"{ID} is"):
        addressed({OTHER: yes}, ID)
    with pytest.raises(InputError, match="one interrupt at a time"):
        addressed({ID: yes, OTHER: yes}, ID)


def test_text_is_taken_plain_or_named() -> None:
    """Protects answers to a question of the model."""
    assert text("Blue.") == "Blue."
    assert text({"answer": "Blue."}) == "Blue."
    for value in ("", "  ", None, 7, {"text": "Blue."}, ["Blue."], {"answer": ""}):
        with pytest.raises(InputError, match="answered by a text"):
            text(value)
