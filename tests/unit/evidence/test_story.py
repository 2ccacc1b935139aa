"""A trace told to people: every event has words, and nothing in it can steer a terminal."""

from pathlib import Path
from typing import Any, get_args

import forged
import pytest

from checkrein.contracts.event import Event, Payload
from checkrein.graph.story import _BOOKS, _TELLERS, plain, story  # pyright: ignore[reportPrivateUsage]


def told(events: list[Event]) -> str:
    """The whole story as one text."""
    return "\n".join(story(events))


def test_an_approved_write_is_told_in_order(original: Path) -> None:
    """Protects: people can follow who asked, who said yes, what was done, and what proves it."""
    lines = story(forged.read_events(original))
    wanted = [
        "alice     asks: change a.txt",
        "model     proposes workspace.write_file on file:a.txt",
        "policy    wants a person to approve it: write_asked",
        "harness   saves a checkpoint",
        "harness   offers the request to people",
        "harness   waits as WAITING_FOR_APPROVAL",
        "bob       approves as approver (name asserted, not authenticated): it is right",
        "harness   goes on (resume)",
        "harness   the approval still fits",
        "ledger    EXECUTING is durable",
        "ledger    receipt:",
        "model     claims to be done: It is done.",
        "verifier  PASS: PASS true",
        "harness   ends as CANDIDATE_VERIFIED",
    ]
    places = iter(lines)
    assert all(any(text in line for line in places) for text in wanted), lines
    assert "died" not in told(forged.read_events(original))


def test_a_death_shows_as_a_gap(original: Path) -> None:
    """Protects: a kill leaves no event, so the story has to say what the silence was."""

    def recovered(trace: list[dict[str, Any]]) -> list[dict[str, Any]]:
        sent = next(n for n, p in enumerate(trace) if p["type"] == "effect_executing")
        receipt = next(p for p in trace if p["type"] == "effect_committed")
        outcome = receipt["outcome"]
        ids = {name: receipt[name] for name in ("effect_id", "action_id")}
        found = {"v": 1, "type": "effect_reconciled", "outcome": outcome, "source": "reconciled"}
        return [
            *trace[: sent + 1],
            {"v": 1, "type": "run_resumed", "how": "recover", "fence": 3},
            found | ids,
            {"v": 1, "type": "action_deduplicated"} | ids,
            *(p for p in trace[sent + 1 :] if p is not receipt),
        ]

    lines = story(forged.changed(forged.read_events(original), recovered))
    gap = next(n for n, line in enumerate(lines) if "the process died here" in line)
    assert "EXECUTING" in lines[gap - 1]
    assert "goes on (recover)" in lines[gap + 1]
    assert "recorded as COMMITTED" in lines[gap + 2]
    assert "action_deduplicated" in lines[gap + 3]


def test_every_event_type_has_words() -> None:
    """Protects: a new event type cannot make the story fall over."""
    kinds = set(get_args(get_args(Payload)[0]))
    assert kinds == {*_TELLERS, *_BOOKS}


HOSTILE = "a\x1b[2J\x1b]0;x\x07b\r\nc\u202egnp.exe\u200b\x00\ud800\u2028d"


def test_text_of_others_cannot_steer_a_terminal(original: Path) -> None:
    """Protects: what a model or a person wrote is shown, never obeyed, and stays on its line."""
    shown = plain(HOSTILE)
    assert shown.isprintable()
    assert "\\u001b[2J" in shown
    assert "\\u202e" in shown

    def hostile(trace: list[dict[str, Any]]) -> list[dict[str, Any]]:
        words = HOSTILE.replace("\ud800", "").replace("\x00", "")
        for payload in trace:
            for name in ("summary", "reason", "detail"):
                if name in payload:
                    payload[name] = words
            if "contract" in payload:
                payload["contract"]["goal"] = words
        return trace

    lines = story(forged.changed(forged.read_events(original), hostile))
    assert all(line.isprintable() for line in lines)
    assert sum("gnp.exe" in line for line in lines) >= 4


@pytest.mark.parametrize("text", ["", "x" * 10_000, "￥ 12.5", "\x00" * 500])
def test_foreign_text_is_bounded(text: str) -> None:
    """Protects: one event is one line of bounded width."""
    assert len(plain(text, 40)) <= 40


def test_a_trace_that_cannot_be_read_is_still_told(original: Path) -> None:
    """Protects: an event of a newer version is named, and hides none of the others."""
    events = forged.read_events(original)
    odd = events[7].model_copy(update={"payload": '{"type":"action_dreamt"}'})
    lines = story([*events[:7], odd, *events[8:]])
    assert "cannot be read" in lines[-1]
    assert any("ends as CANDIDATE_VERIFIED" in line for line in lines)
    assert story([]) == ["(there is nothing to tell)"]
