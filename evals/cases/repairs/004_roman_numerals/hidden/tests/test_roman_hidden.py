import pytest
from roman import from_roman, to_roman


@pytest.mark.parametrize(
    ("number", "text"), [(40, "XL"), (90, "XC"), (400, "CD"), (944, "CMXLIV"), (3999, "MMMCMXCIX")]
)
def test_tens_and_hundreds_too(number, text):
    assert to_roman(number) == text


def test_every_numeral_reads_back():
    assert all(from_roman(to_roman(n)) == n for n in range(1, 4000))
