import pytest
from instalments import instalments, plan


@pytest.mark.parametrize(
    ("debt", "rate", "count"),
    [(0.3, 0.1, 3), (100.0, 0.05, 2000), (19.99, 0.01, 1999), (0.7, 0.1, 7)],
)
def test_how_many_payments(debt, rate, count):
    payments = instalments(debt, rate)
    assert len(payments) == count
    assert set(payments) == {rate}


def test_a_last_payment_of_one_cent_is_made():
    assert instalments(10.01, 1.0)[-1] == 0.01


def test_as_people_read_it():
    assert plan(1.1, 0.2) == "6 payments, the last of 0.10"
