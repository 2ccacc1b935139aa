"""Reading the files of a sealed candidate: through the path guard, bounded, off the event loop."""

import asyncio
import hashlib
import os
from pathlib import Path

from checkrein.adapters.workspace_paths import GuardedFolder, segments_of
from checkrein.errors import CapabilityError

MAX_TEXT = 16 * 1024 * 1024
"""Most bytes of a file whose content is looked into."""

_OP = "verify.read"


class Unusable(Exception):  # noqa: N818 - becomes a verdict, never an error of ours
    """A file of the candidate is not what a check can look into; its text says why."""


async def content(root: Path, path: str, limit: int = MAX_TEXT) -> bytes:
    """All of a regular file; no link is followed.

    Raises:
        Unusable: it is not there, no regular file, reached by a link, or larger than `limit`.
        EnvironmentFault: the copy itself cannot be opened.
    """
    try:
        return await asyncio.to_thread(
            lambda: GuardedFolder(root).read(segments_of(path, op=_OP), op=_OP, limit=limit)
        )
    except CapabilityError as error:
        raise Unusable(str(error)) from error


async def text(root: Path, path: str) -> str:
    """As `content`, decoded.

    Raises:
        Unusable: besides, it is no UTF-8.
    """
    data = await content(root, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unusable(f"{path} is no UTF-8 text: byte {error.start} cannot be read.") from error


async def size_and_hash(root: Path, path: str) -> tuple[int, str]:
    """How many bytes a regular file has, and their SHA-256 in hex, however large it is.

    Raises:
        Unusable: as `content`, but for the size.
    """

    def measured() -> tuple[int, str]:
        segments = segments_of(path, op=_OP)
        with GuardedFolder(root).file(segments, op=_OP) as fd, open(fd, "rb", closefd=False) as f:
            return os.fstat(fd).st_size, hashlib.file_digest(f, "sha256").hexdigest()

    try:
        return await asyncio.to_thread(measured)
    except CapabilityError as error:
        raise Unusable(str(error)) from error


async def is_there(root: Path, path: str) -> bool:
    """Whether anything has this name, be it a file, a folder or a link that leads nowhere."""

    def found() -> bool:
        segments = segments_of(path, op=_OP)
        try:
            with GuardedFolder(root).folder(segments[:-1], op=_OP) as parent:
                os.stat(segments[-1] if segments else ".", dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    try:
        return await asyncio.to_thread(found)
    except CapabilityError as error:
        if error.code == "not_found":
            return False
        raise Unusable(str(error)) from error
