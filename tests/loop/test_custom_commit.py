"""A final commit by a capability of somebody's own: it completes where the act was done before."""

from pathlib import Path
from typing import Any

import loops
import pytest

from checkrein import capability
from checkrein.compose import Parts
from checkrein.contracts.approval import Approver
from checkrein.contracts.task import TaskContract
from checkrein.graph.evidence import export
from checkrein.graph.evidence_check import check
from checkrein.settings import Settings

BOB = Approver(name="bob")
WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))


def task(folder: Path) -> TaskContract:
    """A task whose result is handed over at a desk, once for each release."""
    return loops.contract(
        folder,
        [WRITE, loops.DONE],
        policy=loops.ALLOW_ALL,
        commit_authority="bob",
        commit={"capability": "desk.release", "args": {"release": "r1"}},
    )


def desk(released: list[str], meanwhile: list[Path]) -> Any:
    """A desk that counts; each of `meanwhile` is written over while it is at work."""

    @capability(
        "desk.release", resource=lambda a: f"release:{a['release']}", key=lambda a: a["release"]
    )
    async def release(release: str) -> None:
        """Hand a release over."""
        released.append(release)
        for path in meanwhile:
            path.write_text("three\n")

    return release


async def proved(parts: Parts, task_id: str, out: Path) -> bool:
    """Whether the evidence of the whole task is exported and found whole."""
    stores = (parts.records, parts.events, parts.artifacts)
    opener = parts.front_door.opener
    return check(await export(*stores, task_id, out, opener=opener)) == []


@pytest.mark.shows(207)
async def test_an_act_that_an_earlier_commit_made_completes_the_task(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a commit that the ledger knows as done is proved by its receipt, and sent once."""
    released: list[str] = []
    meanwhile: list[Path] = []
    async with loops.opened(settings, desk(released, meanwhile)) as (harness, parts):
        report = await harness.run(task(tmp_path))
        assert report.verified, report
        changed = Path(report.workspace) / "a.txt"
        meanwhile.append(changed)
        failed = await parts.front_door.commit(report.task_id, BOB)
        assert failed.status == "FAILED_VERIFICATION"
        changed.write_text("two\n")
        asks = await parts.front_door.commit(report.task_id, BOB)  # since it was done before
        await harness.approve(asks.approvals[0].approval_id, by="carol")
        done = await harness.resume(asks.attempt_id)
        assert done.verified, (done.status, done.detail, done.approvals)
        assert released == ["r1"]
        assert "action_deduplicated" in await loops.types(parts, done.attempt_id)
        assert (await parts.records.task(report.task_id)).status == "COMPLETED"
        assert await proved(parts, report.task_id, tmp_path / "evidence")


async def test_a_target_that_is_so_already_completes_the_task(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: where the target itself says that nothing is to be sent, nothing is missing."""
    released: list[str] = []
    release = desk(released, [])
    prepare = release.prepare

    async def released_already(args: dict[str, Any], *, preview: bool = True) -> Any:
        return (await prepare(args, preview=preview)).model_copy(update={"no_change": True})

    release.prepare = released_already
    async with loops.opened(settings, release) as (harness, parts):
        report = await harness.run(task(tmp_path))
        done = await parts.front_door.commit(report.task_id, BOB)
        assert done.verified, (done.status, done.detail, done.approvals)
        assert released == []
        assert (await parts.records.task(report.task_id)).status == "COMPLETED"
        assert await proved(parts, report.task_id, tmp_path / "evidence")


async def test_an_act_that_failed_completes_nothing(tmp_path: Path, settings: Settings) -> None:
    """Protects: a state that stands is no commit; the act itself must be on record."""

    @capability(
        "desk.release", resource=lambda a: f"release:{a['release']}", key=lambda a: a["release"]
    )
    async def release(release: str) -> None:
        """Hand a release over."""
        raise RuntimeError("closed")

    async with loops.opened(settings, release) as (harness, parts):
        report = await harness.run(task(tmp_path))
        failed = await parts.front_door.commit(report.task_id, BOB)
        assert not failed.verified
        assert (await parts.records.task(report.task_id)).status == "VERIFIED"
