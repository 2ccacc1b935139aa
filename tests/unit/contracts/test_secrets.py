"""What looks like a credential is found by its field's name or by its form, and masked whole."""

import json
from typing import Any

import pytest

from checkrein.contracts.secrets import MASK, masked, secret_hits

# Built from parts, so that no scanner takes a test for a leak.
FOUND: list[Any] = [
    {"password": "hunter2"},
    {"db": {"apiKey": "abc"}},
    {"headers": [{"Authorization": "x"}]},
    {"note": "use " + "AKIA" + "ABCDEFGHIJKLMNOP"},
    {"note": "-----BEGIN RSA " + "PRIVATE KEY-----\nMII"},
    {"url": "https://user:pa55@host.example/"},
    {"t": "ghp_" + "a" * 36},
    {"t": "Bearer " + "abcdefghijklmnop"},
    {"card": {"cvv": 123}},
]
QUIET: list[Any] = [
    {},
    {"path": "src/token.py", "content": "tokens are counted"},
    {"password": ""},
    {"passenger": "Ann", "pinned": "yes", "secretary": "Bob"},
    {"amount": 12, "ok": True, "list": [1, None]},
]


@pytest.mark.parametrize("value", FOUND, ids=range(len(FOUND)))
def test_the_usual_ones_are_found_and_masked(value: Any) -> None:
    """Protects logs: nothing of the credential is left, and the place is told."""
    assert secret_hits(value) == 1
    clean, places = masked(value)
    assert len(places) == 1
    assert MASK in json.dumps(clean)
    assert secret_hits(clean) in {0, 1}  # a masked field keeps its name
    for part in ("hunter2", "abc", "MII", "pa55", "aaaa", "ABCDEFGHIJKLMNOP"):
        assert part not in json.dumps(clean)


@pytest.mark.parametrize("value", QUIET, ids=range(len(QUIET)))
def test_ordinary_texts_are_left_alone(value: Any) -> None:
    """Protects authors from rules that fire on everything."""
    assert secret_hits(value) == 0
    assert masked(value) == (value, [])


def test_places_are_json_pointers() -> None:
    """Protects readers of a log: a place can be looked up by any tool."""
    _, places = masked({"a/b": {"c~d": ["x", {"token": "t"}]}})
    assert places == ["/a~1b/c~0d/1/token"]
