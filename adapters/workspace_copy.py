"""Copies of folders: the working copy and the baseline of an attempt, and copies for verifiers.

Links stay links, devices and pipes are refused, and the size is bounded. Everything here blocks.
"""

import errno
import os
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from checkrein.adapters.workspace_paths import FILE, FOLDER, GIT, GuardedFolder
from checkrein.adapters.workspace_tree import HashCache, digest_of_entries, entries, left_out
from checkrein.contracts.attempt import WorkspaceRef
from checkrein.contracts.codec import visible
from checkrein.errors import EnvironmentFault, InputError

MAX_ENTRIES = 200_000
"""Most files, folders and links that one copy holds."""

MAX_BYTES = 4 << 30
"""Most bytes that one copy holds."""

_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")


@dataclass
class _Room:
    """What may still be copied."""

    entries: int = MAX_ENTRIES
    bytes: int = MAX_BYTES

    def take(self, path: str, size: int) -> None:
        self.entries -= 1
        self.bytes -= size
        if self.entries < 0 or self.bytes < 0:
            raise InputError(
                f"The workspace is too large to copy: more than {MAX_ENTRIES} entries or "
                f"{MAX_BYTES >> 30} GiB at {path!r}. Name a smaller folder, or use mode in_place.",
                op="workspace.copy",
                code="workspace_too_large",
            )


def home_of(home: Path, attempt_id: str) -> Path:
    """The attempt's own folder: `baseline`, and `work` where the mode is copy.

    Raises:
        InputError: the id cannot be a folder's name.
    """
    if not _ID.match(attempt_id):
        raise InputError(
            f"{visible(attempt_id)!r} is no attempt id.", op="workspace.create", code="bad_id"
        )
    return home / "workspaces" / attempt_id


def create_workspace(
    source: Path, mode: Literal["copy", "in_place"], home: Path, attempt_id: str
) -> WorkspaceRef:
    """Make the baseline and, for `copy`, the working copy; doing it again gives the same.

    Both appear at once, by a rename: a crash in between leaves nothing that looks finished.

    Raises:
        InputError: the source is missing, no folder, unreadable, too large, holds pipes or
            devices, or lies inside Checkrein's own home or around it.
        EnvironmentFault: the home refuses to take the copy.
    """
    own = home_of(home, attempt_id)
    checked = check_source(source, home)
    try:
        if not own.exists():
            _make(own, checked, mode)
    except OSError as error:
        raise EnvironmentFault(
            f"The working copy cannot be made: {error.strerror} ({error.filename}). "
            f"Make room, or make {home} writable.",
            op="workspace.create",
            code="workspace_not_made",
            context={"path": str(own)},
        ) from error
    root = own / "work" if mode == "copy" else checked
    baseline = digest_of_entries(entries(GuardedFolder(own / "baseline"), HashCache()))
    return WorkspaceRef(root=str(root), source=str(checked), mode=mode, baseline=baseline)


def _make(own: Path, source: Path, mode: Literal["copy", "in_place"]) -> None:
    """Fill a folder under another name, then give it its own."""
    own.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = Path(tempfile.mkdtemp(prefix=f".{own.name[:40]}-", dir=own.parent))
    try:
        _fill(partial, source, mode)
        partial.rename(own)
    except OSError as error:
        # Another process was faster: what it made is as good.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    finally:
        if partial.exists():
            shutil.rmtree(partial)


def _fill(partial: Path, source: Path, mode: Literal["copy", "in_place"]) -> None:
    baseline = partial / "baseline"
    copy_tree(source, baseline)
    if mode == "copy":
        # From the baseline and not from the source again, so that the two are surely equal.
        copy_tree(baseline, partial / "work")
        # A `.git` file (a linked worktree) stays behind: it would tie the copy to the original.
        if (source / GIT).is_dir() and not (source / GIT).is_symlink():
            copy_tree(source / GIT, partial / "work" / GIT, everything=True)


def check_source(source: Path, home: Path) -> Path:
    """The real path of a usable source folder.

    Raises:
        InputError: it cannot be used; the message says why and what to do.
    """
    shown = visible(str(source))
    try:
        status = os.stat(source)
    except FileNotFoundError as error:
        message = f"The workspace {shown} does not exist. Name an existing folder."
        raise _bad_source(message) from error
    except (OSError, ValueError) as error:
        message = f"The workspace {shown} cannot be reached: {error}. Name a readable folder."
        raise _bad_source(message) from error
    if not stat.S_ISDIR(status.st_mode):
        raise _bad_source(f"The workspace {shown} is not a directory. Name a folder, not a file.")
    if not os.access(source, os.R_OK | os.X_OK):
        raise _bad_source(
            f"The workspace {shown} is not readable for this user. Change its permissions."
        )
    real, own = source.resolve(), home.resolve()
    if real == own or real.is_relative_to(own):
        raise _bad_source(
            f"The workspace {shown} lies inside CHECKREIN_HOME ({own}), where Checkrein keeps its "
            "own records. Name a folder outside of it, or move CHECKREIN_HOME."
        )
    if own.is_relative_to(real):
        raise _bad_source(
            f"The workspace {shown} contains CHECKREIN_HOME ({own}), so that a task could change "
            "Checkrein's own records. Name a smaller folder, or move CHECKREIN_HOME."
        )
    return real


def _bad_source(message: str) -> InputError:
    return InputError(message, op="workspace.create", code="bad_workspace")


def copy_tree(source: Path, target: Path, *, everything: bool = False) -> None:
    """Copy a folder's content to a new folder; `everything` takes Git's files along.

    Raises:
        InputError: something in it cannot be copied, or it is too large.
        FileExistsError: the target exists.
    """
    target.mkdir()
    room = _Room()
    with GuardedFolder(source).opened_root() as fd:
        _copy_below(fd, target, "", room, everything)


def _copy_below(fd: int, target: Path, prefix: str, room: _Room, everything: bool) -> None:
    for name in os.listdir(fd):
        if left_out(name) and not everything:
            continue
        path = prefix + name
        try:
            _copy_one(fd, name, target, path, room, everything)
        except FileNotFoundError:
            continue  # it vanished between being listed and being looked at
        except PermissionError as error:
            raise InputError(
                f"{visible(path)!r} in the workspace cannot be copied: {error.strerror}. "
                "Make it readable, or remove it.",
                op="workspace.copy",
                code="bad_workspace",
                context={"path": visible(path)},
            ) from error


def _copy_one(fd: int, name: str, target: Path, path: str, room: _Room, everything: bool) -> None:
    status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    mode, made = status.st_mode, target / name
    room.take(path, status.st_size if stat.S_ISREG(mode) else 0)
    if stat.S_ISREG(mode):
        _copy_file(fd, name, made, mode)
    elif stat.S_ISLNK(mode):
        os.symlink(os.readlink(name, dir_fd=fd), made)
    elif stat.S_ISDIR(mode):
        made.mkdir()
        below = os.open(name, FOLDER, dir_fd=fd)
        try:
            _copy_below(below, made, path + "/", room, everything)
        finally:
            os.close(below)
    elif not everything:  # beside Git's files lie sockets of its own, which are no content
        raise InputError(
            f"{visible(path)!r} in the workspace is a pipe, socket or device, which cannot be "
            "copied. Remove it, or name a folder without it.",
            op="workspace.copy",
            code="special_file",
            context={"path": visible(path)},
        )


def _copy_file(fd: int, name: str, made: Path, mode: int) -> None:
    # Readable and writable for the owner whatever the original was; the executable bit stays.
    allowed = stat.S_IMODE(mode) & 0o777 | 0o600
    source = os.open(name, FILE, dir_fd=fd)
    with open(source, "rb") as reading:
        created = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, allowed)
        with open(created, "wb") as writing:
            os.fchmod(created, allowed)
            shutil.copyfileobj(reading, writing, 1 << 20)
