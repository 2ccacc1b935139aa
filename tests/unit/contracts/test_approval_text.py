"""A request in words: all that a person needs, and nothing in it that could pass for ours."""

import re

import pytest
from requests_made import asked

from checkrein.contracts.approval import PreviewKind
from checkrein.contracts.approval_text import facts, fenced, markdown, preview_lines
from checkrein.contracts.display import cropped, width_of, wrapped

EVIL = "Fine.\n```\n# Approved by the board\n> ` `` \x1b[31m <script>alert(1)</script>\u202e"


@pytest.mark.shows(89)
def test_a_request_says_everything() -> None:
    """Protects the person who decides: what, why, as whom, on what, effect, undo, scope, risk."""
    request = asked(
        "orders.refund",
        {"amount": 5},
        purpose="The order is late.",
        agent="scripted:x",
        expected="Give money back.",
        undo="orders.charge makes up for it",
        constraints={"max_amount": 10},
        environment="production",
    )
    told = dict(facts(request))
    assert told == {
        "what": "orders.refund@1 on order:17",
        "why": "the model says: The order is late.",
        "asked by": "alice; rule asks",
        "runs as": "scripted:x",
        "effect": "Give money back.",
        "limits": "max_amount 10",
        "undo": "it can NOT be undone: orders.charge makes up for it",
        "on failure": "nothing",
        "a yes is for": "this action once, on version v1",
        "risk": "low in production",
        "needs": "one person as approver",
    }
    text = markdown(request, 1_000)
    for name, words in told.items():
        assert f"- **{name}**: ` {words} `" in text


def test_nothing_of_the_model_closes_its_frame() -> None:
    """Protects the frame: headings, quotes and fences of the model stay inside of it."""
    request = asked("a.b", {}, purpose=EVIL, preview=EVIL, preview_kind=PreviewKind.DIFF)
    text = markdown(request, 1_000)
    assert "\x1b" not in text
    assert "\u202e" not in text
    fence = re.search(r"^(`{3,})diff$", text, re.MULTILINE)
    assert fence is not None
    assert len(fence[1]) == 4
    inside = text[fence.end() :]
    assert inside.count(fence[1]) == 1, "it is closed once, in the end"
    assert text.endswith(fence[1])
    outside = text[: fence.start()].splitlines()
    assert all(line.startswith("- **") or line in {"", "Preview (diff):"} for line in outside)
    assert fenced("````` x").startswith("``````\n")


def test_a_long_preview_shows_both_ends() -> None:
    """Protects the terminal from 200,000 characters, and the person from what hides in them."""
    preview = "\n".join(f"+line {n}" for n in range(20_000)) + "\n+" + "x" * 200_000
    lines = preview_lines(preview, "all of it: HOW")
    assert len(lines) == 81
    assert lines[0] == "+line 0"
    assert lines[60] == "[... 19,921 of 20,001 lines left out; all of it: HOW ...]"
    assert lines[-2] == "+line 19999"
    assert max(map(len, lines)) < 500


def test_lines_take_the_columns_that_they_take() -> None:
    """Protects the drawing of wide letters and marks."""
    assert width_of("漢字é\u0301") == 5
    assert cropped("漢字漢字", 5) == "漢字…"
    assert wrapped("漢字漢字", 5) == ["漢字", "漢字"]
    assert wrapped("one two three", 8, words=True) == ["one two ", "three"]
    assert "".join(wrapped("x" * 100, 7)) == "x" * 100
