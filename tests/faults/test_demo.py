"""`checkrein demo`: what a newcomer sees first is true, and says so when it is not."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkrein.entrypoints.cli import demo
from checkrein.graph.evidence_check import check

SILENCE_S = 2.0 + 1.0
"""Seconds between two lines: 2, and one for a machine that runs other tests meanwhile."""


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder for temporary files that the database's user can reach, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="checkrein-demo-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.shows(110)
async def test_the_demo_shows_what_it_states(scratch: Path) -> None:
    """Protects: waits, is killed after the write, recovers without a second one, is verified."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "checkrein.entrypoints.cli", "demo"),
        # Other people's settings must not leak in.
        env={"PATH": os.environ["PATH"], "TMPDIR": str(scratch), "CHECKREIN_FAILPOINT": "x"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    lines: list[str] = []
    spoke, longest = time.monotonic(), 0.0
    async for line in child.stdout:
        lines.append(line.decode().rstrip("\n"))
        longest, spoke = max(longest, time.monotonic() - spoke), time.monotonic()
    assert await child.wait() == 0, "\n".join(lines)
    wanted = [
        "WAITING_FOR_APPROVAL: workspace.apply_patch@1 wants to change this:",
        '+_PRICE = re.compile(r"￥?',
        "killed by SIGKILL: the file is written, and the ledger has no receipt of it",
        "CANDIDATE_VERIFIED, with exactly 1 committed effect",
        "whole: ",
        "bob       approves as approver (name asserted, not authenticated)",
        "the process died here; another one recovered",
        "action_deduplicated",
        "ends as CANDIDATE_VERIFIED",
        "the model was called 4 times for 4 turns",
        "evidence: ",
    ]
    places = iter(lines)
    assert all(any(text in line for line in places) for text in wanted), "\n".join(lines)
    assert longest < SILENCE_S
    evidence = Path(lines[-1].partition("evidence: ")[2])
    assert check(evidence) == []
    assert os.listdir(evidence.parent) == ["evidence"], "the database is still there"


class Staged(demo.Demo):
    """A demo whose children end as they are told to."""

    def __init__(self, folder: Path, ends: list[demo.Ended]) -> None:
        super().__init__(folder)
        self.ends = ends
        self.called: list[str] = []

    async def child(self, *args: str, failpoint: str | None = None) -> demo.Ended:
        """See Demo."""
        self.called.append(args[0])
        return demo.Ended(0, {}) if args[0] == "db" else self.ends.pop(0)


def waiting(folder: Path, **more: Any) -> demo.Ended:
    """How `run` should end."""
    request = {"approval_id": "apr_1", "capability": "x@1", "preview": ""}
    said: dict[str, Any] = {"status": "WAITING_FOR_APPROVAL", "effects": {}, "approvals": [request]}
    return demo.Ended(3, said | {"attempt_id": "a", "workspace": str(folder)} | more)


GRANTED = demo.Ended(0, {"approval": {"status": "GRANTED"}})
KILLED = demo.Ended(-9, {})


@pytest.mark.parametrize(
    ("said", "ends", "what"),
    [
        ({"status": "CANDIDATE_VERIFIED"}, (), "the status should be 'WAITING_FOR_APPROVAL'"),
        ({"effects": {"COMMITTED": 1}}, (), "the effects so far should be {}"),
        ({}, (demo.Ended(2, {}),), "the exit code of approve should be"),
        ({}, (GRANTED, demo.Ended(0, {})), "how resume ended should be"),
        ({}, (GRANTED, KILLED), "the file is not written"),
    ],
)
async def test_the_demo_says_what_differed(
    said: dict[str, Any],
    ends: tuple[demo.Ended, ...],
    what: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Protects: exit code 1 that names the step, never a success that was not seen."""
    (tmp_path / "pricing.py").write_text("x")
    staged = Staged(tmp_path, [waiting(tmp_path, **said), *ends])
    assert await demo.watched(staged, keep=False) == 1
    told = capsys.readouterr().out
    assert f"NOT as it should be: {what}" in told
    assert str(staged.home) in told
    assert staged.called[-1] == "db", "the server is stopped all the same"


@pytest.mark.skipif(os.geteuid() != 0, reason="only as root another user runs the database")
def test_as_root_the_demo_opens_no_closed_folder(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: root's private folders stay closed, wherever TMPDIR points."""
    closed = scratch / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(closed))
    folder = demo._folder()  # pyright: ignore[reportPrivateUsage]
    try:
        assert closed not in folder.parents
    finally:
        folder.rmdir()
