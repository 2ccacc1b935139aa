"""The live view on stderr: what happens, what is waited for; never silent for over 2 s."""

import contextlib
import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

from checkrein.entrypoints.cli.console import shown

if TYPE_CHECKING:
    from collections.abc import Callable

SILENCE_S = 1.2
"""Seconds without a line after which the view says what is being waited for."""

_TICK_S = 0.25


class Live:
    """Lines as they come and, in between, what is being waited for and for how long.

    On a terminal the latter is one line that changes in place; elsewhere it is said again whenever
    nothing was written for SILENCE_S. A thread does it, so that a busy event loop is no silence.
    """

    def __init__(self, waiting: str) -> None:
        """`waiting` is what is being waited for at first."""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._waiting = waiting
        self._since = self._spoke = time.monotonic()
        self._write, self._spin, self._stop = _plain()
        if sys.stderr.isatty():
            self._write, self._spin, self._stop = _drawn(waiting)
        self._thread = threading.Thread(target=self._tick, name="live view", daemon=True)

    def __enter__(self) -> "Live":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._stop()

    def hush(self) -> None:
        """Say nothing any more: another view has the terminal from now on."""
        self._ended.set()
        self._thread.join()
        self._stop()
        self._write, self._spin = _unwritten, None

    def line(self, text: str) -> None:
        """Write one line."""
        # A closed terminal must not stop the work.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._write(shown(text))
            self._spoke = time.monotonic()

    def waiting(self, text: str) -> None:
        """Say what is being waited for from now on."""
        with self._lock:
            self._waiting = text
            self._since = time.monotonic()

    def _tick(self) -> None:
        while not self._ended.wait(_TICK_S):
            with self._lock, contextlib.suppress(OSError, ValueError):
                now = time.monotonic()
                text = f"waiting for {shown(self._waiting)} ({now - self._since:.0f} s)"
                if self._spin is not None:
                    self._spin(text)
                elif now - self._spoke >= SILENCE_S:
                    self._write(f"... {text}")
                    self._spoke = now


Looks = tuple["Callable[[str], None]", "Callable[[str], None] | None", "Callable[[], None]"]
"""How to write a line, how to show what is waited for in place, and how to end that."""


def _unwritten(text: str) -> None:
    """Where nothing is to be said any more."""


def _plain() -> Looks:
    def write(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    return write, None, lambda: None


def _drawn(waiting: str) -> Looks:
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    status = console.status(Text(f"waiting for {shown(waiting)}"))
    status.start()
    return (
        lambda text: console.print(text, soft_wrap=True),
        lambda text: status.update(Text(text)),
        status.stop,
    )
