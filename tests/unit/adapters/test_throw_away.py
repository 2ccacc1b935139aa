"""Folders for one piece of work: gone afterwards, and swept where their owner was killed."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from checkrein.adapters.throw_away import sweep, throw_away_folder
from checkrein.errors import EnvironmentFault

OWNER = """
import asyncio, sys
from checkrein.adapters.throw_away import throw_away_folder

async def main():
    async with throw_away_folder("verify") as folder:
        (folder / "candidate").mkdir()
        (folder / "candidate" / "hidden_test.py").write_text("x")
        print(folder, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of this test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


async def test_a_folder_is_gone_whatever_was_put_into_it(temporary: Path) -> None:
    """Protects the disk from a command that takes its own rights, and what links lead to."""
    kept = temporary / "kept"
    kept.mkdir(mode=0o500)
    async with throw_away_folder("command") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "link").symlink_to(kept)
        (folder / "a" / "b" / "file").touch()
        (folder / "a" / "b").chmod(0)
    assert (folder.exists(), kept.stat().st_mode & 0o777) == (False, 0o500)


@pytest.mark.shows(211)
def test_what_a_killed_process_left_is_swept_and_nothing_else(temporary: Path) -> None:
    """Protects hidden tests, which lay in it, and the folders of processes that are alive."""
    owners = [
        subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    dead, alive = (Path((o.stdout or sys.stdin).readline().strip()) for o in owners)
    try:
        assert sweep() == []
        owners[0].send_signal(signal.SIGKILL)
        owners[0].wait()
        others = [temporary / name for name in ("checkrein-held-x", "checkrein-demo-1", "file")]
        for other in others:
            other.mkdir()
        link = temporary / "checkrein-held-run-link"
        link.symlink_to(others[0])
        assert sweep() == [dead]
        assert not dead.exists()
        assert alive.exists()
        assert all(other.is_dir() for other in others)
        assert link.is_symlink()
    finally:
        for owner in owners:
            owner.kill()
            owner.wait()
            if owner.stdout is not None:
                owner.stdout.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_another_users_folder_is_left_alone(temporary: Path) -> None:
    """Protects other users of this machine, from a root that sweeps as well."""
    theirs = temporary / "checkrein-held-run-abc"
    theirs.mkdir()
    os.chown(theirs, 12345, 12345)
    assert sweep() == []


async def test_a_machine_without_room_says_so(temporary: Path) -> None:
    """Protects whoever reads it: a fault of the machine, with what to do."""
    with pytest.raises(EnvironmentFault, match="set TMPDIR") as caught:
        async with throw_away_folder("run", temporary / "gone"):
            pass
    assert caught.value.code == "no_temporary_folder"
