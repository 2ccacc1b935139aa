"""Lists that are shown page by page; pages count from 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list, and where it stands."""

    number: int
    of: int
    items: Sequence[T]

    @property
    def has_next(self) -> bool:
        return self.number < self.of

    @property
    def has_previous(self) -> bool:
        return self.number > 1


def page_count(items: int, size: int) -> int:
    """How many pages there are; an empty list has one, which is empty."""
    return max(1, items // size)


def page(items: Sequence[T], number: int, size: int = 10) -> Page[T]:
    """One page.

    Raises:
        IndexError: there is no such page.
    """
    last = page_count(len(items), size)
    if not 1 <= number <= last:
        raise IndexError(f"page {number} of {last}")
    start = (number - 1) * size
    return Page(number, last, items[start : start + size])
