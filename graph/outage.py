"""Outages of the store: how long one call waits for it, with pauses that grow."""

import asyncio

from checkrein.errors import CheckreinError

FIRST_S = 0.2
LONGEST_S = 2.0
"""The first and the longest pause between two looks whether the store is back, seconds."""


class Outage:
    """The waiting of one call, over all the outages that it meets.

    A store that comes and goes uses up one limit; it is whole again once the work has gone on
    undisturbed for as long as the limit.
    """

    def __init__(self, limit_s: float) -> None:
        """`limit_s`: seconds that may be waited in all."""
        self._limit_s = limit_s
        self._waited = 0.0
        self._pause = FIRST_S
        self._gone_at: float | None = None
        self._back_at = 0.0

    def ended(self) -> None:
        """The store is there: the attempt is owned again."""
        now = asyncio.get_running_loop().time()
        if self._gone_at is not None:
            self._waited += now - self._gone_at
        self._gone_at, self._back_at = None, now

    async def wait(self, error: CheckreinError, given_up: asyncio.Event) -> None:
        """Pause before the next try; raises `error` once the limit, or somebody, has had enough."""
        now = asyncio.get_running_loop().time()
        if self._gone_at is None:
            self._gone_at = now
            if now - self._back_at > self._limit_s:
                self._waited, self._pause = 0.0, FIRST_S
        if self._waited + now - self._gone_at >= self._limit_s or given_up.is_set():
            raise error
        try:
            async with asyncio.timeout(self._pause):
                await given_up.wait()
        except TimeoutError:
            self._pause = min(2 * self._pause, LONGEST_S)
        else:
            raise error
