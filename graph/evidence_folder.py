"""Reading a folder that anybody may have tampered with: no links followed, nothing unbounded."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from checkrein.contracts.codec import Frozen, visible
from checkrein.errors import InputError
from checkrein.graph.evidence_files import (
    CHECKPOINT,
    EVENTS,
    EVIDENCE,
    MANIFEST,
    FileSeal,
    Manifest,
    json_bytes,
    root_of,
)

MOST_FILES = 100_000
"""Files that a folder may hold."""

LARGEST = 512 << 20
"""Largest file, in bytes."""

LARGEST_MANIFEST = 64 << 20
"""Largest manifest, in bytes."""


class Finding(Frozen):
    """One thing that is wrong with a folder: in which file, which rule it breaks, and how."""

    file: str
    rule: str
    problem: str

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.file}: {self.problem} [{self.rule}]"


def finding(file: str, rule: str, problem: str) -> Finding:
    """A finding with text that any screen can hold."""
    return Finding(file=visible(file), rule=rule, problem=visible(problem))


def looked_up(folder: Path) -> None:
    """Make sure that the folder is meant to be evidence.

    Raises:
        InputError: it is no folder that can be read, or holds nothing of a package.
    """
    try:
        names = set(os.listdir(folder))
    except OSError as error:
        raise InputError(
            f"{folder} cannot be read as a folder ({error.strerror}). Name the folder that "
            "`checkrein evidence export` wrote.",
            op="evidence.verify",
            code="no_evidence",
        ) from error
    if not names & {MANIFEST, EVIDENCE, EVENTS, CHECKPOINT}:
        raise InputError(
            f"{folder} holds no evidence package: there is no {MANIFEST} in it. Name the folder "
            "that `checkrein evidence export` wrote.",
            op="evidence.verify",
            code="no_evidence",
        )


def read_manifest(folder: Path) -> Manifest | Finding:
    """The manifest, if it is one, in its one form, and agrees with itself."""
    try:
        data = _bytes(folder / MANIFEST, LARGEST_MANIFEST)
    except OSError as error:
        return finding(MANIFEST, "readable", f"it cannot be read ({error.strerror or error})")
    try:
        manifest = Manifest.model_validate_json(data)
        whole = json_bytes(manifest) == data
    except (ValueError, RecursionError):
        return finding(MANIFEST, "readable", "it is no manifest of this version")
    if not whole:
        return finding(MANIFEST, "canonical", "it is not in canonical form, so it was edited")
    if root_of(manifest.files) != manifest.root:
        return finding(MANIFEST, "root", "its root is not the digest of its list of files")
    return manifest


def read(folder: Path, path: str) -> bytes:
    """The bytes of a file that was found to be as sealed.

    Raises:
        OSError: it can no longer be read, or is too large.
    """
    return _bytes(folder / path, LARGEST)


def unsealed(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    """Everything in which the folder's files are not what the manifest seals."""
    found: set[str] = set()
    for path, problem in _walk(folder):
        found.add(path)
        if problem is not None:
            yield finding(path, "closed", problem)
        elif path in manifest.files:
            problem = _broken(folder / path, manifest.files[path])
            if problem is not None:
                yield finding(path, "sealed", problem)
        elif path != MANIFEST:
            yield finding(path, "closed", "the manifest does not list it; it was added")
    for path in sorted(set(manifest.files) - found):
        yield finding(path, "closed", "the manifest lists it, and it is not there")


def _walk(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Every file below the folder, with what forbids looking into it; folders only if empty."""
    count = 0
    below = [""]
    while below:
        prefix = below.pop()
        empty = True
        with os.scandir(folder / prefix) as entries:
            for entry in entries:
                empty = False
                count += 1
                path = prefix + entry.name
                if count > MOST_FILES:
                    yield path, f"there are more than {MOST_FILES} files; the rest was not read"
                    return
                if entry.is_dir(follow_symlinks=False):
                    below.append(path + "/")
                elif entry.is_symlink():
                    yield path, "it is a symbolic link; evidence holds only files of its own"
                else:
                    yield path, None if entry.is_file() else "it is no ordinary file"
        if empty and prefix:
            yield prefix.rstrip("/"), "it is an empty folder; it was added"


def _broken(path: Path, seal: FileSeal) -> str | None:
    """How a file is not what was sealed."""
    try:
        with open(_opened(path), "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size != seal.size:
                return f"it has {size} bytes, and {seal.size} were sealed"
            if size > LARGEST:
                return f"it has {size} bytes; more than {LARGEST} are not read"
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"it cannot be read ({error.strerror or error})"
    if found != seal.sha256.removeprefix("sha256:"):
        return "its content is not what was sealed"
    return None


def _bytes(path: Path, largest: int) -> bytes:
    with open(_opened(path), "rb") as stream:
        data = stream.read(largest + 1)
    if len(data) > largest:
        raise OSError(f"more than {largest} bytes")
    return data


def _opened(path: Path) -> int:
    """Open an ordinary file; a link, a pipe or a device is refused, and never waited for."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError("it is no ordinary file")
    return fd
