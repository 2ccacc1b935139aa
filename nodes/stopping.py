"""Stop signals: what one owner's work is asked to stop for, and how long work is broken off."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from checkrein.errors import LeaseLostError
from checkrein.ports.leases import Word

T = TypeVar("T")

GRACE_S = 6.0
"""How long work that has begun may go on after a drain was asked for, seconds."""


class WorkStopped(Exception):  # noqa: N818 - a control signal, no error
    """Long work was broken off because the run is to stop; the node says so in its outcome."""


class Stop:
    """What one run is to stop for. Set on the event loop's thread, and never taken back.

    Attributes:
        cancelled: a person asked for the end; long work is broken off at once.
        draining: this process is to end; long work has its grace, then it is broken off.
        paused: a person asked for a pause; what has begun is finished.
    """

    def __init__(self) -> None:
        self.cancelled = False
        self.draining = False
        self.paused = False
        self._gone: Word | None = None
        self._grace_until = 0.0
        self._news = asyncio.Event()

    @property
    def asked(self) -> bool:
        """Whether no further action, model call or verification may begin."""
        return self.cancelled or self.draining or self.paused

    def hear(self, word: Word) -> None:
        """Take what the lease's heart has learned; hearing it again changes nothing."""
        match word:
            case Word.CANCEL:
                self.cancelled = True
            case Word.PAUSE:
                self.paused = True
            case Word.TAKEN | Word.CUT:
                self._gone = self._gone or word
        self._news.set()

    def drain(self, grace_s: float = GRACE_S) -> None:
        """Let nothing new begin; what has begun gets `grace_s` seconds from now."""
        if not self.draining:
            self.draining = True
            self._grace_until = asyncio.get_running_loop().time() + grace_s
            self._news.set()

    async def race(self, work: Coroutine[Any, Any, T]) -> T:
        """Do the work; break it off, and see it end, as soon as the run must not wait for it.

        Raises:
            WorkStopped: it was broken off for a cancel or a drain.
            LeaseLostError: it was broken off because this process owns the attempt no more.
        """
        if self._is_due():
            work.close()
            raise self._why()
        task = asyncio.ensure_future(work)
        due = asyncio.ensure_future(self._due())
        try:
            await asyncio.wait({task, due}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (task, due):
                each.cancel()
            await asyncio.wait({task, due})
        if task.cancelled():
            raise self._why()
        return task.result()  # what was finished all the same counts

    def _is_due(self) -> bool:
        if self.cancelled or self._gone is not None:
            return True
        return self.draining and asyncio.get_running_loop().time() >= self._grace_until

    async def _due(self) -> None:
        """Return once long work is to be broken off."""
        while not self._is_due():
            self._news.clear()
            left = self._grace_until - asyncio.get_running_loop().time() if self.draining else None
            try:
                async with asyncio.timeout(left):
                    await self._news.wait()
            except TimeoutError:
                continue

    def _why(self) -> BaseException:
        if self._gone is Word.CUT:
            return LeaseLostError(
                "This process has lost its session with the database, and the attempt with it. "
                "What was stored stands; `checkrein recover` goes on from there.",
                op="run.interruptible",
                retryable=True,
            )
        if self._gone is Word.TAKEN:
            return LeaseLostError(
                "Another process has taken the attempt over; it goes on there. `checkrein status` "
                "tells how it stands.",
                op="run.interruptible",
            )
        # Whoever cancelled the work without any of this wants the whole run to end.
        return WorkStopped() if self._is_due() else asyncio.CancelledError()
