"""Evidence of one real run, made once for each worker, and copies of it to tamper with."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import loops
import pytest
from databases import fresh_database

from checkrein.contracts.approval import Approver
from checkrein.graph.acceptance import accept
from checkrein.graph.evidence import export
from checkrein.settings import Settings

TURNS = [
    loops.says("I look first.", loops.call("workspace.read", path="a.txt")),
    loops.says("I change it.", loops.call("workspace.write_file", path="a.txt", content="two\n")),
    loops.DONE,
]


async def _made(folder: Path, settings: Settings) -> None:
    task = loops.contract(
        folder,
        TURNS,
        files={"a.txt": "one\n", "keep.txt": "kept\n"},
        policy=loops.ASK_WRITES,
        artifacts=["diff"],
        commit_authority="bob",
        constraints=["be brief", {"unchanged": ["keep.txt"]}],
    )
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        await harness.approve(report.approvals[0].approval_id, by="bob", reason="it is right")
        report = await harness.resume(report.attempt_id)
        assert report.verified, report
        stores = (parts.records, parts.events, parts.artifacts)
        await export(*stores, report.task_id, folder / "evidence")
        opener = parts.front_door.opener
        who = Approver(name="alice")
        await accept(parts.events, parts.records, opener, report.task_id, who, "as I wanted it")
        done = await parts.front_door.commit(report.task_id, Approver(name="bob"))
        await harness.approve(done.approvals[0].approval_id, by="carol")
        assert (await harness.resume(done.attempt_id)).verified
        await export(*stores, report.task_id, folder / "committed", opener=opener)


@pytest.fixture(scope="session")
def original(server_url: str) -> Iterator[Path]:
    """The evidence of a task that asked, wrote one file and was verified. Not to be changed."""
    folder = Path(tempfile.mkdtemp(prefix="checkrein-evidence-"))
    with fresh_database(server_url) as url:
        asyncio.run(_made(folder, Settings(home=folder / "home", database_url=url)))
    yield folder / "evidence"
    shutil.rmtree(folder)


@pytest.fixture
def committed(original: Path, tmp_path: Path) -> Path:
    """A copy of the evidence of the same task, accepted by a person and handed over since."""
    copy = tmp_path / "committed"
    shutil.copytree(original.with_name("committed"), copy)
    return copy


@pytest.fixture
def evidence(original: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    copy = tmp_path / "evidence"
    shutil.copytree(original, copy)
    return copy
