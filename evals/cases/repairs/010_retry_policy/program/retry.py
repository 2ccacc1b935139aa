"""Calls that are tried again, with growing pauses."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class Transient(Exception):
    """Worth another try."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often to try, and how long to wait in between, in seconds."""

    tries: int = 3
    first_pause: float = 0.5
    longest_pause: float = 30.0

    def pauses(self) -> Iterator[float]:
        """The pauses, each twice the one before."""
        pause = self.first_pause
        for _ in range(self.tries - 1):
            yield min(pause, self.longest_pause)
            pause *= 2


def call(
    function: Callable[[], T], policy: RetryPolicy, sleep: Callable[[float], None]
) -> T | None:
    """Call until it works; other errors than Transient go through at once.

    Raises:
        Transient: the last try failed too.
    """
    for pause in policy.pauses():
        try:
            return function()
        except Transient:
            sleep(pause)
    try:
        return function()
    except Transient:
        return None
