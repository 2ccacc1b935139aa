"""Authority is asked for right before something runs, whatever was said earlier."""

import shutil
from pathlib import Path

import loops
import pytest

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import Observed
from checkrein.settings import Settings

WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))


@pytest.mark.shows(57, 91)
async def test_a_policy_that_was_tightened_meanwhile_wins(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a yes of yesterday is no yes to what today's policy denies."""
    policy = tmp_path / "policy"
    shutil.copytree(loops.ASK_WRITES, policy)
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=policy)
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        await harness.approve(report.approvals[0].approval_id, by="bob")
        (policy / "frozen.rego").write_text(
            'package checkrein.rules.frozen\n\ndeny contains {"reason_code": "frozen"}\n'
        )
        report = await harness.resume(report.attempt_id)
        assert report.effects == {}
        assert (Path(report.workspace) / "a.txt").read_text() == "one\n"
        (told,) = [
            p.observation
            for p in await loops.payloads(parts, report.attempt_id)
            if isinstance(p, Observed)
        ]
        assert told.status == "denied"
        assert told.diagnostics is not None
        assert told.diagnostics.error_type == "frozen"


async def test_a_read_can_be_asked_for_too(tmp_path: Path, settings: Settings) -> None:
    """Protects: reads pass the same gate as writes, the person's yes included."""
    look = loops.says("", loops.call("workspace.read", path="a.txt"))
    task = loops.contract(tmp_path, [look, loops.DONE], policy=loops.ASK_ALL)
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.WAITING_FOR_APPROVAL
        await harness.approve(report.approvals[0].approval_id, by="bob")
        report = await harness.resume(report.attempt_id)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert "approval_granted" in await loops.types(parts, report.attempt_id)


async def test_a_yes_to_one_of_two_changes_of_a_file_is_asked_again(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: the first change makes another file of it, which the second yes was not for."""
    turn = loops.says(
        "",
        loops.call("workspace.write_file", path="a.txt", content="two\n"),
        loops.call("workspace.write_file", path="a.txt", content="three\n"),
    )
    task = loops.contract(tmp_path, [turn, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, _):
        report = await harness.run(task)
        for request in report.approvals:
            await harness.approve(request.approval_id, by="bob")
        stale = await harness.resume(report.attempt_id)
        assert stale.status is AttemptStatus.APPROVAL_STALE
        assert stale.effects == {"COMMITTED": 1}
        assert "-two\n+three\n" in stale.approvals[0].preview
        await harness.approve(stale.approvals[0].approval_id, by="bob")
        done = await harness.resume(report.attempt_id)
        assert done.status is AttemptStatus.CANDIDATE_VERIFIED
        assert done.effects == {"COMMITTED": 2}


async def test_two_changes_of_a_file_in_one_turn_both_happen(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: calls of one turn run in order, each on what the one before it left."""
    patch = "@@ -1 +1 @@\n-two\n+three\n"
    turn = loops.says(
        "",
        loops.call("workspace.write_file", path="a.txt", content="two\n"),
        loops.call("workspace.apply_patch", path="a.txt", patch=patch),
    )
    async with loops.opened(settings) as (harness, _):
        report = await harness.run(loops.contract(tmp_path, [turn, loops.DONE]))
        assert report.effects == {"COMMITTED": 2}
        assert (Path(report.workspace) / "a.txt").read_text() == "three\n"
