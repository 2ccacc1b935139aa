"""What changed between two folders: which paths, and the unified diff that git applies.

Everything here blocks; callers run it in a thread.
"""

import difflib
from dataclasses import dataclass

from wcmatch import glob

from checkrein.adapters.patch import lines_of
from checkrein.adapters.workspace_paths import GuardedFolder
from checkrein.adapters.workspace_tree import Entry
from checkrein.contracts.codec import visible
from checkrein.errors import CapabilityError

MAX_DIFFED = 8 << 20
"""Larger files are named in a diff, not shown. Bytes."""

_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.CASE | glob.FORCEUNIX
_CONTEXT = 3
# Lines on one side times lines on the other, after equal ends are cut off. Above it difflib could
# take minutes, and the middle is shown as one replaced block.
_WORK_LIMIT = 4_000_000


@dataclass(frozen=True)
class Change:
    """One path that differs; None where it is not there."""

    path: str
    before: Entry | None
    after: Entry | None


def changes(before: list[Entry], after: list[Entry]) -> list[Change]:
    """All paths that differ between two lists of entries, sorted."""
    old = {entry.path: entry for entry in before}
    new = {entry.path: entry for entry in after}
    return [
        Change(path, old.get(path), new.get(path))
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    ]


def matching(paths: list[str], patterns: list[str]) -> list[str]:
    """The paths that any pattern covers; what covers a folder covers everything below it.

    `**` crosses folders, `*` and `?` do not, and a leading dot is nothing special.
    """
    wanted: list[str] = []
    for pattern in patterns:
        plain = pattern.removeprefix("./").rstrip("/") or "**"
        wanted += [plain, plain + "/**"]
    return [str(path) for path in glob.globfilter(paths, wanted, flags=_FLAGS)]


def tree_diff(found: list[Change], before: GuardedFolder, after: GuardedFolder) -> str:
    """Git's form of a diff for all files and links that differ; folders do not show in it."""
    return "".join(_file_diff(change, before, after) for change in found)


def _file_diff(change: Change, before: GuardedFolder, after: GuardedFolder) -> str:
    sides = [e for e in (change.before, change.after) if e and e.kind in ("file", "link")]
    if not sides:
        return ""
    path = visible(change.path)
    head = f"diff --git a/{path} b/{path}\n" + _modes(change)
    if any(entry.kind == "link" for entry in sides):
        ends = [entry.content if entry.kind == "link" else "a file" for entry in sides]
        return f"{head}Symbolic link {path}: {visible(' -> '.join(ends))}\n"
    old = _text(before, change.before)
    new = _text(after, change.after)
    if old is None or new is None:
        return f"{head}Binary files a/{path} and b/{path} differ\n"
    body = unified_diff(old, new, path, created=not change.before, deleted=not change.after)
    return head + body


def _modes(change: Change) -> str:
    before, after = change.before, change.after
    if before is None or after is None:
        entry, word = (after, "new") if after else (before, "deleted")
        return f"{word} file mode {_mode(entry)}\n"
    if _mode(before) == _mode(after):
        return ""
    return f"old mode {_mode(before)}\nnew mode {_mode(after)}\n"


def _mode(entry: Entry | None) -> str:
    if entry is None or entry.kind == "link":
        return "120000"
    return "100755" if entry.executable else "100644"


def _text(folder: GuardedFolder, entry: Entry | None) -> str | None:
    """A file's text; empty where it is not there, None where it is binary or too large."""
    if entry is None or entry.kind != "file":
        return ""
    if entry.size > MAX_DIFFED:
        return None
    try:
        data = folder.read(tuple(entry.path.split("/")), op="workspace.diff", limit=MAX_DIFFED)
    except CapabilityError:
        return None  # it changed while we looked; the digest, not the diff, is what binds
    return text_of(data)


def text_of(data: bytes) -> str | None:
    """The text of bytes, or None where they are no UTF-8 text."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def unified_diff(
    old: str, new: str, path: str, *, created: bool = False, deleted: bool = False
) -> str:
    """A unified diff of one file, with git's marker where the last line has no line feed."""
    if old == new:
        return ""
    tab = "\t" if " " in path else ""
    source = "/dev/null" if created else f"a/{path}{tab}"
    target = "/dev/null" if deleted else f"b/{path}{tab}"
    body = _hunks(lines_of(old), lines_of(new))
    return f"--- {source}\n+++ {target}\n" + "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body
    )


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """Hunk headers and lines, without the two lines that name the file."""
    head, tail = _equal_ends(old, new)
    if (len(old) - head - tail) * (len(new) - head - tail) > _WORK_LIMIT:
        return _one_block(old, new, head, tail)
    return list(difflib.unified_diff(old, new, n=_CONTEXT))[2:]


def _equal_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines at the beginning and at the end are the same."""
    most = min(len(old), len(new))
    head = 0
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _one_block(old: list[str], new: list[str], head: int, tail: int) -> list[str]:
    """Everything between the equal ends as one replaced block, with context."""
    first = max(0, head - _CONTEXT)
    after = min(_CONTEXT, tail)
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    kept = head - first + after
    header = f"@@ -{first + 1},{len(removed) + kept} +{first + 1},{len(added) + kept} @@\n"
    rest = old[len(old) - tail : len(old) - tail + after]
    return [
        header,
        *(" " + line for line in old[first:head]),
        *("-" + line for line in removed),
        *("+" + line for line in added),
        *(" " + line for line in rest),
    ]
