"""The one serialiser: canonical bytes, clean text, digests. Every hash stands on it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkrein.contracts.codec import (
    MAX_DEPTH,
    canonical,
    clean,
    clean_text,
    digest,
    digest_of,
    json_object,
    to_text,
    visible,
)
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import InputError

# The worked example of RFC 8785, section 3.2.2, and its sorted form of section 3.2.3.
RFC_INPUT = (
    '{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],'
    ' "string": "\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/",'
    ' "literals": [null, true, false]}'
)
RFC_OUTPUT = (
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
    '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def test_canonical_form_is_that_of_the_standard() -> None:
    assert canonical(json.loads(RFC_INPUT)).decode() == RFC_OUTPUT


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        (
            {"\U0001f600": 1, "\ufb33": 2, "\u20ac": 3, "1": 4},
            '{"1":4,"\u20ac":3,"\U0001f600":1,"\ufb33":2}',
        ),
        ([1.0, -0.0, 1e21, 1e-7, 100.0], "[1,0,1e+21,1e-7,100]"),
        ("\x7f\u2028/<", '"\x7f\u2028/<"'),
        ({}, "{}"),
        (None, "null"),
    ],
)
def test_canonical_form_sorts_by_utf16_and_writes_numbers_as_javascript_does(
    value: Any, text: str
) -> None:
    assert canonical(value).decode() == text


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        2**53,
        -(2**53),
        "\ud800",
        {"\udfff": 1},
        {1: 2},
        b"bytes",
        {"a", "b"},
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_readers_would_bend_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(InputError) as refused:
        canonical(value)
    assert (refused.value.code, refused.value.op) == ("not_canonical", "codec.canonical")


def test_endless_nesting_is_refused_and_not_a_crash() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError):
        canonical(deep)
    with pytest.raises(InputError):
        json_object('{"a":' * 100_000 + "1" + "}" * 100_000, op="test")


@given(JSON)
def test_canonical_bytes_are_utf8_json_of_the_same_value(value: Any) -> None:
    data = canonical(value)
    assert json.loads(data.decode("utf-8")) == value
    assert canonical(json.loads(data)) == data


@given(JSON)
def test_a_digest_depends_on_the_value_and_not_on_its_order(value: Any) -> None:
    def turned(item: Any) -> Any:
        match item:
            case {**fields}:
                return {key: turned(fields[key]) for key in reversed(fields)}
            case [*items]:
                return [turned(one) for one in items]
            case _:
                return item

    assert digest_of(turned(value)) == digest_of(value)


def test_digests_are_named_after_their_kind() -> None:
    empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest(b"") == empty
    assert digest_of({}) == digest(b"{}")


# --- clean: what enters from outside -------------------------------------------------------------


@given(JSON)
def test_clean_text_stays_and_cleaning_again_changes_nothing(value: Any) -> None:
    try:
        cleaned = clean(value)
    except InputError:
        return  # two names that are one, once written the same way
    assert clean(cleaned) == cleaned
    canonical(cleaned)


def test_text_is_brought_into_one_form() -> None:
    assert clean("e\u0301 \u212b \ufb01") == "\u00e9 \u00c5 \ufb01"
    assert clean({"e\u0301": ["A\u030a"]}) == {"\u00e9": ["\u00c5"]}


def test_two_names_that_become_one_are_refused_and_none_is_lost() -> None:
    with pytest.raises(InputError, match="there twice") as refused:
        clean({"a": {"e\u0301": 1, "\u00e9": 2}})
    assert refused.value.context["where"] == "/a/\u00e9"


@pytest.mark.parametrize(
    ("value", "where", "why"),
    [
        ("a\x00b", "/", "NUL"),
        ({"a": ["x", {"b": "\x00"}]}, "/a/1/b", "NUL"),
        ({"a\x00": 1}, "/<name>", "NUL"),
        ("\ud800", "/", "lone surrogate"),
        ({"a": "x\udfffy"}, "/a", "lone surrogate"),
        ({"\ud83d": 1}, "/<name>", "lone surrogate"),
        ([math.nan], "/0", "no finite number"),
        ({"n": -math.inf}, "/n", "no finite number"),
        ({"n": 2**53}, "/n", "beyond"),
        ([-(2**53)], "/0", "beyond"),
        ({"n": 2.0**53}, "/n", "beyond"),
        ([10**400, 1], "/0", "beyond"),
        ([1e300], "/0", "beyond"),
        ({"a": b"x"}, "/a", "bytes"),
        ({1: 2}, "/", "not text"),
        (object(), "/", "object"),
    ],
)
def test_what_no_store_can_hold_is_refused_with_its_place(value: Any, where: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as refused:
        clean(value)
    assert (refused.value.code, refused.value.context["where"]) == ("invalid_text", where)


def test_numbers_up_to_the_bounds_pass() -> None:
    bounds = [2**53 - 1, -(2**53) + 1, 0, -0.0, 5e-324, 2.0**53 - 1, True, False]
    assert clean(bounds) == bounds


def test_nesting_is_bounded() -> None:
    deep: Any = "x"
    for _ in range(MAX_DEPTH):
        deep = [deep]
    assert clean(deep) == deep
    with pytest.raises(InputError, match="deeper than 32"):
        clean([deep])
    with pytest.raises(InputError, match="deeper than 32"):
        clean({"a": deep})


def test_tuples_are_lists_in_json() -> None:
    assert clean({"a": (1, ("x",))}) == {"a": [1, ["x"]]}


@given(st.text(st.characters(codec=None)))
def test_visible_text_can_be_stored_and_readable_text_is_untouched(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert "\x00" not in shown
    try:
        clean_text(text)
    except InputError:
        assert shown != text
    else:
        assert shown == text


def test_visible_text_names_what_it_replaced() -> None:
    assert visible("a\x00b\ud800 ä") == "a\\u0000b\\ud800 ä"


# --- nouns as text -------------------------------------------------------------------------------


def test_stored_text_leaves_out_what_is_absent_and_keeps_null_in_values() -> None:
    stored = to_text(Outcome(status=EffectStatus.COMMITTED, result={"none": None, "list": [None]}))
    assert '"result":{"none":null,"list":[null]}' in stored
    assert "error_type" not in stored


@pytest.mark.parametrize("text", ["", "[1]", '"x"', "null", "{", '{"a":1}x', b"\xff", "{'a': 1}"])
def test_only_an_object_is_an_object(text: str | bytes) -> None:
    with pytest.raises(InputError) as refused:
        json_object(text, op="test.read")
    assert (refused.value.code, refused.value.op) == ("invalid_json", "test.read")


def test_an_object_is_read() -> None:
    assert json_object(b'{"a": [1, null]}', op="test.read") == {"a": [1, None]}
