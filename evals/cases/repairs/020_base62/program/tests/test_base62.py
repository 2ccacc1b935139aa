import pytest
from base62 import decode, encode


@pytest.mark.parametrize(("number", "text"), [(1, "1"), (61, "z"), (62, "10"), (3843, "zz")])
def test_both_ways(number, text):
    assert encode(number) == text
    assert decode(text) == number


def test_zero():
    assert encode(0) == "0"


def test_an_empty_text_is_no_number():
    with pytest.raises(ValueError):
        decode("")


def test_negative_numbers_are_refused():
    with pytest.raises(ValueError):
        encode(-1)
