"""Who leads."""

from collections.abc import Iterable
from typing import NamedTuple


class Score(NamedTuple):
    """A player's points, and when they were reached, in seconds."""

    name: str
    points: int
    reached_at: int


def ranking(scores: Iterable[Score]) -> list[Score]:
    """Most points first; of equal points the earlier first, of equal times by name."""
    return sorted(scores, key=lambda s: (s.points, s.reached_at, s.name), reverse=True)


def ranks(scores: Iterable[Score]) -> dict[str, int]:
    """Each player's rank; equal points share a rank, and the next one is left out."""
    found: dict[str, int] = {}
    last: Score | None = None
    for place, score in enumerate(ranking(scores), start=1):
        shared = last is not None and last.points == score.points
        found[score.name] = found[last.name] if shared and last else place
        last = score
    return found
