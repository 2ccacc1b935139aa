"""The swap: from a known version to a known version, once, whoever races and whoever dies."""

import asyncio
import os
from pathlib import Path

import pytest

from checkrein.adapters.workspace import AFTER_FILE_WRITE, FolderWorkspace
from checkrein.adapters.workspace_swap import ABSENT, folder_lock
from checkrein.contracts.codec import digest
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError

OLD = digest(b"one\ntwo\nthree\n")
APP = "src/app.py"


async def owner() -> bool:
    """Still the owner."""
    return True


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def swap(
    workspace: FolderWorkspace, data: bytes, *, path: str = APP, from_version: str = OLD
) -> Outcome:
    return await workspace.swap(
        path, effect_id="eff_1", from_version=from_version, data=data, still_owner=owner
    )


async def code_of(workspace: FolderWorkspace, path: str, from_version: str = ABSENT) -> str:
    with pytest.raises(CapabilityError) as caught:
        await swap(workspace, b"x", path=path, from_version=from_version)
    assert not caught.value.effect_possible
    return caught.value.code


async def test_it_swaps_from_the_known_version(workspace: FolderWorkspace, source: Path) -> None:
    """Protects the receipt: the version that it names is what lies there."""
    (source / APP).chmod(0o750)
    outcome = await swap(workspace, b"new\n")
    assert outcome.status is EffectStatus.COMMITTED
    assert outcome.version == digest(b"new\n") == await workspace.version(APP)
    assert (source / APP).read_bytes() == b"new\n"
    assert (source / APP).stat().st_mode & 0o777 == 0o750
    assert names(source / "src") == ["app.py"]


async def test_another_version_is_refused(workspace: FolderWorkspace, source: Path) -> None:
    """Protects what somebody else wrote meanwhile."""
    (source / APP).write_bytes(b"theirs\n")
    outcome = await swap(workspace, b"ours\n")
    assert (outcome.status, outcome.error_type) == (EffectStatus.REFUSED, "version_changed")
    assert outcome.version == digest(b"theirs\n")
    assert (source / APP).read_bytes() == b"theirs\n"
    gone = await swap(workspace, b"ours\n", path="src/deep/gone.py", from_version=OLD)
    assert (gone.status, gone.version) == (EffectStatus.REFUSED, ABSENT)
    assert not (source / "src" / "deep").exists()


async def test_doing_it_twice_is_doing_it_once(workspace: FolderWorkspace, source: Path) -> None:
    """Protects a repeated send under the same key: it reports, and writes nothing."""
    await swap(workspace, b"new\n")
    before = (source / APP).stat()
    outcome = await swap(workspace, b"new\n")
    assert outcome.status is EffectStatus.COMMITTED
    assert outcome.result["already"] is True
    assert (source / APP).stat().st_ino == before.st_ino


async def test_new_files_bring_their_folders(workspace: FolderWorkspace, source: Path) -> None:
    """Protects write_file on a path that is not there yet."""
    outcome = await swap(workspace, b"x", path="a/b/c.txt", from_version=ABSENT)
    assert outcome.status is EffectStatus.COMMITTED
    assert (source / "a" / "b" / "c.txt").stat().st_mode & 0o777 == 0o644


async def test_paths_that_may_not_be_written(
    workspace: FolderWorkspace, source: Path, tmp_path: Path
) -> None:
    """Protects what lies outside, links, folders, and Git's own files."""
    (source / "link").symlink_to(tmp_path / "secret.txt")
    (source / "out").symlink_to(tmp_path)
    (source / ".git").mkdir()
    assert await code_of(workspace, "../secret.txt") == "path_outside_workspace"
    assert await code_of(workspace, "link") == "path_outside_workspace"
    assert await code_of(workspace, "out/secret.txt") == "path_outside_workspace"
    assert await code_of(workspace, "out/new.txt") == "path_outside_workspace"
    assert await code_of(workspace, "src") == "not_a_file"
    for path in (".", ".git/config", ".GIT/hooks/pre-commit", "src/.git/x"):
        assert await code_of(workspace, path) == "reserved_path"
    assert (tmp_path / "secret.txt").read_bytes() == b"secret\n"
    assert not (tmp_path / "new.txt").exists()


async def test_a_former_owner_writes_nothing(workspace: FolderWorkspace, source: Path) -> None:
    """Protects against an owner that was frozen, was replaced, and wakes up inside the swap."""

    async def replaced() -> bool:
        return False

    with pytest.raises(CapabilityError) as caught:
        await workspace.swap(
            APP, effect_id="e", from_version=OLD, data=b"late\n", still_owner=replaced
        )
    assert (caught.value.code, caught.value.effect_possible) == ("not_owner", False)
    assert (source / APP).read_bytes() == b"one\ntwo\nthree\n"


async def test_ownership_is_asked_inside_the_lock(
    workspace: FolderWorkspace, home: Path, source: Path
) -> None:
    """Protects the order: an answer from before the lock could be out of date."""
    asked: list[str] = []

    async def ask() -> bool:
        with pytest.raises(CapabilityError) as caught:
            async with folder_lock(home, source, wait_s=0):
                pass
        asked.append(caught.value.code)
        return True

    await workspace.swap(APP, effect_id="e", from_version=OLD, data=b"x", still_owner=ask)
    assert asked == ["workspace_busy"]


async def test_waiting_for_the_lock_has_an_end(
    workspace: FolderWorkspace, home: Path, source: Path
) -> None:
    """Protects against waiting for ever behind a process that hangs."""
    impatient = FolderWorkspace(workspace.ref, home=home, attempt_id="a1", lock_wait_s=0.05)
    async with folder_lock(home, source, wait_s=1):
        assert await code_of(impatient, APP, OLD) == "workspace_busy"
    assert (await swap(impatient, b"x")).status is EffectStatus.COMMITTED


async def test_many_tasks_of_one_process_take_turns(workspace: FolderWorkspace) -> None:
    """Protects against waiters that use up the threads which the owner of the lock needs."""

    async def one(n: int) -> Outcome:
        return await workspace.swap(
            APP, effect_id=f"e{n}", from_version=OLD, data=b"%d" % n, still_owner=owner
        )

    outcomes = await asyncio.gather(*(one(n) for n in range(40)))
    assert [o.status for o in outcomes].count(EffectStatus.COMMITTED) == 1
    assert [o.status for o in outcomes].count(EffectStatus.REFUSED) == 39


async def test_a_cancelled_swap_keeps_the_lock_until_its_thread_is_done(
    workspace: FolderWorkspace, home: Path, source: Path
) -> None:
    """Protects against a write that goes on in its thread after another has the lock."""
    reached = asyncio.Event()

    async def at(place: str) -> None:
        reached.set()
        await asyncio.sleep(30)

    slow = FolderWorkspace(workspace.ref, home=home, attempt_id="a1", failpoint=at)
    task = asyncio.create_task(swap(slow, b"x"))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with folder_lock(home, source, wait_s=0):
        assert (source / APP).read_bytes() == b"x"


async def test_the_failpoint_lies_right_after_the_rename(
    workspace: FolderWorkspace, home: Path, source: Path
) -> None:
    """Protects crash tests: where they kill, the file is there and no answer was given."""
    seen: list[tuple[str, bytes]] = []

    async def at(place: str) -> None:
        seen.append((place, (source / APP).read_bytes()))

    watched = FolderWorkspace(workspace.ref, home=home, attempt_id="a1", failpoint=at)
    await swap(watched, b"x")
    assert seen == [(AFTER_FILE_WRITE, b"x")]


async def test_a_disk_that_refuses_leaves_the_old_content(
    workspace: FolderWorkspace, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the old file, and the claim that nothing has happened."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.rename", refuse)
        assert await code_of(workspace, APP, OLD) == "not_written"
        assert await code_of(workspace, "new/folder/x.txt") == "not_written"
    assert await workspace.digest() == workspace.ref.baseline
    assert names(source) == ["notes.txt", "src"]


async def test_a_rename_that_may_not_last_is_unknown(
    workspace: FolderWorkspace, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects against calling done what a power cut may undo."""
    sync = os.fsync

    def folders_refuse(fd: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            raise OSError(5, "Input/output error")
        sync(fd)

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", folders_refuse)
        outcome = await swap(workspace, b"x")
    assert outcome.status is EffectStatus.UNKNOWN_EFFECT
    assert (source / APP).read_bytes() == b"x"


async def test_a_planted_half_written_file_is_not_written_into(
    workspace: FolderWorkspace, source: Path, tmp_path: Path
) -> None:
    """Protects files outside that carry the same inode, or that a link leads to."""
    temp = source / "src" / ".checkrein-tmp-eff_1"
    temp.hardlink_to(tmp_path / "secret.txt")
    await swap(workspace, b"x")
    temp.symlink_to(tmp_path / "secret.txt")
    await swap(workspace, b"y", from_version=digest(b"x"))
    assert (tmp_path / "secret.txt").read_bytes() == b"secret\n"
    assert (source / APP).read_bytes() == b"y"
