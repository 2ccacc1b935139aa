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

from checkrein.adapters.workspace_paths import CHANGED_KIND, FILE, FOLDER, GIT, GuardedFolder
from checkrein.adapters.workspace_tree import (
    MAX_DEPTH,
    HashCache,
    digest_of_entries,
    entries,
    left_out,
)
from checkrein.contracts.attempt import WorkspaceRef
from checkrein.contracts.codec import visible
from checkrein.errors import EnvironmentFault, InputError

MAX_ENTRIES = 200_000
"""Most files, folders and links that one copy holds."""

MAX_BYTES = 4 << 30
"""Most bytes that one copy holds."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20
_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")


@dataclass
class _Room:
    """What may still be copied."""

    entries: int = MAX_ENTRIES
    bytes: int = MAX_BYTES

    def take(self, path: str, size: int, *, entries: int = 1) -> None:
        self.entries -= entries
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

    Both sides are walked by directory handles: whoever swaps a folder of either for a link leads
    the copy nowhere.

    Raises:
        InputError: something in it cannot be copied, or it is too large.
        FileExistsError: the target exists.
    """
    target.mkdir()
    made = os.open(target, FOLDER)
    try:
        with GuardedFolder(source).opened_root() as fd:
            _Copy(_Room(), everything).below(fd, made, "", 0)
    finally:
        os.close(made)


@dataclass(frozen=True)
class _Copy:
    """One copy that is under way."""

    room: _Room
    everything: bool

    def below(self, source: int, target: int, prefix: str, depth: int) -> None:
        """Copy what one open folder holds into another one."""
        if depth > MAX_DEPTH:
            raise _uncopied(prefix, f"is nested deeper than {MAX_DEPTH} folders", "too_deep")
        for name in os.listdir(source):
            if left_out(name) and not self.everything:
                continue
            path = prefix + name
            try:
                self._one(source, target, name, path, depth)
            except FileNotFoundError:
                continue  # it vanished between being listed and being looked at
            except PermissionError as error:
                why = f"cannot be copied: {error.strerror}. Make it readable, or remove it"
                raise _uncopied(path, why, "bad_workspace") from error
            except OSError as error:
                if error.errno not in CHANGED_KIND:
                    raise
                why = "became something else while it was copied. Stop what changes it"
                raise _uncopied(path, why, "workspace_changing") from error

    def _one(self, source: int, target: int, name: str, path: str, depth: int) -> None:
        mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        self.room.take(path, 0)
        if stat.S_ISREG(mode):
            self._file(source, target, name, path)
        elif stat.S_ISLNK(mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        elif stat.S_ISDIR(mode):
            self._folder(source, target, name, path, depth)
        elif not self.everything:  # beside Git's files lie sockets of its own, which are no content
            raise _special(path)

    def _folder(self, source: int, target: int, name: str, path: str, depth: int) -> None:
        below = os.open(name, FOLDER, dir_fd=source)
        try:
            os.mkdir(name, dir_fd=target)
            made = os.open(name, FOLDER, dir_fd=target)
            try:
                self.below(below, made, path + "/", depth + 1)
            finally:
                os.close(made)
        finally:
            os.close(below)

    def _file(self, source: int, target: int, name: str, path: str) -> None:
        reading = os.open(name, FILE, dir_fd=source)
        try:
            status = os.fstat(reading)
            if not stat.S_ISREG(status.st_mode):
                raise _special(path)  # a pipe took its place; reading it might never end
            # Readable and writable for the owner whatever it was; the executable bit stays.
            allowed = stat.S_IMODE(status.st_mode) & 0o777 | 0o600
            writing = os.open(name, _NEW_FILE, allowed, dir_fd=target)
            try:
                os.fchmod(writing, allowed)
                self._content(reading, writing, path)
            finally:
                os.close(writing)
        finally:
            os.close(reading)

    def _content(self, reading: int, writing: int, path: str) -> None:
        # Counted as it comes: a file that grows while it is read is bounded, too.
        with open(writing, "wb", closefd=False) as stream:
            while chunk := os.read(reading, _CHUNK):
                self.room.take(path, len(chunk), entries=0)
                stream.write(chunk)


def _special(path: str) -> InputError:
    why = "is a pipe, socket or device, which cannot be copied. Remove it, or name a folder without"
    return _uncopied(path, why, "special_file")


def _uncopied(path: str, why: str, code: str) -> InputError:
    return InputError(
        f"{visible(path)!r} in the workspace {why}.",
        op="workspace.copy",
        code=code,
        context={"path": visible(path)},
    )
