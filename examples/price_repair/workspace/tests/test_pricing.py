"""What parse_price() promises."""

from decimal import Decimal

import pytest
from pricing import parse_price


@pytest.mark.parametrize(
    ("text", "amount"),
    [("12.5", "12.5"), ("12", "12"), ("0.99", "0.99"), (" 7.25 ", "7.25")],
)
def test_plain_decimals(text: str, amount: str) -> None:
    assert parse_price(text) == Decimal(amount)


@pytest.mark.parametrize(
    ("text", "amount"),
    [("￥12.5", "12.5"), ("￥3", "3"), (" ￥0.99 ", "0.99")],
)
def test_yen_sign_in_front(text: str, amount: str) -> None:
    assert parse_price(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "abc", "12.5.1", "-3", "12,5", "￥", "￥￥1", "12.5￥"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a price"):
        parse_price(text)
