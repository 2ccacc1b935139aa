"""A program on a pseudo-terminal, and what a person would see there."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from command_line import COMMAND

PATIENCE_S = 20.0
"""How long a text is waited for; only a failing test takes it."""

_CSI = re.compile(r"\x1b\[(\?)?([0-9;]*)([A-Za-z])")


class Screen:
    """What the bytes of the inbox make of a screen. Any escape that is not ours is a failure."""

    def __init__(self, columns: int, lines: int) -> None:
        self.size = (columns, lines)
        self.rows = [""] * lines
        self.at = (0, 0)
        self.second = False
        self._rest: str = ""

    @property
    def text(self) -> str:
        """The lines, as they are seen."""
        return "\n".join(row.rstrip() for row in self.rows)

    def feed(self, text: str) -> None:
        """Take what was written."""
        text = self._rest + text
        self._rest = ""
        while text:
            c, text = text[0], text[1:]
            if c == "\x1b":
                found = _CSI.match(c + text)
                if found is None:
                    assert len(text) < 12, f"an escape that is not ours: {text[:20]!r}"
                    self._rest = c + text
                    return
                self._obey(found[1] or "", found[2], found[3])
                text = (c + text)[found.end() :]
            elif c == "\n":
                self.at = (min(self.at[0] + 1, self.size[1] - 1), self.at[1])
            elif c == "\t":
                self._put(" ")
            elif c == "\r":
                self.at = (self.at[0], 0)
            else:
                assert c.isprintable(), f"a character that steers: {c!r}"
                self._put(c)

    def _put(self, c: str) -> None:
        line, column = self.at
        row = self.rows[line].ljust(column)
        self.rows[line] = row[:column] + c + row[column + 1 :]
        self.at = (line, column + 1)

    def _obey(self, private: str, numbers: str, verb: str) -> None:
        if private:
            assert numbers in {"25", "1049"}, f"a mode that is not ours: {numbers}"
            if numbers == "1049":
                self.second = verb == "h"
                self.rows = [""] * self.size[1]
            return
        match verb:
            case "H":
                self.at = (int(numbers.split(";")[0] or 1) - 1, 0)
            case "J":
                self.rows = [""] * self.size[1]
            case "K":
                self.rows[self.at[0]] = self.rows[self.at[0]][: self.at[1]]
            case _:
                assert verb == "m", f"an escape that is not ours: {numbers}{verb}"


class OnTerminal:
    """One command on a terminal of its own. A context manager that ends it."""

    def __init__(
        self,
        args: Sequence[object],
        environment: Mapping[str, str],
        *,
        columns: int = 80,
        lines: int = 24,
    ) -> None:
        self.screen = Screen(columns, lines)
        self.raw = b""
        self._far, self._near = pty.openpty()
        self._resize(columns, lines)
        self._started = termios.tcgetattr(self._near)
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, args)],
            env={**environment, "TERM": "xterm-256color"},
            stdin=self._near,
            stdout=self._near,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )

    def __enter__(self) -> "OnTerminal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()
        for fd in (self._far, self._near):
            os.close(fd)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._far, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Change the size, which the program is told by a signal."""
        self.screen = Screen(columns, lines)
        self._resize(columns, lines)
        self.process.send_signal(signal.SIGWINCH)

    def _resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._near, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def sees(self, *texts: str, without: str | None = None) -> str:
        """Wait until all texts are on the screen, and `without` is not; return the screen.

        Where a line was broken does not matter.
        """

        def met() -> bool:
            there = _joined(self.screen.text)
            gone = without is None or _joined(without) not in there
            return gone and all(_joined(text) in there for text in texts)

        return self._until(met, f"{texts} (without {without})")

    def stops(self) -> None:
        """Stop the program as Ctrl-Z does, and wait until it has stopped, as a shell would."""
        self.process.send_signal(signal.SIGTSTP)
        self._until(lambda: not self.screen.second, "the first screen")
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def _until(self, met: Any, what: str) -> str:
        ends = time.monotonic() + PATIENCE_S
        while not met():
            left = ends - time.monotonic()
            ready = select.select([self._far], [], [], max(0, min(left, 0.5)))[0]
            if ready:
                self._read()
            elif left <= 0 or self.process.poll() is not None:
                said = b"" if self.process.poll() is None else self._errors()
                raise AssertionError(
                    f"{what} never came; the screen:\n{self.screen.text}\n{said!r}"
                )
        return self.screen.text

    def _read(self) -> None:
        data = os.read(self._far, 65536)
        self.raw += data
        self.screen.feed(data.decode("utf-8", "replace"))

    def _errors(self) -> bytes:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def ended(self) -> int:
        """Wait for the end; return the exit code."""
        ends = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < ends:
            if select.select([self._far], [], [], 0.1)[0]:
                self._read()
        return self.process.wait(timeout=1)

    def restored(self) -> bool:
        """Whether the terminal has the settings that it had before."""
        return termios.tcgetattr(self._near) == self._started


def _joined(text: str) -> str:
    return "".join(text.split())


def _own_terminal() -> None:
    with contextlib.suppress(OSError):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
