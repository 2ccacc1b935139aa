from decimal import Decimal

import pytest
from rounding import to_cents


@pytest.mark.parametrize(
    ("amount", "cents"),
    [("1.005", "1.00"), ("1.015", "1.02"), ("0.125", "0.12"), ("-2.675", "-2.68")],
)
def test_halves(amount, cents):
    assert to_cents(amount) == Decimal(cents)


def test_large_amounts_lose_nothing():
    assert to_cents(Decimal("90071992547409931.01")) == Decimal("90071992547409931.01")
