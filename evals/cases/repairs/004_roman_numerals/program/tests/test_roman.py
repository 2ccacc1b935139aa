import pytest
from roman import from_roman, to_roman


@pytest.mark.parametrize(("number", "text"), [(1, "I"), (6, "VI"), (2023, "MMXXIII")])
def test_letters_are_added(number, text):
    assert to_roman(number) == text


@pytest.mark.parametrize(("number", "text"), [(4, "IV"), (9, "IX")])
def test_a_smaller_letter_in_front_is_taken_away(number, text):
    assert to_roman(number) == text


@pytest.mark.parametrize("number", [0, -1, 4000])
def test_other_numbers_are_refused(number):
    with pytest.raises(ValueError):
        to_roman(number)


def test_reading():
    assert from_roman("MCMXCIV") == 1994
