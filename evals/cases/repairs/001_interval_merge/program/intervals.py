"""Half-open intervals of whole numbers: [start, end)."""

from typing import NamedTuple


class Interval(NamedTuple):
    """From `start` up to, and without, `end`."""

    start: int
    end: int

    @property
    def empty(self) -> bool:
        return self.start >= self.end


def merge(intervals: list[Interval]) -> list[Interval]:
    """The fewest intervals that cover the same numbers, in order."""
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if interval.empty:
            continue
        if merged and interval.start < merged[-1].end:
            last = merged.pop()
            interval = Interval(last.start, max(last.end, interval.end))
        merged.append(interval)
    return merged


def length(intervals: list[Interval]) -> int:
    """How many numbers they cover, each counted once."""
    return sum(end - start for start, end in merge(intervals))


def gaps(intervals: list[Interval]) -> list[Interval]:
    """What lies between the merged intervals."""
    merged = merge(intervals)
    return [Interval(left.end, right.start) for left, right in zip(merged, merged[1:])]
