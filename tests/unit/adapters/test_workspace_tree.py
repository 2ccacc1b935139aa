"""The digest: it changes with any byte, mode or name, and with nothing else."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_paths import GuardedFolder
from checkrein.adapters.workspace_tree import HashCache, digest_of_entries, entries
from checkrein.contracts.codec import digest as digest_of_bytes
from checkrein.errors import EnvironmentFault


def digest(root: Path) -> str:
    return digest_of_entries(entries(GuardedFolder(root), HashCache()))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": lambda root: (root / "notes.txt").write_bytes(b"n0te\n"),
    "executable": lambda root: (root / "notes.txt").chmod(0o755),
    "renamed": lambda root: (root / "notes.txt").rename(root / "notes2.txt"),
    "gone": lambda root: (root / "notes.txt").unlink(),
    "new": lambda root: (root / "new.txt").write_bytes(b""),
    "new folder": lambda root: (root / "empty").mkdir(),
    "moved below": lambda root: (root / "notes.txt").rename(root / "src" / "notes.txt"),
    "a link": lambda root: (root / "link").symlink_to("notes.txt"),
    "a pipe": lambda root: os.mkfifo(root / "pipe"),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.shows(246)
async def test_any_change_changes_the_digest(
    what: str, workspace: FolderWorkspace, source: Path
) -> None:
    """Protects what approvals and verifications bind to."""
    before = await workspace.digest()
    assert before == workspace.ref.baseline
    CHANGES[what](source)
    assert await workspace.digest() != before


@pytest.mark.shows(246)
async def test_the_same_content_has_the_same_digest(
    workspace: FolderWorkspace, source: Path, tmp_path: Path
) -> None:
    """Protects against digests that depend on time, place or order."""
    before = await workspace.digest()
    shutil.copytree(source, tmp_path / "elsewhere")
    os.utime(source / "notes.txt", (1, 1))
    assert await workspace.digest() == before == digest(tmp_path / "elsewhere")


async def test_a_change_that_keeps_size_and_time_is_seen(
    workspace: FolderWorkspace, source: Path
) -> None:
    """Protects against the cache: size and modification time can be forged, content cannot."""
    await asyncio.sleep(0.06)
    status = (source / "notes.txt").stat()
    before = await workspace.digest()
    (source / "notes.txt").write_bytes(b"eton\n")
    os.utime(source / "notes.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert await workspace.digest() != before


async def test_changes_within_one_clock_tick_are_seen(
    workspace: FolderWorkspace, source: Path
) -> None:
    """Protects against a cached hash of a file that changed again at once."""
    seen: set[str] = set()
    for n in range(50):
        (source / "notes.txt").write_bytes(f"{n:05}".encode())
        seen.add(await workspace.digest())
    assert len(seen) == 50


async def test_a_hash_is_kept_only_of_a_file_that_has_settled(source: Path) -> None:
    """Protects against coarse clocks: a file changed just now may change again under its stamp."""
    hashes, path = HashCache(), source / "notes.txt"
    path.write_bytes(b"fresh")
    with path.open("rb") as stream:
        hashes.of(stream.fileno())
        assert hashes.known(path.stat()) is None
        await asyncio.sleep(0.06)
        stream.seek(0)
        assert hashes.of(stream.fileno()) == digest_of_bytes(b"fresh")
    assert hashes.known(path.stat()) == digest_of_bytes(b"fresh")


async def test_git_and_half_written_files_are_left_out(
    workspace: FolderWorkspace, source: Path
) -> None:
    """Protects the digest against what is no content."""
    before = await workspace.digest()
    (source / ".git").mkdir()
    (source / ".git" / "HEAD").write_text("x")
    (source / "src" / ".checkrein-tmp-eff_9").write_text("half")
    assert await workspace.digest() == before


async def test_names_that_are_no_text_are_covered(workspace: FolderWorkspace, source: Path) -> None:
    """Protects against files that a digest could not name."""
    before = await workspace.digest()
    (source / os.fsdecode(b"\xff\xfe")).write_bytes(b"x")
    assert await workspace.digest() != before


def test_lists_of_entries_cannot_be_confused(tmp_path: Path) -> None:
    """Protects against two trees that read the same once written down."""
    one, two = tmp_path / "one", tmp_path / "two"
    for root, name, target in ((one, "a", "b\nc"), (two, "a\nb", "c")):
        root.mkdir()
        (root / name).symlink_to(target)
    assert digest(one) != digest(two)


def test_folders_without_end_are_refused(tmp_path: Path) -> None:
    """Protects the stack."""
    deep = tmp_path / "deep"
    deep.joinpath(*["d"] * 140).mkdir(parents=True)
    with pytest.raises(EnvironmentFault, match="nested deeper"):
        digest(deep)


async def test_an_unchanged_file_is_not_read_again(
    workspace: FolderWorkspace, source: Path
) -> None:
    """Protects speed: repeated digests cost a look at each file, not its content."""
    (source / "big").write_bytes(b"x" * 50_000_000)
    await asyncio.sleep(0.06)
    first = time.perf_counter()
    one = await workspace.digest()
    second = time.perf_counter()
    two = await workspace.digest()
    third = time.perf_counter()
    assert one == two
    assert third - second < (second - first) / 2
