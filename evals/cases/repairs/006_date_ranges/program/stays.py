"""Stays from one day to another; both days belong to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True)
class Stay:
    """From `first` to `last`, both included.

    Raises:
        ValueError: it ends before it begins.
    """

    first: date
    last: date

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ValueError("a stay ends before it begins")

    def days(self) -> Iterator[date]:
        """Every day of it."""
        for offset in range((self.last - self.first).days):
            yield self.first + timedelta(days=offset)

    def overlaps(self, other: "Stay") -> bool:
        """Whether they share a day."""
        return not set(self.days()).isdisjoint(other.days())


def booked(stays: list[Stay]) -> int:
    """How many days are booked by anybody."""
    return len({day for stay in stays for day in stay.days()})
