import pytest
from instalments import instalments, plan


def test_an_even_plan():
    assert instalments(1.5, 0.5) == [0.5, 0.5, 0.5]


def test_a_smaller_last_payment():
    assert instalments(2.5, 1.0) == [1.0, 1.0, 0.5]


def test_ten_times_ten_cents_are_one():
    assert instalments(1.0, 0.1) == [0.1] * 10


def test_no_debt():
    assert plan(0, 10) == "paid"


def test_a_rate_of_nothing_is_refused():
    with pytest.raises(ValueError):
        instalments(1, 0)
