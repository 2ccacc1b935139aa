"""What is neither a plain file nor a folder, and what somebody moves in the very moment."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from swapping import Steps

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.contracts.codec import digest
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError, EnvironmentFault

OLD = digest(b"one\ntwo\nthree\n")
NEW = b"new\n"
APP = "src/app.py"


async def owner() -> bool:
    """Still the owner."""
    return True


async def swap(workspace: FolderWorkspace, path: str = APP, version: str = OLD) -> Outcome:
    return await workspace.swap(
        path, effect_id="eff_1", from_version=version, data=NEW, still_owner=owner
    )


def read(workspace: FolderWorkspace, *segments: str) -> bytes:
    return workspace.files.read(segments, op="test", limit=1_000)


@pytest.mark.shows(247, 267)
async def test_a_write_through_a_hard_link_leaves_the_other_name_alone(
    workspace: FolderWorkspace, source: Path, tmp_path: Path
) -> None:
    """Protects a file outside that has a second name in the workspace: it is left as it was."""
    outside = tmp_path / "secret.txt"
    outside.chmod(0o640)
    (source / "twin").hardlink_to(outside)
    before = outside.stat()
    outcome = await swap(workspace, "twin", digest(outside.read_bytes()))
    assert outcome.status is EffectStatus.COMMITTED
    assert (source / "twin").read_bytes() == NEW
    assert outside.read_bytes() == b"secret\n"
    assert outside.stat().st_mode == before.st_mode
    assert outside.stat().st_ino != (source / "twin").stat().st_ino


async def test_a_copy_shares_no_inode(
    workspace: FolderWorkspace, source: Path, tmp_path: Path
) -> None:
    """Protects what is outside from commands: a copy holds files of its own."""
    (source / "twin").hardlink_to(tmp_path / "secret.txt")
    await workspace.copy_to(tmp_path / "copy")
    assert (tmp_path / "copy" / "twin").stat().st_nlink == 1


@pytest.mark.shows(247, 267)
@pytest.mark.parametrize("what", ["pipe", "socket", "device"])
async def test_pipes_sockets_and_devices(
    what: str, workspace: FolderWorkspace, source: Path, tmp_path: Path
) -> None:
    """Protects: none of them is opened for its content, which might never end."""
    place = source / "odd"
    server = socket.socket(socket.AF_UNIX)
    if what == "pipe":
        os.mkfifo(place)
    elif what == "socket":
        server.bind(str(place))
    else:
        try:
            os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
        except PermissionError:
            pytest.skip("only root can make a device; run the tests as root to see this one")
    try:
        for use in (lambda: read(workspace, "odd"), lambda: workspace.version_now("odd")):
            with pytest.raises(CapabilityError):
                use()
        assert await workspace.changed(["**"]) == ["odd"]
        assert "odd" not in await workspace.diff()
        with pytest.raises(EnvironmentFault, match="pipe, socket or device"):
            await workspace.copy_to(tmp_path / "copy")
        with pytest.raises(CapabilityError):
            await swap(workspace, "odd", "absent")
    finally:
        server.close()


@pytest.mark.shows(247, 267)
@pytest.mark.parametrize("link", ["/proc/self/fd/{fd}", "/proc/self/root{outside}", "/dev/fd/{fd}"])
async def test_magic_links_are_links(
    link: str, workspace: FolderWorkspace, source: Path, tmp_path: Path
) -> None:
    """Protects files that this process has open: a link to its descriptors is not followed."""
    outside = tmp_path / "secret.txt"
    with outside.open("rb") as opened:
        (source / "magic").symlink_to(link.format(fd=opened.fileno(), outside=outside))
        with pytest.raises(CapabilityError, match="symbolic link"):
            read(workspace, "magic")
        with pytest.raises(CapabilityError, match="symbolic link"):
            await swap(workspace, "magic", digest(b"secret\n"))
        assert workspace.files.locate("path", "magic").inside is False
        assert await workspace.version("notes.txt") == digest(b"note\n")
    assert outside.read_bytes() == b"secret\n"


def before_call(
    monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]
) -> Callable[[], None]:
    """Act once, right before the next call of a function of `os`; returns what arms it."""
    call = getattr(os, name)
    armed: list[bool] = []

    def acting(*args: Any, **kwargs: Any) -> Any:
        if armed:
            armed.clear()
            act()
        return call(*args, **kwargs)

    monkeypatch.setattr(os, name, acting)
    return lambda: armed.append(True)


@pytest.mark.shows(247, 267)
async def test_a_folder_that_is_moved_out_before_the_rename(
    workspace: FolderWorkspace, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects what is outside: nothing stays in a folder that left while it was written to."""
    away = tmp_path / "away"
    arm = before_call(monkeypatch, "fchmod", lambda: os.rename(source / "src", away))
    arm()
    with pytest.raises(CapabilityError, match="moved meanwhile") as caught:
        await swap(workspace)
    assert (caught.value.code, caught.value.effect_possible) == ("not_written", False)
    assert [(f.name, f.read_bytes()) for f in away.iterdir()] == [("app.py", b"one\ntwo\nthree\n")]


@pytest.mark.shows(267)
async def test_a_folder_that_is_moved_out_in_the_moment_of_the_rename(
    workspace: FolderWorkspace, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the receipt: no version is claimed of a file that is not where it should be."""
    rename, away = os.rename, tmp_path / "away"
    arm = before_call(monkeypatch, "rename", lambda: rename(source / "src", away))
    arm()
    outcome = await swap(workspace)
    assert (outcome.status, outcome.error_type) == (EffectStatus.UNKNOWN_EFFECT, "moved_meanwhile")


@pytest.mark.shows(247, 267)
async def test_a_half_written_file_that_somebody_swaps(
    workspace: FolderWorkspace, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the receipt: what an enemy put in the place of our file is not called ours."""
    rename = os.rename

    def planted() -> None:
        (temp,) = (source / "src").glob(".checkrein-tmp-*")
        temp.unlink()
        temp.symlink_to(tmp_path / "secret.txt")

    arm = before_call(monkeypatch, "rename", planted)
    arm()
    outcome = await swap(workspace)
    assert outcome.status is EffectStatus.UNKNOWN_EFFECT
    assert rename is not os.rename
    with pytest.raises(CapabilityError, match="symbolic link"):
        read(workspace, "src", "app.py")
    assert (tmp_path / "secret.txt").read_bytes() == b"secret\n"


@pytest.mark.shows(267)
async def test_a_path_that_never_stands_still(
    workspace: FolderWorkspace, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the run: resolving what changes all the time ends, and says that it is outside."""

    def changing(*_: Any, **__: Any) -> Any:
        raise OSError(22, "Invalid argument")

    (source / "hop").symlink_to("src")
    monkeypatch.setattr(os, "readlink", changing)
    assert workspace.files.locate("path", "hop/app.py").inside is False


async def test_the_steps_are_counted(
    workspace: FolderWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the tests of races: the calls that they act before are really made."""
    steps = Steps(monkeypatch)
    acted: list[int] = []
    steps.start({2: lambda: acted.append(2)})
    read(workspace, "src", "app.py")
    assert steps.stop() > 5
    assert acted == [2]
