"""Pipes of a running command, read as data comes, and closed whoever still holds the other end."""

import asyncio
import os
from collections.abc import Callable

_CHUNK = 1 << 16


class PipeReader:
    """A new pipe that is read in the running event loop.

    Attributes:
        write_end: the descriptor to hand on; closed by `handed_on`.
        over: set when every holder of the other end has closed it, or after `close`.
    """

    def __init__(self, take: Callable[[bytes], None]) -> None:
        """`take` is given each piece of data, never an empty one."""
        self._take = take
        self._fd, self.write_end = os.pipe()
        os.set_blocking(self._fd, False)
        self.over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._read)

    def handed_on(self) -> None:
        """Close our copy of the other end."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def close(self) -> None:
        """Read no longer; may be called again."""
        self.handed_on()
        if not self.over.is_set():
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self.over.set()

    def _read(self) -> None:
        data = os.read(self._fd, _CHUNK)
        if data:
            self._take(data)
        else:
            self.close()


class Report:
    """What the supervisor of one command tells: numbers by words, one pair a line.

    Attributes:
        told: what was told so far.
        over: set when all was told, or nobody is left to tell.
    """

    def __init__(self) -> None:
        """Opens the pipe."""
        self.told: dict[str, int] = {}
        self._rest = b""
        self.pipe = PipeReader(self._take)
        self.over = self.pipe.over

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            word, number = line.split()
            self.told[word.decode()] = int(number)
        if "done" in self.told:
            self.pipe.close()
