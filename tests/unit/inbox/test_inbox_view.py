"""The inbox without a terminal: keys to states, states to lines."""

from dataclasses import replace

import pytest
from requests_made import asked

from checkrein.contracts.approval import Answer
from checkrein.contracts.display import width_of
from checkrein.entrypoints.cli.inbox_state import QUIT, Item, View, Wish, pressed, seen
from checkrein.entrypoints.cli.inbox_terminal import KeyReader
from checkrein.entrypoints.cli.inbox_view import screen, scrolled

EVIL = "\x1b[2J\u202e漢字 " * 200


def items(count: int, **fields: str) -> tuple[Item, ...]:
    """Requests apr_1 and so on."""
    return tuple(
        Item(asked("orders.refund", {}, None, approval_id=f"apr_{n}", **fields), ("bob",))
        for n in range(1, count + 1)
    )


def view(count: int = 3) -> View:
    """An inbox that has read the list."""
    return seen(View(by="bob"), items(count))


def typed(given: View, keys: list[str]) -> tuple[View, list[Wish]]:
    """What keys come to, one after another."""
    wishes: list[Wish] = []
    for key in keys:
        given, wish = pressed(given, key)
        wishes += [wish] if wish is not None else []
    return given, wishes


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 60), (10, 4), (1, 1)])
@pytest.mark.parametrize("count", [0, 1, 3, 50])
@pytest.mark.parametrize("keys", [[], ["enter"], ["a"], ["r", *"漢" * 300], ["enter", "end"]])
def test_every_screen_fits(size: tuple[int, int], count: int, keys: list[str]) -> None:
    """Protects the terminal: exactly its lines, at most its columns, and nothing that steers it."""
    width, height = size
    found = items(count, preview=EVIL, purpose=EVIL, resource=EVIL[:900])
    now = replace(seen(View(by="bob"), found), message=EVIL)
    lines = screen(typed(now, keys)[0], width, height)
    assert len(lines) == height
    assert all(width_of(line.text) <= max(width, 1) for line in lines)
    assert all(line.text.isprintable() for line in lines)


def test_before_the_first_reading() -> None:
    """Protects from an empty list that only means that nothing was read yet."""
    assert "reading" in screen(View(by="bob"), 80, 24)[0].text
    assert "nothing waits" in screen(view(0), 80, 24)[0].text


def test_a_yes_is_confirmed_by_name() -> None:
    """Protects from a slip: one key alone approves nothing."""
    assert typed(view(), ["a", "n"])[1] == []
    assert typed(view(), ["a", "enter"])[1] == []
    now, wishes = typed(view(), ["down", "a", "y"])
    assert wishes == [Wish(Answer.APPROVE, "apr_2")]
    assert now.typing is None


def test_a_reason_is_written_in_a_line() -> None:
    """Protects the reason: letters that are commands elsewhere are letters here."""
    now, wishes = typed(view(), ["r", *"qax", "backspace", "enter"])
    assert wishes == [Wish(Answer.REJECT, "apr_1", "qa")]
    assert typed(view(), ["r", "enter"])[1] == []
    assert typed(view(), ["o", "x", "escape"])[1] == []
    assert typed(view(), ["o", *"done", "enter"])[1] == [Wish(Answer.RESPOND, "apr_1", "done")]
    assert now.message == ""


def test_keys_choose_and_open() -> None:
    """Protects the keys that the last line names."""
    assert typed(view(), ["j", "j", "j", "k"])[0].chosen == "apr_2"
    assert typed(view(), ["3"])[0].chosen == "apr_3"
    assert typed(view(), ["9", "0"])[0].chosen == "apr_1"
    assert typed(view(), ["p"])[0].whole
    assert not typed(view(), ["enter", "q"])[0].whole
    assert typed(view(), ["q"])[1] == [QUIT]
    assert typed(view(), ["e"])[1] == [Wish(Answer.EDIT, "apr_1")]
    assert typed(view(0), ["a", "e", "r", "enter"]) == (view(0), [])


def test_what_somebody_else_answered_takes_no_key() -> None:
    """Protects from answering the next request by a key that was meant for the last one."""
    now, _ = typed(view(), ["down", "a"])
    later = seen(now, items(3)[:1] + items(3)[2:])
    assert (later.typing, later.whole, later.chosen) == (None, False, "apr_3")
    assert "apr_2 is not open any more" in later.message
    assert typed(later, ["y"])[1] == []


def test_what_was_answered_here_is_no_news() -> None:
    """Protects the message that says what came of an answer."""
    now = replace(typed(view(), ["enter"])[0], answered=frozenset({"apr_1"}), message="GRANTED")
    assert seen(now, items(3)[1:]).message == "GRANTED"


def test_scrolling_stops_at_both_ends() -> None:
    """Protects from scrolling into nothing."""
    found = items(1, preview="\n".join(f"line {n}" for n in range(500)))
    now, _ = typed(seen(View(by="bob"), found), ["enter", "G"])
    now = replace(now, scroll=scrolled(now, 80, 24))
    text = [line.text for line in screen(now, 80, 24)]
    assert "  line 499" in text
    now, _ = typed(now, ["g", "up"])
    assert scrolled(now, 80, 24) == 0


def test_bytes_become_keys() -> None:
    """Protects letters and arrows that come in pieces; sequences that are not known are dropped."""
    reader = KeyReader()
    assert reader.fed(b"\x1b[A\x1b[Bj\r\x7f\x1b[5~\x1b[200~x") == [
        *("up", "down", "j", "enter", "backspace", "pageup", "x"),
    ]
    assert reader.fed("é".encode()[:1]) == []
    assert reader.fed("é".encode()[1:]) == ["é"]
    assert reader.fed(b"\x1b") == []
    assert reader.holds
    assert reader.fed(b"[A") == ["up"]
    assert reader.fed(b"\x1b") == []
    assert reader.released() == ["escape"]
    assert reader.released() == []
