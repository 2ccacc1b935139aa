"""Unified diffs of one text file: applied strictly, and written so that they apply again.

A line ends at a line feed and nowhere else, so that a form feed or a lone carriage return within
a line stays where it is.
"""

import io
from dataclasses import dataclass

from unidiff.constants import DEV_NULL
from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

from checkrein.adapters.workspace_paths import segments_of
from checkrein.contracts.codec import visible
from checkrein.errors import CapabilityError

_OP = "workspace.apply_patch"
_SHAPE = (
    "Send one unified diff for one file: '--- a/PATH', '+++ b/PATH', then hunks '@@ -L,N +L,N @@' "
    "whose lines begin with a space, '-' or '+'."
)
# Where file length times hunk length exceeds this, a hunk is only tried at its stated place.
_SEARCH_LIMIT = 20_000_000


@dataclass(frozen=True)
class _Hunk:
    """One hunk: its header, where it says it goes (from 0), and what it replaces by what.

    `verbatim`: its line endings are meant as they stand; else those of the file are kept.
    """

    number: int
    header: str
    start: int
    old: list[str]
    new: list[tuple[str, int | None]]
    verbatim: bool


def lines_of(text: str) -> list[str]:
    """Lines with their ends, split at line feeds only."""
    return list(io.StringIO(text, newline="\n"))


def apply_patch(text: str | None, patch: str, path: str) -> str:
    """Apply a unified diff to the text of one file; `None` for a file that is not there.

    Context and removed lines must match at the stated place, or at exactly one other place; there
    is no fuzz. Line endings and a missing final line feed stay as they are in the file.

    Raises:
        CapabilityError: patch_does_not_apply, with the hunk, the expected and the found line;
            patch_names_other_file where it is not for this file alone.
    """
    patched = _only_file(patch, path)
    hunks = [_hunk(number, patched, patch) for number in range(1, len(patched) + 1)]
    if text is None and any(hunk.old for hunk in hunks):
        raise _fails(f"{path} does not exist, yet the patch changes lines of it", "")
    if text is not None and patched.source_file.strip() == DEV_NULL:
        raise _fails(f"{path} exists, yet the patch creates it", "Patch the file as it is now.")
    lines = lines_of(text or "")
    result: list[str] = []
    done = 0
    for hunk in hunks:
        at = _place(lines, hunk)
        if at < done:
            raise _fails(f"{_named(hunk)} overlaps the one before", "Merge them, or put in order.")
        result += lines[done:at] + _replaced(lines, hunk, at)
        done = at + len(hunk.old)
    return "".join(result + lines[done:])


def _only_file(patch: str, path: str) -> PatchedFile:
    """Parse a patch that is for one file, and for this one."""
    text = patch if patch.endswith("\n") else patch + "\n"
    if text.lstrip().startswith("@@"):
        text = f"--- a/{path}\n+++ b/{path}\n{text.lstrip()}"
    try:
        files = PatchSet(text)
    except UnidiffParseError as error:
        advice = f"{_SHAPE} Both numbers N must count the lines that follow."
        raise _fails(f"the patch cannot be read ({visible(str(error)).strip()})", advice) from error
    _check_names(files, path)
    (patched,) = files
    if not patched:
        raise _fails("the patch holds no hunk", _SHAPE)
    modes = {patched.source_mode, patched.target_mode} - {None}
    if len(modes) > 1:
        raise _fails("the patch changes file modes", "Leave modes alone; change content only.")
    _check_nothing_lost(text, patched)
    return patched


def _check_names(files: PatchSet, path: str) -> None:
    names: list[str] = []
    for patched in files:
        for name in (patched.source_file, patched.target_file):
            plain = name.strip().strip('"')
            if plain != DEV_NULL and not _same_file(plain, path) and plain not in names:
                names.append(plain)
    if not files:
        raise _fails("the patch holds no file header and no hunk", _SHAPE)
    if len(files) == 1 and not names:
        if files[0].target_file.strip() == DEV_NULL:
            raise _fails("the patch deletes the file", "Change files; deleting is not on offer.")
        if files[0].is_binary_file:
            raise _fails("the patch is binary", "Patch text files only.")
        return
    others = ", ".join(visible(name[:120]) for name in names[:5]) or f"{path} more than once"
    raise CapabilityError(
        f"The patch is not for {path} alone: it names {others}.",
        op=_OP,
        code="patch_names_other_file",
        advice=f"Send one call for each file; here only {path} may stand in '---' and '+++'.",
    )


def _same_file(name: str, path: str) -> bool:
    """Whether a header's name, with or without its one-letter prefix, is this path."""
    wanted = segments_of(path, op=_OP)
    names = [name, name[2:]] if name[:2] in ("a/", "b/") else [name]
    return any(tuple(part for part in n.split("/") if part != ".") == wanted for n in names)


def _check_nothing_lost(text: str, patched: PatchedFile) -> None:
    """Refuse lines that stand in no hunk: counts that are too small would drop them silently."""
    used = {line.diff_line_no for hunk in patched for line in hunk}
    inside = False
    for number, line in enumerate(lines_of(text), 1):
        inside = inside or line.startswith("@@ ")
        blank = not line.strip() or line.startswith(("@@ ", "\\ "))
        if inside and not blank and number not in used:
            advice = "Both numbers N of '@@ -L,N +L,N @@' must count the lines that follow."
            raise _fails(f"line {number} of the patch lies outside of its hunks", advice)


def _hunk(number: int, patched: PatchedFile, patch: str) -> _Hunk:
    """Take one parsed hunk over; the marker for a missing final line feed ends the line before."""
    hunk = patched[number - 1]
    old: list[str] = []
    new: list[tuple[str, int | None]] = []
    marked, last = False, ""
    for line in hunk:
        if line.line_type == "\\":
            marked = True
            if last in ("-", " "):
                old[-1] = old[-1].removesuffix("\n")
            if last in ("+", " "):
                new[-1] = (new[-1][0].removesuffix("\n"), new[-1][1])
            continue
        if line.line_type == "":
            continue  # blank lines after the hunk
        last = line.line_type
        if last in ("+", " "):
            new.append((line.value, len(old) if last == " " else None))
        if last in ("-", " "):
            old.append(line.value)
    header = f"@@ -{hunk.source_start},{hunk.source_length} "
    header += f"+{hunk.target_start},{hunk.target_length} @@"
    start = hunk.source_start - 1 if old else hunk.source_start
    return _Hunk(number, header, max(start, 0), old, new, marked or "\r" in patch)


def _place(lines: list[str], hunk: _Hunk) -> int:
    """The line, from 0, at which a hunk goes."""
    size = len(hunk.old)
    if not size:
        if hunk.start > len(lines):
            raise _fails(
                f"{_named(hunk)} inserts after line {hunk.start}, but the file has {len(lines)}",
                "Read the file again, and give context lines.",
            )
        return hunk.start
    if _matches(lines, hunk, hunk.start):
        return hunk.start
    found: list[int] = []
    if len(lines) * size <= _SEARCH_LIMIT:
        found = [at for at in range(len(lines) - size + 1) if _matches(lines, hunk, at)]
    if len(found) > 1:
        places = ", ".join(str(at + 1) for at in found[:5])
        raise _fails(
            f"{_named(hunk)} does not match at line {hunk.start + 1}, and at several other places "
            f"(lines {places})",
            "State the right line, or give more context lines.",
        )
    if not found:
        raise _mismatch(lines, hunk)
    return found[0]


def _matches(lines: list[str], hunk: _Hunk, at: int) -> bool:
    there = lines[at : at + len(hunk.old)]
    if there == hunk.old:
        return True
    if hunk.verbatim or len(there) != len(hunk.old):
        return False
    return all(_bare(a) == _bare(b) for a, b in zip(there, hunk.old, strict=True))


def _replaced(lines: list[str], hunk: _Hunk, at: int) -> list[str]:
    """The new lines of a matched hunk, with the line endings of the file where they differ."""
    there = lines[at : at + len(hunk.old)]
    if there == hunk.old or hunk.verbatim:
        return [line for line, _ in hunk.new]
    end = "\r\n" if any(line.endswith("\r\n") for line in there) else "\n"
    result: list[str] = []
    for line, origin in hunk.new:
        kept = there[origin] if origin is not None else ""
        result.append(kept if kept.endswith("\n") else _bare(kept or line) + end)
    if result and not there[-1].endswith("\n"):
        result[-1] = _bare(result[-1])  # the file has no final line feed, and keeps none
    return result


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _mismatch(lines: list[str], hunk: _Hunk) -> CapabilityError:
    """Name the first line that differs at the stated place."""
    for offset, expected in enumerate(hunk.old):
        at = hunk.start + offset
        found = lines[at] if at < len(lines) else None
        if found is None or (found if hunk.verbatim else _bare(found)) != (
            expected if hunk.verbatim else _bare(expected)
        ):
            seen = "the file ends before it" if found is None else f"the file has {_quoted(found)}"
            return _fails(
                f"{_named(hunk)} expects {_quoted(expected)} at line {at + 1}, but {seen}",
                "Read the file again and copy the context lines exactly.",
            )
    return _fails(f"{_named(hunk)} matches nowhere", "Read the file again.")


def _quoted(line: str) -> str:
    return repr(visible(line[:160]))


def _named(hunk: _Hunk) -> str:
    return f"hunk {hunk.number} ({hunk.header})"


def _fails(why: str, advice: str) -> CapabilityError:
    return CapabilityError(
        f"The patch does not apply: {why}.",
        op=_OP,
        code="patch_does_not_apply",
        advice=f"{advice} ({why})" if advice else f"Read the file first. ({why})",
    )
