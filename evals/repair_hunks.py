"""The difference of two source folders in hunks that can be taken one by one."""

import difflib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from checkrein.evals.repair_cases import TESTS, Edit, files_below

_CONTEXT = 3


class Hunk(NamedTuple):
    """Lines of one file that were replaced: old[start:end] by `new`."""

    path: str
    start: int
    end: int
    new: tuple[str, ...]


def hunks(before: Path, after: Path) -> list[Hunk]:
    """Every hunk between two programs, by file and line, tests left out.

    Files that went away stay where they were.
    """
    found: list[Hunk] = []
    for path in files_below(after):
        if path.suffix == ".py" and path.parts[0] != TESTS:
            old, new = _lines(before / path), _lines(after / path)
            matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
            found += [
                Hunk(path.as_posix(), start, end, tuple(new[a:b]))
                for tag, start, end, a, b in matcher.get_opcodes()
                if tag != "equal"
            ]
    return found


def patched(before: Path, chosen: Collection[Hunk]) -> dict[str, str]:
    """The files that some hunks change, as they are then."""
    texts: dict[str, str] = {}
    for path in sorted({hunk.path for hunk in chosen}):
        lines = _lines(before / path)
        of_file = sorted((hunk for hunk in chosen if hunk.path == path), reverse=True)
        for hunk in of_file:  # from the end, so that earlier places stay where they are
            lines[hunk.start : hunk.end] = hunk.new
        texts[path] = "".join(lines)
    return texts


def edits(before: Path, texts: dict[str, str]) -> list[Edit]:
    """A unified diff for each file that is to be otherwise."""
    return [Edit(path, diff(path, before / path, text)) for path, text in texts.items()]


def diff(path: str, before: Path, text: str) -> str:
    """A unified diff of one file, which need not exist yet."""
    source = f"a/{path}" if before.exists() else "/dev/null"
    lines = difflib.unified_diff(
        _lines(before), text.splitlines(keepends=True), source, f"b/{path}", n=_CONTEXT
    )
    return "".join(lines)


def subsets(found: Sequence[Hunk]) -> list[list[Hunk]]:
    """Parts of a patch that are worth a try: all but one, then one alone; the largest first."""
    but_one = [[h for h in found if h is not left_out] for left_out in found]
    return [part for part in [*but_one, *([h] for h in found)] if part and len(part) < len(found)]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
