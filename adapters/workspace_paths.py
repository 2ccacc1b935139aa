"""The path guard: names are judged first, then walked from the root, one folder at a time.

Each step opens the next folder by a descriptor of the one before and follows no link, so that
swapping a folder for a link while we walk leads nowhere. It guards paths and nothing else: hard
links and mounts inside the root are reached as what they are, and it is no sandbox.

Everything here blocks; callers run it in a thread, one hop for a whole operation.
"""

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from checkrein.contracts.action import PathFact
from checkrein.contracts.codec import visible
from checkrein.errors import CapabilityError, EnvironmentFault

TEMP_PREFIX = ".checkrein-tmp-"
"""Names that begin so are half-written files of ours: never read, listed, copied or hashed."""

GIT = ".git"
"""Git's own files are outside of what a digest covers, so they are never written."""

MAX_PATH = 1024
"""Longest path, in characters."""

MAX_NAME = 255
"""Longest name of one file or folder, in bytes of UTF-8."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe that nobody writes to must not hang.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

CHANGED_KIND = frozenset(
    {errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ENXIO}
)
"""What opening without following says where something took the place of what was looked at."""

# How often a path is followed anew that changes while it is followed.
_LOOKS = 8
_ESCAPED = re.compile(r"%(25)*(2e|2f|5c|00)", re.IGNORECASE)
_DRIVE = re.compile(r"^[A-Za-z]:")
# Marks that reorder text on a screen, and line breaks: an approver would read another name.
_MISLEADING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")
_ADVICE = "Give a path relative to the workspace root, with forward slashes, such as src/app.py."


def refusal(
    code: str, message: str, *, op: str, path: str, advice: str = _ADVICE
) -> CapabilityError:
    """A refusal before anything was touched, in the one shape that all of them have."""
    return CapabilityError(
        message, op=op, code=code, advice=advice, context={"path": visible(path[:MAX_PATH])}
    )


def segments_of(path: str, *, op: str) -> tuple[str, ...]:
    """Split a path into names; `()` is the root itself, written `.`.

    Raises:
        CapabilityError: path_outside_workspace where it leads out or tries to, invalid_path
            where it is no usable name.
    """
    shown = visible(path[:120])
    if fault := _outside(path):
        message = f"The path {shown!r} {fault}; only files inside the workspace can be used."
        raise refusal("path_outside_workspace", message, op=op, path=path)
    segments = tuple(part for part in path.split("/") if part not in ("", "."))
    if fault := _unusable(path, segments):
        raise refusal("invalid_path", f"The path {shown!r} {fault}.", op=op, path=path)
    return segments


def _outside(path: str) -> str | None:
    """Why a path leads out of the workspace, by its text alone."""
    if path.startswith("/") or _DRIVE.match(path):
        return "is absolute"
    if _ESCAPED.search(path):
        return "holds percent-escapes of dots or slashes"
    parts = re.split(r"[/\\]", path)
    if ".." in parts:
        return "holds '..'"
    if parts[0] == "~":
        return "names a home folder"
    return None


def _unusable(path: str, segments: tuple[str, ...]) -> str | None:
    """Why a path is no usable name."""
    if not path:
        return "is empty"
    if len(path) > MAX_PATH:
        return f"is longer than {MAX_PATH} characters"
    if "\\" in path:
        return "holds a backslash"
    if _MISLEADING.search(path) or any(unicodedata.category(c) in ("Cc", "Cs") for c in path):
        return "holds control characters"
    for name in segments:
        if len(name.encode()) > MAX_NAME:
            return f"holds a name longer than {MAX_NAME} bytes"
        if name.startswith(TEMP_PREFIX):
            return f"holds a name beginning with {TEMP_PREFIX}, which is reserved"
    return None


class GuardedFolder:
    """The files below one root. All methods block and raise CapabilityError for refusals.

    Where the root itself cannot be opened, they raise EnvironmentFault (workspace_missing).
    """

    def __init__(self, root: Path, *, folds_case: bool | None = None) -> None:
        """`folds_case`: whether names differ in case only by spelling; None finds out."""
        self.root = root
        self._folds_case = folds_case

    def locate(self, param: str, raw: str) -> PathFact:
        """What a path means once links are followed, for policies. Refuses nothing.

        Outside the root nothing is looked at: `exists` is false there, so that no policy's answer
        can tell a model what lies outside.
        """
        lexical = [visible(part) for part in raw[:MAX_PATH].split("/") if part not in ("", ".")]
        try:
            segments = segments_of(raw, op="workspace.locate")
        except CapabilityError:
            # Kept for the policy to judge; using the path raises this very error again.
            return PathFact(
                param=param, segments=lexical, inside=False, exists=False, symlink=False
            )
        root = _resolved(str(self.root))
        plain = os.path.join(root, *segments)
        real = _resolved(plain)
        inside = real == root or real.startswith(root.rstrip("/") + "/")
        below = [] if real == root else real[len(root.rstrip("/")) + 1 :].split("/")
        return PathFact(
            param=param,
            segments=[visible(part) for part in below] if inside else lexical,
            inside=inside,
            exists=inside and self._holds(below),
            symlink=real != plain,
        )

    def _holds(self, below: list[str]) -> bool:
        """Whether something is there, by handles: a link that appears meanwhile tells nothing."""
        try:
            with self.opened_root() as current:
                return not below or _is_at(current, below)
        except EnvironmentFault:
            return False

    def is_still(self, folder: int, segments: tuple[str, ...], *, op: str) -> bool:
        """Whether an open folder is the one that lies at its path now, and was not moved away."""
        try:
            with self.folder(segments, op=op) as now:
                return os.path.samestat(os.fstat(folder), os.fstat(now))
        except (CapabilityError, EnvironmentFault):
            return False

    @contextmanager
    def folder(
        self, segments: tuple[str, ...], *, op: str, make: list[str] | None = None
    ) -> Generator[int]:
        """Walk to a folder and give its descriptor.

        `make`: missing folders are made, durably, and their paths added to it.
        """
        with self.opened_root() as root:
            current = os.dup(root)
            try:
                for depth, name in enumerate(segments):
                    self.check_spelling(current, name, segments, op=op)
                    if make is not None and _made(current, name, segments, op=op):
                        make.append("/".join(segments[: depth + 1]))
                    below = _enter(current, name, segments, op=op)
                    os.close(current)
                    current = below
                yield current
            finally:
                os.close(current)

    @contextmanager
    def opened_root(self) -> Generator[int]:
        """The root's descriptor."""
        try:
            fd = os.open(self.root, FOLDER)
        except OSError as error:
            raise EnvironmentFault(
                f"The workspace folder {self.root} cannot be opened: {error.strerror}. "
                "Put it back, or start a new attempt.",
                op="workspace.open",
                code="workspace_missing",
                context={"path": str(self.root)},
            ) from error
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def file(self, segments: tuple[str, ...], *, op: str) -> Generator[int]:
        """The descriptor of a regular file, for reading."""
        path = "/".join(segments)
        if not segments:
            message = "The workspace root is a folder, not a file."
            raise refusal("not_a_file", message, op=op, path=".", advice="Name a file in it.")
        with self.folder(segments[:-1], op=op) as parent:
            self.check_spelling(parent, segments[-1], segments, op=op)
            try:
                fd = os.open(segments[-1], FILE, dir_fd=parent)
            except OSError as error:
                raise _unreachable(error, parent, segments[-1], segments, op=op) from error
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise refusal(
                        "not_a_file",
                        f"{path} is no regular file.",
                        op=op,
                        path=path,
                        advice="Name a file; workspace.list shows what a folder holds.",
                    )
                yield fd
            finally:
                os.close(fd)

    def read(self, segments: tuple[str, ...], *, op: str, limit: int) -> bytes:
        """A whole file of at most `limit` bytes (else too_large)."""
        with self.file(segments, op=op) as fd, open(fd, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
        if len(data) > limit:
            path = "/".join(segments)
            raise refusal(
                "too_large",
                f"{path} is larger than {limit} bytes.",
                op=op,
                path=path,
                advice="Work on smaller files; this one cannot be read or patched here.",
            )
        return data

    def check_spelling(self, parent: int, name: str, segments: tuple[str, ...], *, op: str) -> None:
        """Refuse `Tests` for `tests` on file systems that hold them equal.

        A policy that protects `tests` would not know the other spelling.
        """
        if self._folds_case is None:
            self._folds_case = _folds_case(self.root)
        if not self._folds_case:
            return
        names = os.listdir(parent)
        folded = _folded(name)
        twin = next((other for other in names if _folded(other) == folded), name)
        if name not in names and twin != name:
            path = "/".join(segments)
            message = f"{path} is spelled {twin!r} in this workspace, not {name!r}."
            advice = f"Write the name as {twin!r}."
            raise refusal("invalid_path", message, op=op, path=path, advice=advice)


def _resolved(path: str) -> str:
    """Where a path leads; `/` where it never stands still, which is inside of no workspace."""
    for _ in range(_LOOKS):
        try:
            return os.path.realpath(path)
        except OSError:
            continue  # a link became something else between being seen and being read
    return "/"


def _is_at(root: int, below: list[str]) -> bool:
    current = os.dup(root)
    try:
        for name in below[:-1]:
            deeper = os.open(name, FOLDER, dir_fd=current)
            os.close(current)
            current = deeper
        os.stat(below[-1], dir_fd=current, follow_symlinks=False)
    except OSError:
        return False
    finally:
        os.close(current)
    return True


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _folds_case(root: Path) -> bool:
    """Whether the root answers to its own name in the other case as well."""
    twin = root.with_name(root.name.swapcase())
    return twin != root and twin.exists() and twin.samefile(root)


def _made(parent: int, name: str, segments: tuple[str, ...], *, op: str) -> bool:
    """Make one folder durably; whether it was not there before."""
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return False  # whatever it is, entering it is what judges it
    except OSError as error:
        raise _unreachable(error, parent, name, segments, op=op) from error
    os.fsync(parent)
    return True


def _enter(parent: int, name: str, segments: tuple[str, ...], *, op: str) -> int:
    try:
        return os.open(name, FOLDER, dir_fd=parent)
    except OSError as error:
        raise _unreachable(error, parent, name, segments, op=op) from error


def _unreachable(
    error: OSError, parent: int, name: str, segments: tuple[str, ...], *, op: str
) -> CapabilityError:
    """Say why one step of a path could not be taken."""
    path = "/".join(segments)
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK) and _is_link(parent, name):
        message = f"{path} leads through the symbolic link {name!r}, which is not followed."
        advice = "Use the real path of a file inside the workspace."
        return refusal("path_outside_workspace", message, op=op, path=path, advice=advice)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        message = f"{path} does not exist in the workspace."
        advice = "Use workspace.list to see what is there."
        return refusal("not_found", message, op=op, path=path, advice=advice)
    message = f"{path} cannot be opened: {error.strerror}."
    return refusal("unreadable", message, op=op, path=path, advice="Work with other files.")


def _is_link(parent: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False  # gone meanwhile: then it is simply not there
