"""Prices that fall in steps as quantities grow, in cents."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """From this quantity on, each piece costs so much."""

    quantity: int
    cents: int


class PriceList:
    """Steps by growing quantity; the first begins at 1.

    Raises:
        ValueError: the steps are in no such order.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._from = [step.quantity for step in steps]
        self._cents = [step.cents for step in steps]
        if self._from[:1] != [1] or self._from != sorted(set(self._from)):
            raise ValueError("steps begin at 1 and grow")

    def unit_price(self, quantity: int) -> int:
        """What each of so many pieces costs.

        Raises:
            ValueError: nobody orders that.
        """
        if quantity < 1:
            raise ValueError(f"{quantity} pieces cannot be ordered")
        return self._cents[max(0, bisect_left(self._from, quantity) - 1)]

    def total(self, quantity: int) -> int:
        """What so many pieces cost together."""
        return quantity * self.unit_price(quantity)
