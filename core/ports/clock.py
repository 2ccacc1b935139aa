"""The clock, as a port, so that tests can move it. Deadlines use the database's clock instead."""

from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now_ns(self) -> int:
        """Nanoseconds since 1970, UTC."""
        ...
