"""Jobs that wait for their turn."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Job:
    """Something to do."""

    name: str
    action: Callable[[], object] = lambda: None


class JobQueue:
    """Gives the most urgent job first: the one with the smallest priority."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Job]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, priority: int, job: Job) -> None:
        """Queue a job."""
        heapq.heappush(self._heap, (priority, job))

    def pop(self) -> Job:
        """Take the next job.

        Raises:
            IndexError: none waits.
        """
        if not self._heap:
            raise IndexError("no job waits")
        return heapq.heappop(self._heap)[-1]
