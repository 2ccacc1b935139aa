"""What a folder holds, as one sorted list of entries, and the digest of that list.

Left out at every depth: entries named `.git`, and half-written files of ours. Everything here
blocks; callers run it in a thread.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from typing import Literal, NamedTuple

from checkrein.adapters.workspace_paths import (
    CHANGED_KIND,
    FILE,
    FOLDER,
    GIT,
    TEMP_PREFIX,
    GuardedFolder,
)
from checkrein.contracts.codec import visible
from checkrein.errors import EnvironmentFault

MAX_DEPTH = 128
"""Deepest nesting of folders that a digest covers."""

# How often something is looked at that keeps changing between a file, a folder and a link.
_LOOKS = 8
_FORMAT = b"checkrein-tree/1\0"
_CHUNK = 1 << 20
# A hash is kept only if the file's change time is this much older than the look at it: within one
# tick of the kernel's clock a second change leaves the stamp as it is.
_TICK_NS = 50_000_000
_COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000

Kind = Literal["file", "folder", "link", "special"]


class Entry(NamedTuple):
    """One thing below a root.

    Attributes:
        path: relative, with forward slashes; bytes that are no UTF-8 are surrogate-escaped.
        content: digest of a file's bytes, the target of a link, empty for all else.
        size: bytes of a file, else 0.
    """

    path: str
    kind: Kind
    executable: bool
    content: str
    size: int


class HashCache:
    """Digests of files by inode, size and times, so that unchanged files are not read again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], str] = {}

    def of(self, fd: int) -> str:
        """`sha256:...` of an open regular file, from where it was opened on."""
        before = os.fstat(fd)
        known = self.known(before)
        if known is not None:
            return known
        content = hash_of(fd)
        after = os.fstat(fd)
        if _key(before) == _key(after) and _settled(after.st_ctime_ns):
            self._kept[_key(after)] = content
        return content

    def known(self, status: os.stat_result) -> str | None:
        """The digest of a file with exactly this status, where it was computed before."""
        return self._kept.get(_key(status))


def _key(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _settled(ctime_ns: int) -> bool:
    """Whether a later change would surely show in the change time."""
    # File systems that keep whole seconds only are told by their round stamps.
    tick = _TICK_NS if ctime_ns % _SECOND_NS else _COARSE_TICK_NS
    return time.time_ns() - ctime_ns > tick


def hash_of(fd: int) -> str:
    """`sha256:...` of an open file, from where it stands to its end."""
    state = hashlib.sha256()
    while chunk := os.read(fd, _CHUNK):
        state.update(chunk)
    return "sha256:" + state.hexdigest()


def entries(folder: GuardedFolder, hashes: HashCache) -> list[Entry]:
    """Everything below a root, sorted by the bytes of its path.

    Raises:
        EnvironmentFault: the folder, or something in it, cannot be read.
    """
    with folder.opened_root() as root:
        found = list(_below(root, "", 0, hashes))
    return sorted(found, key=lambda entry: os.fsencode(entry.path))


def digest_of_entries(found: list[Entry]) -> str:
    """The digest of a sorted list of entries; the same for equal trees wherever they lie."""
    state = hashlib.sha256(_FORMAT)
    for entry in found:
        mark = b"x" if entry.executable else b"-"
        fields = (entry.kind.encode(), mark, os.fsencode(entry.path), os.fsencode(entry.content))
        # No field can hold a NUL, so that no two lists read the same.
        state.update(b"\0".join(fields) + b"\0")
    return "sha256:" + state.hexdigest()


def left_out(name: str) -> bool:
    """Whether a name is outside of what digests, copies, listings and diffs cover."""
    return name == GIT or name.startswith(TEMP_PREFIX)


def _below(fd: int, prefix: str, depth: int, hashes: HashCache) -> Iterator[Entry]:
    if depth > MAX_DEPTH:
        raise EnvironmentFault(
            f"The workspace is nested deeper than {MAX_DEPTH} folders at {prefix!r}.",
            op="workspace.digest",
            code="workspace_too_deep",
        )
    for name in sorted(os.listdir(fd)):
        if left_out(name):
            continue
        path = prefix + name
        found = _looked_at(fd, name, path, hashes)
        if found is None:
            continue
        entry, below = found
        yield entry
        if below is not None:
            try:
                yield from _below(below, path + "/", depth + 1, hashes)
            finally:
                os.close(below)


def _looked_at(fd: int, name: str, path: str, hashes: HashCache) -> tuple[Entry, int | None] | None:
    """One entry, and the descriptor of a folder; None where it vanished since it was listed."""
    for _ in range(_LOOKS):
        try:
            entry = _entry(fd, name, path, hashes)
            return entry, os.open(name, FOLDER, dir_fd=fd) if entry.kind == "folder" else None
        except FileNotFoundError:
            return None
        except _BecameAnotherError:
            continue
        except OSError as error:
            if error.errno not in CHANGED_KIND:
                raise _unreadable(path, error) from error
    raise EnvironmentFault(
        f"{path!r} in the workspace became something else each time that it was looked at. "
        "Stop what keeps changing it.",
        op="workspace.digest",
        code="workspace_changing",
        context={"path": visible(path)},
    )


class _BecameAnotherError(Exception):
    """What was a file when it was looked at is none now that it is open."""


def _unreadable(path: str, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"{path!r} in the workspace cannot be read: {error.strerror}. "
        "Make it readable for the user that runs Checkrein, or remove it.",
        op="workspace.digest",
        code="workspace_unreadable",
        context={"path": visible(path)},
    )


def _entry(fd: int, name: str, path: str, hashes: HashCache) -> Entry:
    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    mode = status.st_mode
    if stat.S_ISREG(mode):
        content = hashes.known(status) or _hash_at(fd, name, hashes)
        return Entry(path, "file", bool(mode & 0o111), content, status.st_size)
    if stat.S_ISDIR(mode):
        return Entry(path, "folder", False, "", 0)
    if stat.S_ISLNK(mode):
        return Entry(path, "link", False, os.readlink(name, dir_fd=fd), 0)
    return Entry(path, "special", False, "", 0)


def _hash_at(fd: int, name: str, hashes: HashCache) -> str:
    opened = os.open(name, FILE, dir_fd=fd)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise _BecameAnotherError  # reading a pipe or a device might never end
        return hashes.of(opened)
    finally:
        os.close(opened)
