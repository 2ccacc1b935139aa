"""What a command printed, bounded while it is read and safe to show afterwards."""

import os
import re
import sys
import tempfile
from pathlib import Path


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


def without_host_paths(text: str, root: Path) -> str:
    """Text in which files below `root` are relative, and other files of this machine only named.

    Those others are paths below a folder that exists at the top of this machine, so that an
    address such as /api/users in a test's output stays readable.
    """
    for place in sorted({str(root), os.path.realpath(root)}, key=len, reverse=True):
        text = text.replace(place + "/", "").replace(place, ".")
    known = {sys.prefix, sys.base_prefix, tempfile.gettempdir()}
    tops = {path.split("/")[1] for path in known} | set(os.listdir("/"))
    names = "|".join(re.escape(top) for top in sorted(tops, key=len, reverse=True) if top)
    host = rf"(?<![\w./])/(?:{names})(?:/[^\s/:'\"<>|,()\[\]]+)*/?(?!\w)"
    return re.sub(host, lambda match: "<host>/" + match[0].rstrip("/").rpartition("/")[2], text)
