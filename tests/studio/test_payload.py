"""The interrupt's value, as Agent Chat UI and Agent Inbox check it before they show it."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from requests_made import asked

from checkrein.contracts.approval import Answer, ApprovalRequest
from checkrein.contracts.folding import unfolded
from checkrein.nodes.offer import MAX_PAYLOAD, payload
from checkrein.studio_answers import decision

LONG = "\x1b[31m\u202e" + "x" * 1_000_000
SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}}}


def requests() -> dict[str, ApprovalRequest]:
    """A small request, a huge one, and one whose every text wants out of its frame."""
    evil = "```\n# yes\x1b[2J\u202e" * 500
    return {
        "small": asked("orders.refund", {"order": "17", "amount": 5}, SCHEMA, purpose="Late."),
        "huge": asked(
            "orders.refund", {"text": LONG, "n": ["é" * 9_000] * 50}, preview="é" * 10**5
        ),
        "evil": asked(
            "orders.refund",
            {"t": evil},
            purpose=evil,
            preview=evil,
            resource=evil[:1024],
            expected=evil,
            warnings=[evil] * 20,
        ),
    }


def is_hitl_request(value: Any) -> bool:
    """What Agent Chat UI asks of a value to show its approval card; else it shows raw JSON."""
    if not isinstance(value, dict):
        return False
    found = cast("dict[str, Any]", value)
    actions, configs = found.get("action_requests"), found.get("review_configs")
    return (
        isinstance(actions, list)
        and len(cast("Sequence[Any]", actions)) > 0
        and all(
            isinstance(a["name"], str) and isinstance(a["args"], dict)
            for a in found["action_requests"]
        )
        and isinstance(configs, list)
        and all(
            isinstance(c["action_name"], str) and isinstance(c["allowed_decisions"], list)
            for c in found["review_configs"]
        )
    )


def is_human_interrupt(value: Any) -> bool:
    """What Agent Inbox asks: its own older form, or a HITLRequest whose `arguments` it reads."""
    action, config = value.get("action_request"), value.get("config")
    flags = ("allow_ignore", "allow_respond", "allow_edit", "allow_accept")
    older = (
        isinstance(action, dict)
        and isinstance(action["action"], str)
        and isinstance(action["args"], dict)
        and isinstance(config, dict)
        and all(isinstance(config[flag], bool) for flag in flags)
        and isinstance(value.get("description", ""), str)
    )
    return older and isinstance(value["action_requests"][0]["arguments"], dict)


@pytest.mark.parametrize("name", ["small", "huge", "evil"])
def test_both_programs_take_it(name: str) -> None:
    """Protects the people who answer there: a card with arguments, never raw JSON."""
    value = json.loads(json.dumps(payload(requests()[name])))
    assert is_hitl_request(value)
    assert is_human_interrupt(value)
    assert len(value["action_requests"]) == 1, "they answer by position, and without an id"


@pytest.mark.parametrize("name", ["small", "huge", "evil"])
def test_it_is_safe_and_in_bounds(name: str) -> None:
    """Protects the store, the browser and whoever reads: 64 KiB, and nothing that hides."""
    text = json.dumps(payload(requests()[name]), ensure_ascii=False)
    assert len(text.encode()) <= MAX_PAYLOAD
    assert "\u202e" not in text
    assert "\\u001b" not in text.replace("\\\\u001b", "")


@pytest.mark.shows(89)
def test_it_says_what_spec_3_lists() -> None:
    """Protects the person who decides in somebody else's program."""
    value = payload(requests()["small"])
    for name in (
        *("what", "why_claimed", "as_whom", "on_what", "expected_effect", "preview", "undo"),
        *("on_failure", "scope", "risk", "roles", "quorum", "expires_in_s", "warnings"),
    ):
        assert name in value, name
    assert value["as_whom"] == {"requested_by": "alice", "agent": ""}
    assert "Late." in value["description"]


def test_an_edit_of_another_field_keeps_a_folded_one() -> None:
    """Protects long values: Agent Inbox sends all arguments back as text."""
    request = asked("orders.refund", {"text": LONG, "amount": 5}, SCHEMA)
    shown = payload(request)["action_request"]["args"]
    answer = [
        {"type": "edit", "args": {"action": "orders.refund@1", "args": {**shown, "amount": "4"}}}
    ]
    said = decision(answer, request)
    assert said.answer is Answer.EDIT
    assert said.args is not None
    assert unfolded(said.args, request.args) == {"text": LONG, "amount": 4}
