"""How far apart two words are, and what somebody may have meant."""

from collections.abc import Iterable


def distance(one: str, other: str) -> int:
    """Letters to add, take away or change to make one word of the other."""
    previous = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        current = [i]
        for j, b in enumerate(other, start=1):
            change = previous[j - 1] + (a != b)
            add = current[j - 1] + 1
            take = current[j - 1] + 1
            current.append(min(change, add, take))
        previous = current
    return previous[-1]


def meant(word: str, known: Iterable[str], most: int = 2) -> str | None:
    """The nearest known word, or None where none is near; the first of equals."""
    nearest = min(known, key=lambda candidate: distance(word, candidate), default=None)
    if nearest is None or distance(word, nearest) > most:
        return None
    return nearest
