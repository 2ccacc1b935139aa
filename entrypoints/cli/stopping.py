"""SIGTERM: a command lets go at the next safe point and ends within ten seconds.

A second one ends it at once. Either way nothing is lost: what was stored stands, what was sent is
asked about by whoever recovers, and the children of a dead process end by themselves.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from checkrein.entrypoints.cli.console import out, out_json

if TYPE_CHECKING:
    from checkrein.entrypoints.cli.live import Live
    from checkrein.entrypoints.cli.watch import Watch
    from checkrein.graph.report import Report

END_S = 9.0
"""Seconds from SIGTERM after which the process ends, whatever is still in flight."""

AT_ONCE = 143
"""Exit code of a process that a second SIGTERM ended: 128 and the signal's number."""


class StoppedEarly(Exception):  # noqa: N818 - a control signal, no error
    """SIGTERM came before any work had begun."""


class Stopping:
    """What SIGTERM asks of one command, while its work goes on.

    Attributes:
        asked: whether it has come.
    """

    def __init__(self, *, json: bool) -> None:
        """`json`: whether the command prints one JSON object and nothing else."""
        self.asked = False
        self._json = json
        self._live: Live | None = None
        self._watch: Watch | None = None
        self._drain: Callable[[], None] | None = None
        self._speaking = threading.Lock()

    def listen(self, live: "Live") -> None:
        """Hear SIGTERM from now on, on the running event loop."""
        self._live = live
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._first)

    def begin(self, drain: Callable[[], None], watch: "Watch") -> None:
        """Work begins, and stops at a safe point once `drain` is called.

        Raises:
            StoppedEarly: SIGTERM has come already.
        """
        if self.asked:
            raise StoppedEarly
        self._drain, self._watch = drain, watch

    def let_go(self, report: "Report") -> bool:
        """Whether an attempt is left as it stands because the process was asked to stop."""
        return self.asked and not report.status.is_terminal and not report.status.is_suspended

    def tell(self) -> None:
        """Say, where nothing else is said any more, what happened and what goes on."""
        text = f"Stopped by SIGTERM. What was stored stands; go on with: {self._command}"
        if self._json:
            steps = {"attempt_id": self._attempt_id, "next": [self._command], "next_note": text}
            out_json(steps)
        else:
            out(text)
        sys.stdout.flush()

    def spoken(self) -> None:
        """The command says how it ended by itself; from here on only its exit can take long."""
        self._speaking.acquire()

    @property
    def _attempt_id(self) -> str | None:
        return None if self._watch is None else self._watch.attempt_id

    @property
    def _command(self) -> str:
        return f"checkrein recover {self._attempt_id or '--all'}"

    def _first(self) -> None:
        self.asked = True
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, self._second)
        last = threading.Timer(END_S, self._end)
        last.daemon = True
        last.start()
        if self._live is not None:
            self._live.line("SIGTERM: nothing new begins; a second one ends this at once")
            self._live.waiting("a safe point to stop at")
        if self._drain is not None:
            self._drain()

    def _second(self, number: int, frame: object) -> None:
        os.write(2, f"\nEnded at once. Go on with: {self._command}\n".encode())
        os._exit(AT_ONCE)

    def _end(self) -> None:
        """End with work still in flight; recovery asks what became of it."""
        try:
            if self._speaking.acquire(blocking=False):
                if self._live is not None:
                    self._live.__exit__(None, None, None)
                self.tell()
        finally:
            os._exit(0)  # also where nobody reads any more
