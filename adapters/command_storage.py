"""How much a command has put on the disk while it runs."""

import asyncio
import os
from pathlib import Path

from checkrein.ports.command_runner import Ending

_LOOK_S = 0.25


async def filled(folder: Path | None, most: int | None) -> Ending:
    """Return once the folder has grown by more than `most` bytes; never where nothing bounds it.

    The free room of the disk is looked at often, which costs nothing; the folder itself is only
    measured when so much room is gone that it may have been this command.
    """
    if folder is None or most is None:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")
    before = await asyncio.to_thread(_size, folder)
    free = _free(folder)
    while True:
        await asyncio.sleep(_LOOK_S)
        now = _free(folder)
        if free - now > most and await asyncio.to_thread(_size, folder) - before > most:
            return Ending.STORAGE_LIMIT


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bfree * found.f_frsize


def _size(folder: Path) -> int:
    """Bytes that the files below take on the disk; what vanishes meanwhile counts nothing."""
    total = 0
    pending = [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    total += found.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return total
