import pytest
from wrapping import wrap


def test_short_text_is_one_line():
    assert wrap("to be", 10) == ["to be"]


def test_no_line_is_longer_than_the_width():
    assert wrap("abc defg", 7) == ["abc", "defg"]


def test_a_long_word_is_cut():
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]


def test_a_width_of_nothing_is_refused():
    with pytest.raises(ValueError):
        wrap("a", 0)


def test_an_empty_text_has_no_line():
    assert wrap("  ", 5) == []
