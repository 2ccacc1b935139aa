"""What a series of measurements amounts to."""

from collections.abc import Iterable
from typing import NamedTuple


class Summary(NamedTuple):
    """Count, mean, largest value, and the mean distance from the mean."""

    count: int
    mean: float
    largest: float | None
    spread: float


def summary(values: Iterable[float]) -> Summary:
    """Sum up a series; an empty one has mean and spread 0."""
    count, total = 0, 0.0
    for value in values:
        count += 1
        total += value
    mean = total / count if count else 0.0
    largest = max(values, default=None)
    spread = sum(abs(value - mean) for value in values) / count if count else 0.0
    return Summary(count, mean, largest, spread)


def by_day(readings: Iterable[tuple[str, float]]) -> dict[str, Summary]:
    """The summary of each day, in the order in which days first appear."""
    days: dict[str, list[float]] = {}
    for day, value in readings:
        days.setdefault(day, []).append(value)
    return {day: summary(values) for day, values in days.items()}
