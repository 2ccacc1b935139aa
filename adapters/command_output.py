"""What a command printed, bounded while it is read and safe to show afterwards."""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from pydantic import SecretStr

from checkrein.adapters.masking import MaskedStream, Masking


class Output:
    """One stream of a command: its ends in memory, the whole in a file, up to a bound.

    Attributes:
        over: whether more came than the bound; what came then is not kept in the file.
        on_over: called when that happens.
        failed: why the file could not be written.
    """

    def __init__(
        self,
        *,
        most: int,
        whole_bytes: int,
        file: BinaryIO | None,
        secrets: Mapping[str, SecretStr],
    ) -> None:
        """`most`: bytes kept in memory. `file`: where the whole goes; closed by `close`."""
        self._ends = HeadAndTail(most)
        self._room = whole_bytes
        self._file = file
        # Before anything is cut: half of a value could not be found again.
        self._masked = MaskedStream(Masking(secrets), self._seen)
        self.over = False
        self.on_over: Callable[[], None] | None = None
        self.failed: OSError | None = None

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self._masked.add(data)

    def close(self) -> None:
        """All has come."""
        self._masked.close()
        if self._file is not None:
            self._file.close()
            self._file = None

    def kept(self) -> bytes:
        """The two ends."""
        return self._ends.kept()

    def _seen(self, data: bytes) -> None:
        self._ends.add(data)
        part = data[: self._room]
        self._room -= len(part)
        if len(part) < len(data) and not self.over:
            self.over = True
            if self.on_over is not None:
                self.on_over()
        if self._file is not None and self.failed is None:
            try:
                self._file.write(part)
            except OSError as error:  # the disk is full: told when the command is over
                self.failed = error


class HeadAndTail:
    """Bytes of a stream of any length: its beginning, its end, and how much is left out."""

    def __init__(self, most: int) -> None:
        """`most`: bytes that are kept, half of them for each end."""
        self._half = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self._total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def kept(self) -> bytes:
        """What is kept, with a marker in the middle where something is missing."""
        tail = self._tail[-self._half :]
        missing = self._total - len(self._head) - len(tail)
        marker = f"\n[... {missing} bytes left out ...]\n".encode() if missing else b""
        return bytes(self._head) + marker + bytes(tail)


def without_host_paths(text: str, root: Path, seen: str = "") -> str:
    """Text in which files below `root` are relative, and other files of this machine only named.

    `seen`: the place of `root` in a sandbox.

    Those others are paths below a folder that exists at the top of this machine, so that an
    address such as /api/users in a test's output stays readable.
    """
    places = {str(root), os.path.realpath(root), seen or str(root)}
    for place in sorted(places, key=len, reverse=True):
        text = text.replace(place + "/", "").replace(place, ".")
    known = {sys.prefix, sys.base_prefix, tempfile.gettempdir()}
    tops = {path.split("/")[1] for path in known} | set(os.listdir("/"))
    names = "|".join(re.escape(top) for top in sorted(tops, key=len, reverse=True) if top)
    host = rf"(?<![\w./])/(?:{names})(?:/[^\s/:'\"<>|,()\[\]]+)*/?(?!\w)"
    return re.sub(host, lambda match: "<host>/" + match[0].rstrip("/").rpartition("/")[2], text)
