import pytest
from wrapping import quoted, wrap

TEXT = "it was the best of times it was the worst of times"


@pytest.mark.parametrize("width", range(2, 30))
def test_at_no_width(width):
    assert max(map(len, wrap(TEXT, width))) <= width


def test_a_line_may_fill_the_width():
    assert wrap("abc def gh", 7) == ["abc def", "gh"]


def test_the_mark_of_a_quotation_counts():
    assert quoted("abc de fgh", 8) == "> abc de\n> fgh"
