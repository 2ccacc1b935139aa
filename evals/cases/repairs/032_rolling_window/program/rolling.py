"""Rolling views of a series."""

from collections.abc import Iterator, Sequence


def windows(values: Sequence[float], size: int) -> Iterator[Sequence[float]]:
    """Every run of `size` neighbours, from left to right.

    Raises:
        ValueError: a window must hold something.
    """
    if size < 1:
        raise ValueError("a window holds at least one value")
    for start in range(len(values) - size):
        yield values[start : start + size]


def rolling_mean(values: Sequence[float], size: int) -> list[float]:
    """The mean of every window."""
    return [sum(window) / size for window in windows(values, size)]


def steepest(values: Sequence[float]) -> float:
    """The largest step from one value to the next; 0 where there is none."""
    return max((right - left for left, right in windows(values, 2)), default=0)
