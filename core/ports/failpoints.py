"""Named places, exactly at commits, where a test may end the process."""

from typing import Protocol


class Failpoints(Protocol):
    """Told of each place that is reached. In production nothing listens."""

    async def reach(self, place: str) -> None:
        """Return, or end the process. Never raises."""
        ...
