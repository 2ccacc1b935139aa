"""The swap across processes: two that race, one that is killed, and what it leaves behind."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.contracts.codec import digest
from checkrein.contracts.effect import EffectStatus

OLD = digest(b"one\ntwo\nthree\n")
APP = "src/app.py"


async def owner() -> bool:
    """Still the owner."""
    return True


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


CHILD = """
import asyncio, json, os, signal, sys
from pathlib import Path
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.contracts.attempt import WorkspaceRef

ref, home, data, version, kill = sys.argv[1:]

async def owner():
    return True

async def main():
    workspace = FolderWorkspace(
        WorkspaceRef.model_validate_json(ref), home=Path(home), attempt_id="a1"
    )
    if kill == "rename":
        os.rename = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
    print("ready", flush=True)
    sys.stdin.readline()
    outcome = await workspace.swap(
        "src/app.py", effect_id="eff_" + data, from_version=version,
        data=data.encode(), still_owner=owner,
    )
    print(outcome.status)

asyncio.run(main())
"""


def child(
    workspace: FolderWorkspace, home: Path, data: str, kill: str = "no"
) -> "subprocess.Popen[str]":
    args = [workspace.ref.model_dump_json(), str(home), data, OLD, kill]
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_of_two_processes_exactly_one_wins(
    workspace: FolderWorkspace, home: Path, source: Path
) -> None:
    """Protects against a lost update: the loser is told, and what it wanted is nowhere."""
    for _ in range(5):
        (source / APP).write_bytes(b"one\ntwo\nthree\n")
        both = {name: child(workspace, home, name) for name in ("red", "blue")}
        for process in both.values():
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        said = {name: process.communicate()[0].strip() for name, process in both.items()}
        (winner,) = [name for name, status in said.items() if status == "COMMITTED"]
        assert sorted(said.values()) == ["COMMITTED", "REFUSED"], json.dumps(said)
        assert (source / APP).read_text() == winner


async def test_killed_before_the_rename_nothing_has_changed(
    workspace: FolderWorkspace, home: Path, source: Path
) -> None:
    """Protects the old content: half a write is no write, and the next try clears it away."""
    process = child(workspace, home, "new", kill="rename")
    process.communicate("go\n")
    assert process.returncode == -signal.SIGKILL
    assert (source / "src" / ".checkrein-tmp-eff_new").read_bytes() == b"new"
    assert (source / APP).read_bytes() == b"one\ntwo\nthree\n"
    assert await workspace.digest() == workspace.ref.baseline
    outcome = await workspace.swap(
        APP, effect_id="eff_new", from_version=OLD, data=b"new", still_owner=owner
    )
    assert outcome.status is EffectStatus.COMMITTED
    assert names(source / "src") == ["app.py"]
