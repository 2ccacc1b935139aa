"""The one way in which a workspace file changes: a swap from a known version to a known version.

The lock, the question whether we still own the attempt, the comparison and the rename happen as
one step against every other process of ours. An editor that ignores the lock can still slip in
between comparison and rename; that is a limit of ordinary files.
"""

import asyncio
import errno
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from checkrein.adapters.workspace_paths import FILE, TEMP_PREFIX, GuardedFolder, refusal
from checkrein.adapters.workspace_tree import hash_of
from checkrein.contracts.codec import digest
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError, EnvironmentFault

ABSENT = "absent"
"""The version of a file that is not there."""

_OP = "workspace.swap"
_PLAIN = re.compile(r"^[A-Za-z0-9_-]{1,100}$")
_POLL_S = 0.01
_NOT_OURS = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR})


@dataclass(frozen=True)
class Swap:
    """One change of one file. `effect_id` names the half-written file, the same in each try."""

    segments: tuple[str, ...]
    effect_id: str
    from_version: str
    data: bytes

    @property
    def path(self) -> str:
        """The relative path."""
        return "/".join(self.segments)

    @property
    def to_version(self) -> str:
        """The version that the file has afterwards."""
        return digest(self.data)

    @property
    def temp(self) -> str:
        """The half-written file's name."""
        plain = self.effect_id
        if not _PLAIN.match(plain):
            plain = hashlib.sha256(plain.encode()).hexdigest()
        return TEMP_PREFIX + plain


@asynccontextmanager
async def folder_lock(home: Path, root: Path, *, wait_s: float) -> AsyncGenerator[None]:
    """Hold the one lock of a workspace root, across processes and tasks alike.

    Raises:
        CapabilityError: workspace_busy (retryable), after `wait_s` seconds.
    """
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
    path = home / "locks" / f"{name}.lock"
    opening = asyncio.ensure_future(asyncio.to_thread(_open_lock, path))
    try:
        fd = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_late)
        raise
    try:
        deadline = time.monotonic() + wait_s
        # Tried without blocking, and slept for here: waiting in threads could use all of them up,
        # and the one that holds the lock needs a thread to get done.
        while not _taken(fd):
            if time.monotonic() >= deadline:
                raise _busy(wait_s)
            await asyncio.sleep(_POLL_S)
        yield
    finally:
        os.close(fd)  # the lock goes with the descriptor, so that a crash frees it too


def _open_lock(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _not_written(f"the lock {path} cannot be opened: {error.strerror}") from error


def _taken(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _close_late(opening: "asyncio.Future[int]") -> None:
    """Close a lock file whose opener was cancelled meanwhile."""
    if not opening.cancelled() and opening.exception() is None:
        os.close(opening.result())


def _busy(wait_s: float) -> CapabilityError:
    return CapabilityError(
        f"Another process has been writing to this workspace for {wait_s:g} s.",
        op=_OP,
        code="workspace_busy",
        advice="Try the same call again.",
        retryable=True,
    )


async def still_ours(still_owner: Callable[[], Awaitable[bool]]) -> None:
    """Raise not_owner where another process has taken over; nothing was written."""
    if not await still_owner():
        raise CapabilityError(
            "Another process owns this attempt now; nothing was written.",
            op=_OP,
            code="not_owner",
            advice="Nothing is to be done here: the owner goes on.",
        )


def compare_and_swap(folder: GuardedFolder, swap: Swap) -> Outcome:
    """Compare and rename; call it with the lock held. Blocks.

    At the from-version the file is swapped; at the to-version the effect has already happened;
    any other version is refused.

    Raises:
        CapabilityError: nothing was changed.
    """
    made: list[str] = []
    try:
        with folder.folder(swap.segments[:-1], op=_OP, make=made) as parent:
            outcome = _swap_in(folder, parent, swap)
    except OSError as error:
        _unmake(folder, made)
        raise _not_written(f"{swap.path}: {error.strerror}") from error
    except CapabilityError:
        _unmake(folder, made)
        raise
    except EnvironmentFault as error:
        raise _not_written(str(error)) from error
    if outcome.status is EffectStatus.REFUSED:
        _unmake(folder, made)
    return outcome


def _swap_in(folder: GuardedFolder, parent: int, swap: Swap) -> Outcome:
    name = swap.segments[-1]
    folder.check_spelling(parent, name, swap.segments, op=_OP)
    status, current = _look(parent, name, swap.path)
    if current == swap.to_version:
        return _committed(swap, already=True)
    if current != swap.from_version:
        return Outcome(
            status=EffectStatus.REFUSED,
            version=current,
            error_type="version_changed",
            message=f"{swap.path} changed meanwhile, so nothing was written: read it again.",
        )
    with _temp_file(parent, swap, status) as written:
        if not folder.is_still(parent, swap.segments[:-1], op=_OP):
            raise _not_written(f"the folder of {swap.path} was moved meanwhile")
        os.rename(swap.temp, name, src_dir_fd=parent, dst_dir_fd=parent)
        in_place = _is_in_place(folder, parent, swap, written)
    if not in_place:
        return Outcome(
            status=EffectStatus.UNKNOWN_EFFECT,
            error_type="moved_meanwhile",
            message=f"Something else moved or replaced {swap.path} in the moment it was written.",
        )
    try:
        os.fsync(parent)
    except OSError as error:
        return Outcome(
            status=EffectStatus.UNKNOWN_EFFECT,
            error_type="write_not_durable",
            message=f"{swap.path} was renamed, but its folder not synced: {error.strerror}.",
        )
    return _committed(swap, already=False)


def _is_in_place(folder: GuardedFolder, parent: int, swap: Swap, written: int) -> bool:
    """Whether what was written is what lies at the path now."""
    try:
        now = os.stat(swap.segments[-1], dir_fd=parent, follow_symlinks=False)
    except OSError:
        return False
    in_folder = folder.is_still(parent, swap.segments[:-1], op=_OP)
    return in_folder and os.path.samestat(now, os.fstat(written))


def _look(parent: int, name: str, path: str) -> tuple[os.stat_result | None, str]:
    """Status and version of what lies at the name now."""
    try:
        fd = os.open(name, FILE, dir_fd=parent)
    except FileNotFoundError:
        return None, ABSENT
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            message = f"{path} is a symbolic link, which is not written through."
            advice = "Write to the real file inside the workspace."
            raise refusal(
                "path_outside_workspace", message, op=_OP, path=path, advice=advice
            ) from error
        raise
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise refusal("not_a_file", f"{path} is no regular file.", op=_OP, path=path)
        # Read in full, whatever a cache may know: this is the comparison that counts.
        return status, hash_of(fd)
    finally:
        os.close(fd)


@contextmanager
def _temp_file(parent: int, swap: Swap, status: os.stat_result | None) -> Generator[int]:
    """The content beside its place, open for as long as it must be known again.

    Once it were closed and removed, another file could be given its inode's number.
    """
    # What a killed try left is removed, not written into: it might be linked from elsewhere.
    _remove(parent, swap.temp)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(swap.temp, flags, 0o600, dir_fd=parent)
    try:
        with open(fd, "wb", closefd=False) as stream:
            stream.write(swap.data)
        os.fchmod(fd, stat.S_IMODE(status.st_mode) & 0o777 if status else 0o644)
        if status and os.geteuid() == 0:
            os.fchown(fd, status.st_uid, status.st_gid)
        os.fsync(fd)
        yield fd
    except (OSError, CapabilityError):
        _remove(parent, swap.temp)
        raise
    finally:
        os.close(fd)


def _remove(parent: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return


def _unmake(folder: GuardedFolder, made: list[str]) -> None:
    """Take back folders that were made for a file which did not come; others' files stay."""
    for path in reversed(made):
        *above, name = path.split("/")
        try:
            with folder.folder(tuple(above), op=_OP) as parent:
                os.rmdir(name, dir_fd=parent)
        except CapabilityError:
            continue  # it was moved or replaced meanwhile: what lies there is not ours
        except OSError as error:
            if error.errno not in _NOT_OURS:
                raise _not_written(f"{path}: {error.strerror}") from error


def _committed(swap: Swap, *, already: bool) -> Outcome:
    result = {"path": swap.path, "bytes": len(swap.data), "already": already}
    return Outcome(status=EffectStatus.COMMITTED, version=swap.to_version, result=result)


def _not_written(what: str) -> CapabilityError:
    return CapabilityError(
        f"Nothing was written: {what}.",
        op=_OP,
        code="not_written",
        advice="Try the same call again; if it fails again, work with other files.",
    )
