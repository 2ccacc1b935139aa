"""What every Workspace must do, as checks that run against any adapter of the port.

An adapter's tests make a workspace of a folder that holds what `furnish` puts there; each check of
CHECKS is awaited with both and raises AssertionError with what went wrong. A check changes the
folder, so that each needs one of its own.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from checkrein.ports.workspace import Workspace


@dataclass(frozen=True)
class Opened:
    """What a check is given: a workspace, and two folders.

    Attributes:
        root: the folder that the workspace is about.
        spare: a folder, outside of it, in which the check may make others.
    """

    workspace: Workspace
    root: Path
    spare: Path


Check = Callable[[Opened], Awaitable[None]]

TEXT = "src/app.py"
NOTES = "notes.txt"


def furnish(root: Path) -> None:
    """Put the files that the checks expect into an empty folder."""
    (root / "src").mkdir()
    (root / TEXT).write_text("one\ntwo\n", encoding="utf-8")
    (root / NOTES).write_text("note\n", encoding="utf-8")


def _change(path: Path) -> None:
    path.write_text("changed\n", encoding="utf-8")


async def it_says_where_it_is(opened: Opened) -> None:
    """The reference names the folder, and its baseline is the digest at the start."""
    ref = opened.workspace.ref
    _must(Path(ref.root) == opened.root, f"the root is {ref.root}, not {opened.root}")
    _must(await opened.workspace.digest() == ref.baseline, "the baseline is not the digest")


async def the_digest_covers_content(opened: Opened) -> None:
    """Another byte is another digest, and the old content has the old one again."""
    before = await opened.workspace.digest()
    _change(opened.root / NOTES)
    _must(await opened.workspace.digest() != before, "a changed file left the digest as it was")
    (opened.root / NOTES).write_text("note\n", encoding="utf-8")
    _must(await opened.workspace.digest() == before, "equal content has another digest")


async def the_digest_covers_names_and_modes(opened: Opened) -> None:
    """A rename, a new folder and an executable bit are changes."""
    seen = {await opened.workspace.digest()}
    (opened.root / NOTES).chmod(0o755)
    seen.add(await opened.workspace.digest())
    (opened.root / NOTES).rename(opened.root / "other.txt")
    seen.add(await opened.workspace.digest())
    (opened.root / "empty").mkdir()
    seen.add(await opened.workspace.digest())
    _must(len(seen) == 4, f"4 states have {len(seen)} digests")


async def git_is_left_out(opened: Opened) -> None:
    """Git's own files are no content: neither digest nor copy holds them."""
    before = await opened.workspace.digest()
    (opened.root / ".git").mkdir()
    (opened.root / ".git" / "HEAD").write_text("x", encoding="utf-8")
    _must(await opened.workspace.digest() == before, "the digest covers .git")
    await opened.workspace.copy_to(opened.spare / "copy")
    _must(not (opened.spare / "copy" / ".git").exists(), "the copy holds .git")


async def a_copy_is_what_it_was_made_of(opened: Opened) -> None:
    """The copy has the content, the digest says so, and a change of it stays in it."""
    copy = opened.spare / "copy"
    found = await opened.workspace.copy_to(copy)
    _must(found == await opened.workspace.digest(), "the copy's digest is another one")
    _must((copy / TEXT).read_text(encoding="utf-8") == "one\ntwo\n", "the copy lacks content")
    _change(copy / TEXT)
    _must(await opened.workspace.digest() == found, "a change of the copy reached the folder")


async def changes_are_named(opened: Opened) -> None:
    """What differs, is gone or is new is named where a pattern covers it, and only there."""
    _must(await opened.workspace.changed(["**"]) == [], "something differs at the start")
    _change(opened.root / TEXT)
    _change(opened.root / "src" / "new.py")
    (opened.root / NOTES).unlink()
    inside = await opened.workspace.changed(["src/**"])
    _must(inside == [TEXT, "src/new.py"], f"changed in src/**: {inside}")
    _must(await opened.workspace.changed(["docs/**"]) == [], "a pattern covers too much")
    _must(await opened.workspace.changed([NOTES]) == [NOTES], "a file that is gone is not named")


async def what_cannot_be_published_is_named(opened: Opened) -> None:
    """A link, and a file that became a folder, are named; files and new folders are not."""
    _change(opened.root / TEXT)
    (opened.root / "new").mkdir()
    found = await opened.workspace.unpublishable()
    _must(found == [], f"ordinary changes cannot be published: {found}")
    (opened.root / "new" / "link").symlink_to("elsewhere")
    (opened.root / NOTES).unlink()
    (opened.root / NOTES).mkdir()
    found = await opened.workspace.unpublishable()
    paths = [one.partition(":")[0] for one in found]
    _must(paths == ["new/link", NOTES], f"cannot be published: {found}")


async def the_original_stays(opened: Opened) -> None:
    """What a file was at the start can be read whatever became of it."""
    _change(opened.root / TEXT)
    (opened.root / NOTES).unlink()
    _change(opened.root / "src" / "new.py")
    read = [await opened.workspace.original(path) for path in (TEXT, NOTES, "src/new.py", "src")]
    _must(read == [b"one\ntwo\n", b"note\n", None, None], f"at the start there was {read}")


async def the_diff_shows_text_and_names_the_rest(opened: Opened) -> None:
    """Text is shown line by line; what is no text is named."""
    _must(await opened.workspace.diff() == "", "there is a diff at the start")
    (opened.root / TEXT).write_text("one\n2\n", encoding="utf-8")
    (opened.root / NOTES).write_bytes(b"\0\1")
    diff = await opened.workspace.diff()
    for part in (f"--- a/{TEXT}\n", f"+++ b/{TEXT}\n", "\n-two\n+2\n", NOTES):
        _must(part in diff, f"the diff lacks {part!r}")
    _must("\0" not in diff, "the diff holds bytes that are no text")


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        it_says_where_it_is,
        the_digest_covers_content,
        the_digest_covers_names_and_modes,
        git_is_left_out,
        a_copy_is_what_it_was_made_of,
        changes_are_named,
        what_cannot_be_published_is_named,
        the_original_stays,
        the_diff_shows_text_and_names_the_rest,
    )
}
"""Every check by its name."""


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)
