"""Blocking work in a thread that is seen through to its end."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def to_end(work: Callable[[], _T]) -> _T:
    """Run blocking work in a thread; being cancelled waits for its end, then cancels.

    A thread cannot be stopped, and whoever holds a lock for it must not let go before.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            await asyncio.wait([running])
        raise
