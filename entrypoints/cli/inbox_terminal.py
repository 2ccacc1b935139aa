"""The terminal that the inbox works on: keys in, lines out, and as it was before in the end."""

import asyncio
import codecs
import os
import signal
import sys
import termios
import tty
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from checkrein.entrypoints.cli.inbox_view import Line

RESIZED = "resized"
"""The event of another size, or of coming back from being stopped."""

ENDED = "ended"
"""The event of SIGTERM, or of a terminal that has gone."""

_ESCAPE_S = 0.05
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"
_LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"
_STYLES = {"bold": "\x1b[1m", "reverse": "\x1b[7m", "warn": "\x1b[1;31m"}
_KEYS = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "pageup",
    "\x1b[6~": "pagedown",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
}


class KeyReader:
    """Bytes of a terminal as keys. Escape sequences that are not known are no keys at all."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""

    def fed(self, data: bytes) -> list[str]:
        """The keys that are complete now; the beginning of a sequence is held back."""
        self._held += self._decoder.decode(data)
        keys: list[str] = []
        while self._held:
            size = _sequence(self._held)
            if size == 0:
                break
            part, self._held = self._held[:size], self._held[size:]
            key = _KEYS.get(part, part)
            if len(part) == 1 or part in _KEYS:
                keys.append(key)
        return keys

    @property
    def holds(self) -> bool:
        """Whether an escape came alone: the key, or a sequence that is on its way."""
        return self._held == "\x1b"

    def released(self) -> list[str]:
        """Nothing followed: what was held back was the key."""
        held, self._held = self._held, ""
        return ["escape"] if held else []


def _sequence(text: str) -> int:
    """How many characters the first key takes; 0 where it is not complete."""
    if text[0] != "\x1b":
        return 1
    if len(text) == 1:
        return 0
    if text[1] == "O":
        return 3 if len(text) > 2 else 0
    if text[1] != "[":
        return 2
    return next((n + 3 for n, c in enumerate(text[2:]) if "@" <= c <= "~"), 0)


class Terminal:
    """A terminal in use: no echo, no line buffer, its second screen. A context manager.

    However the block ends, the terminal is as it was: after an exception, Ctrl-C and SIGTERM, and
    while the process is stopped (Ctrl-Z).
    """

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._events: asyncio.Queue[str] = asyncio.Queue()
        self._reader = KeyReader()
        self._before: list[Any] = []
        self._drawn: list[Line] = []
        self._timer: asyncio.TimerHandle | None = None
        self.in_use = False

    def __enter__(self) -> "Terminal":
        loop = asyncio.get_running_loop()
        self._before = termios.tcgetattr(self._fd)
        loop.add_signal_handler(signal.SIGTERM, self._events.put_nowait, ENDED)
        loop.add_signal_handler(signal.SIGWINCH, self._events.put_nowait, RESIZED)
        loop.add_signal_handler(signal.SIGTSTP, self._stopped)
        self.take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.give_back()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGWINCH, signal.SIGTSTP):
            loop.remove_signal_handler(number)

    def take(self) -> None:
        """Use the terminal, and read its keys."""
        if not self.in_use:
            self.in_use = True
            tty.setcbreak(self._fd, termios.TCSADRAIN)
            _write(_ENTER)
            self._drawn = []
            asyncio.get_running_loop().add_reader(self._fd, self._readable)

    def give_back(self) -> None:
        """Leave the terminal as it was before, for another program or for good."""
        if self.in_use:
            self.in_use = False
            asyncio.get_running_loop().remove_reader(self._fd)
            try:
                _write(_LEAVE)
            finally:
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    async def event(self) -> str:
        """The next key, RESIZED or ENDED."""
        return await self._events.get()

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        found = os.get_terminal_size(self._fd)
        return found.columns or 80, found.lines or 24

    def draw(self, lines: Sequence[Line]) -> None:
        """Show lines. Only those that differ from what is there are written: nothing flickers."""
        if not self.in_use:
            return
        old = self._drawn if len(self._drawn) == len(lines) else []
        changed = [
            f"\x1b[{place + 1};1H{_styled(line)}\x1b[K"
            for place, line in enumerate(lines)
            if not old or old[place] != line
        ]
        if changed:
            _write(("" if old else "\x1b[2J") + "".join(changed))
        self._drawn = list(lines)

    def redraw(self) -> None:
        """Forget what is there, so that everything is written anew."""
        self._drawn = []

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, 4096)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._events.put_nowait(ENDED)
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._put(self._reader.fed(data))
        if self._reader.holds:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_ESCAPE_S, lambda: self._put(self._reader.released()))

    def _put(self, keys: Sequence[str]) -> None:
        for key in keys:
            self._events.put_nowait(key)

    def _stopped(self) -> None:
        """Ctrl-Z: give the terminal back, stop, and take it again when the shell goes on."""
        mine = self.in_use
        self.give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        if mine:
            self.take()
            self._events.put_nowait(RESIZED)


def _styled(line: Line) -> str:
    # The line itself came through display.shown: the only escapes are these.
    return f"{_STYLES[line.style]}{line.text}\x1b[0m" if line.style else line.text


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
