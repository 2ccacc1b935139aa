import pytest
from base62 import decode, encode


def test_no_number_begins_with_a_zero():
    assert all(not encode(number).startswith("0") for number in range(1, 500))


def test_every_number_comes_back():
    assert all(decode(encode(number)) == number for number in range(5000))


@pytest.mark.parametrize("text", [" ", "-1", "a b", "ä"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError):
        decode(text)
