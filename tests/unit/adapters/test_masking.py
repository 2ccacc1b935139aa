"""Masking: no piece of a stream, however it is cut, lets a value pass."""

import base64
import json
import shlex
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from checkrein.adapters.masking import LEAST_PART, MaskedStream, Masking

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=8, max_size=40)
AROUND = st.binary(max_size=30)


def masking(**values: str) -> Masking:
    return Masking({name: SecretStr(value) for name, value in values.items()})


def streamed(mask: Masking, pieces: list[bytes]) -> list[bytes]:
    """What passes after each piece, and at the end."""
    passed: list[bytes] = []
    stream = MaskedStream(mask, passed.append)
    for piece in pieces:
        stream.add(piece)
    stream.close()
    return passed


@settings(deadline=None)
@given(VALUES, st.lists(AROUND, max_size=4), st.lists(st.integers(1, 9), min_size=1, max_size=200))
def test_no_cut_of_a_stream_lets_it_pass(value: str, around: list[bytes], cuts: list[int]) -> None:
    """Protects values that come in two reads, or one byte at a time."""
    raw = value.encode()
    data = raw.join([b"", *around, b""])
    pieces: list[bytes] = []
    at = 0
    for cut in cuts:
        pieces.append(data[at : at + cut])
        at += cut
    mask = masking(key=value)
    passed = b"".join(streamed(mask, [*pieces, data[at:]]))
    assert raw not in passed
    assert passed == mask.data(data) == b"".join(streamed(mask, [data]))


@settings(deadline=None)
@given(VALUES, AROUND, AROUND)
def test_its_usual_forms_are_known(value: str, before: bytes, after: bytes) -> None:
    """Protects values that a tool encoded, alone or within something longer."""
    raw = value.encode()
    mask = masking(key=value)
    forms = {
        "base64": base64.b64encode(raw),
        "urlsafe": base64.urlsafe_b64encode(raw),
        "hex": raw.hex().upper().encode(),
        "percent": quote(value, safe="").encode(),
        "json": json.dumps(value).encode()[1:-1],
        "repr": repr(value).encode()[1:-1],
        "shell": shlex.quote(value).encode(),
        "reversed": raw[::-1],
        "utf16": value.encode("utf-16-le"),
        "folded": b"\n".join(raw[i : i + 5] for i in range(0, len(raw), 5)),
        "crlf": b"\r\n".join(raw[i : i + 7] for i in range(0, len(raw), 7)),
    }
    for name, form in forms.items():
        assert form not in mask.data(before + b"|" + form + b"|" + after), name
    within = base64.b64encode(before + raw + after)
    core = base64.b64encode(b"\0" * (len(before) % 3) + raw)[4:-4]
    assert core in within
    assert core not in mask.data(within)


@given(AROUND)
def test_other_bytes_pass_as_they_are(data: bytes) -> None:
    """Protects the output of commands that say nothing of it."""
    assert masking(key="not-in-any-of-these-bytes").data(data) == data
    assert masking().data(data) == data


def test_the_name_stands_in_its_place() -> None:
    """Protects the reader, who must know what is missing."""
    mask = masking(pay_key="correct horse", shop_db="battery staple")
    assert (
        mask.text("a correct horse, a battery staple") == "a [secret pay_key], a [secret shop_db]"
    )


def test_the_longer_of_two_values_is_taken_whole() -> None:
    """Protects a value that begins as another one does."""
    mask = masking(short="abcdefgh", long="abcdefghijkl")
    assert mask.text("x abcdefghijkl y abcdefgh") == "x [secret long] y [secret short]"


def test_a_stream_that_breaks_off_in_a_value() -> None:
    """Protects the beginning of a value that a killed process had printed half of."""
    mask = masking(key="correct horse battery")
    assert mask.text("it is correct horse b") == "it is [secret key]"
    assert mask.text("it is correct"[: 6 + LEAST_PART - 1]) == "it is corre"


def test_lines_of_a_key_are_known_one_by_one() -> None:
    """Protects keys of several lines, which a log prints with something before each."""
    key = "-----BEGIN KEY-----\nQUJDREVGR0hJSktM\nTU5PUFFSU1RVVldY\n-----END KEY-----"
    said = masking(key=key).text("1: QUJDREVGR0hJSktM\n2: TU5PUFFSU1RVVldY\n")
    assert said == "1: [secret key]\n2: [secret key]\n"


def test_json_is_masked_in_fields_and_in_names() -> None:
    """Protects structured results."""
    masked = masking(key="correct horse").value({"correct horse": ["correct horse", 1, None]})
    assert masked == {"[secret key]": ["[secret key]", 1, None]}


@pytest.mark.parametrize("value", ["\ud800 lone surrogates", "ends in a dollar$", "^.*+?()[]{}|\\"])
def test_values_are_no_patterns(value: str) -> None:
    """Protects: whatever a value holds, it is looked for as it is."""
    assert masking(key=value).text(f"<{value}>") == "<[secret key]>"


def test_no_text_of_it_shows_a_value() -> None:
    """Protects tracebacks and logs, which print whatever they hold."""
    mask = masking(key="correct horse")
    assert "horse" not in f"{mask!r} {mask} {MaskedStream(mask, print)!r}"
