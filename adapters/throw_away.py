"""A folder for one piece of work, gone afterwards whatever was put into it.

It is locked for as long as its owner lives: the kernel lets go of the lock with the process,
however that ends. So what a killed process left is told from what is in use without trusting a
process's number, which another process may have by now.
"""

import asyncio
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from checkrein.errors import EnvironmentFault

Kind = Literal["verify", "command", "output", "run"]
"""What a folder is for; a part of its name, for people."""

_PREFIX = "checkrein-held-"
_NAME = re.compile(rf"{_PREFIX}(?:verify|command|output|run)-[A-Za-z0-9_]+")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Held(NamedTuple):
    """A folder, and the descriptor that holds its lock."""

    path: Path
    lock: int

    def cleanup(self) -> None:
        """Remove it, then let go."""
        _remove(self.path)
        os.close(self.lock)


@asynccontextmanager
async def throw_away_folder(kind: Kind, parent: Path | None = None) -> AsyncGenerator[Path]:
    """Make a folder that only this user can enter; made and removed off the event loop.

    `parent`: where it lies; by default in the temporary folder, where it is swept as well.

    Raises:
        EnvironmentFault: the machine has no room for one (code no_temporary_folder).
    """
    making = asyncio.ensure_future(asyncio.to_thread(_made, kind, parent))
    try:
        made = await asyncio.shield(making)
    except asyncio.CancelledError:
        # The thread cannot be stopped: what it makes is removed once it is there.
        await asyncio.to_thread((await making).cleanup)
        raise
    try:
        yield made.path
    finally:
        await asyncio.to_thread(made.cleanup)


def _made(kind: Kind, parent: Path | None) -> _Held:
    try:
        while True:
            path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-", dir=parent))
            held = _locked(path)
            if held is not None:
                return held
    except OSError as error:
        raise EnvironmentFault(
            f"There is no temporary folder in {parent or tempfile.gettempdir()}: "
            f"{error.strerror}. Make room there, or set TMPDIR.",
            op="throw_away.make",
            code="no_temporary_folder",
        ) from error


def _locked(path: Path) -> _Held | None:
    """The new folder, held; None where somebody who sweeps was faster than our lock."""
    try:
        lock = os.open(path, _FOLDER)
    except FileNotFoundError:
        return None
    try:
        # Who sweeps holds it for moments. Where a file system knows no locks, nobody sweeps.
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        return _Held(path, lock)
    if path.exists():
        return _Held(path, lock)
    os.close(lock)
    return None


def is_held(path: Path) -> bool:
    """Whether a folder's owner lives; in doubt it does. Blocking."""
    try:
        lock = os.open(path, _FOLDER)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def sweep() -> list[Path]:
    """Remove what processes of this user that are gone left behind; returns it. Blocking."""
    top = Path(tempfile.gettempdir())
    names = [name for name in os.listdir(top) if _NAME.fullmatch(name)]
    return [top / name for name in names if _removed_if_left(top / name)]


def _removed_if_left(path: Path) -> bool:
    try:
        lock = os.open(path, _FOLDER)
    except OSError:
        return False  # gone meanwhile, another user's, or no folder
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
    except OSError:
        return False  # in use, or on a file system that knows no locks
    finally:
        os.close(lock)
    return not path.exists()


def _remove(path: Path) -> None:
    """Remove a folder, also where a command took its own rights to one in it."""
    for folder, folders, _ in os.walk(path):
        for name in folders:
            place = os.path.join(folder, name)
            if not os.path.islink(place):
                os.chmod(place, 0o700)
    shutil.rmtree(path, ignore_errors=True)
