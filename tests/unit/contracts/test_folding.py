"""Arguments in bounds and without secrets, and the way back from an edit."""

import json
from typing import Any

import pytest

from checkrein.contracts.folding import WHOLE, folded, folded_line, folded_text, unfolded
from checkrein.contracts.secrets import MASK, masked_text, secret_texts
from checkrein.errors import InputError

LONG = "begin " + "x" * 1_000_000 + " end"
ARGS: dict[str, Any] = {
    "path": "a.txt",
    "content": LONG,
    "hidden": "a\x1b[2J\u202eb",
    "token": "abc-123",
    "many": [{"text": "y" * 5_000}, 7],
}


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def test_what_is_shown_is_in_bounds_and_safe() -> None:
    """Protects programs and people: size and digest are told, nothing steers, no secret is seen."""
    shown = folded(ARGS)
    assert size(shown) < WHOLE
    assert shown["path"] == "a.txt"
    assert shown["content"].startswith("begin ")
    assert " end [folded: 1,000,010 characters, sha256:" in shown["content"]
    assert shown["hidden"].startswith("a\\u001b[2J\\u202eb [folded: 7 characters")
    assert shown["token"] == MASK
    assert "5,000 characters" in shown["many"][0]["text"]


def test_editing_another_field_leaves_the_rest_whole() -> None:
    """Protects long and secret values from an editor that was only shown their folded form."""
    assert unfolded({**folded(ARGS), "path": "b.txt"}, ARGS) == {**ARGS, "path": "b.txt"}
    assert unfolded(folded(ARGS, whole=600), ARGS) == ARGS
    assert unfolded(ARGS, ARGS) == ARGS


@pytest.mark.parametrize(
    "args",
    [
        {f"k{n}": "z" * 100 for n in range(5_000)},
        {"list": ["z" * 50 for _ in range(5_000)], "p": "1"},
        {"a\u200bb": "x", "n": {"c\x1b": 1}},
        {"n": {"c\x1b": 1}, "z" * 300: 2},
        {"deep": [[[["é" * 60_000]]]]},
        {"x\u200b": [{"b\x1b": 1, "pin": "1234"}, {"b\x1b": 1, "pin": "5678"}]},
        {"l": [{"b\x1b": 1, "pin": "1234"}, {"b\x1b": 1, "pin": "5678"}]},
        {},
    ],
)
def test_any_shape_fits_and_comes_back(args: dict[str, Any]) -> None:
    """Protects the bound against many values, many names and names that hide something."""
    shown = folded(args, whole=8_192)
    assert size(shown) <= 8_192
    assert unfolded(shown, args) == args


def test_a_changed_folded_text_is_refused() -> None:
    """Protects from storing our own marks as content: nobody can say what was meant."""
    shown = folded(ARGS)
    for text in ("More. " + shown["content"], shown["content"] + " more"):
        with pytest.raises(InputError, match="content was shown folded"):
            unfolded({**shown, "content": text}, ARGS)


def test_masks_and_marks_count_only_where_they_were_shown() -> None:
    """Protects from a mark that the model wrote, and from a secret moved to another field."""
    moved = unfolded({"path": MASK, "token": MASK}, ARGS)
    assert moved == {"path": MASK, "token": "abc-123"}
    mark = folded({"a": LONG})["a"]
    lying = {"a": LONG, "b": mark}
    assert unfolded({**folded(lying)}, lying) == lying
    assert unfolded({"b": mark}, {"b": "other"}) == {"b": mark}


def test_both_ends_of_a_text_are_shown() -> None:
    """Protects from hiding something behind sheer length."""
    text = folded_text(LONG, 400)
    assert text.startswith("begin ")
    assert text.endswith(" end")
    assert "999,610 of 1,000,010 characters left out; all: sha256:" in text
    line = folded_line(LONG, 400)
    assert (line[:6], line[-4:]) == ("begin ", " end")
    assert "999,610 characters left out" in line
    assert folded_text("short", 5) == folded_line("short", 5) == "short"


def test_credentials_in_a_text_are_masked() -> None:
    """Protects previews: what has the form of a credential is not shown."""
    key = "-----BEGIN PRIVATE KEY-----\n+MIIabc\n-----END PRIVATE KEY-----"
    assert masked_text(f"+{key}\n+x") == f"+{MASK}\n+x"
    assert masked_text("+use ghp_" + "a" * 30) == f"+use {MASK}"
    assert masked_text("GET https://bob:secret@host/") == f"GET https{MASK}host/"


def test_credentials_are_found_again_elsewhere() -> None:
    """Protects a preview in whose words an author repeats a secret argument."""
    args = {"a/b": [{"token": "abcdef"}, {"password": "longer-one"}], "pin": "12", "x": "abcdef1"}
    assert secret_texts(args) == ["longer-one", "abcdef"]
