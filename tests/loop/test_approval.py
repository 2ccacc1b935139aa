"""Approval in the loop: bound to what was shown, decided elsewhere, checked again at the send."""

import asyncio
from pathlib import Path
from typing import cast

import loops
import pytest

from checkrein.attempt_ports import Opener
from checkrein.contracts.attempt import AttemptStatus
from checkrein.errors import BusyError, ConflictError, InputError
from checkrein.settings import Settings

WRITE = loops.says(
    "I change it.", loops.call("workspace.write_file", path="a.txt", content="two\n")
)
PATCH = loops.says(
    "I change it.",
    loops.call("workspace.apply_patch", path="a.txt", patch="@@ -1 +1 @@\n-one\n+two\n"),
)


@pytest.mark.shows(77, 79, 85, 87)
async def test_a_run_waits_without_a_process_and_goes_on_by_a_yes(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: the order of events around an approval, and that nothing runs before the yes."""
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.WAITING_FOR_APPROVAL
        assert report.effects == {}
        assert not report.lease_alive
        assert "-one\n+two\n" in report.approvals[0].preview
        assert "observation" not in await loops.types(parts, report.attempt_id)
    async with loops.opened(settings) as (harness, parts):
        await harness.approve(report.approvals[0].approval_id, by="bob")
        assert (Path(report.workspace) / "a.txt").read_text() == "one\n"
        report = await harness.resume(report.attempt_id)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert (Path(report.workspace) / "a.txt").read_text() == "two\n"
        kinds = await loops.types(parts, report.attempt_id)
    wanted = [
        "action_proposed",
        "policy_decided",
        "approval_prepared",
        "checkpoint_saved",
        "approval_requested",
        "suspended",
        "approval_decided",
        "run_resumed",
        "policy_decided",
        "approval_granted",
        "intent_bound",
        "effect_executing",
        "effect_committed",
        "observation",
        "candidate_sealed",
        "verification_started",
        "verification_finished",
        "attempt_ended",
    ]
    places = iter(kinds)
    assert all(kind in places for kind in wanted), kinds
    assert loops.model_calls(tmp_path) == ["turn 1", "turn 2"]


@pytest.mark.shows(83, 84, 91, 393)
async def test_a_changed_file_makes_the_approval_stale(tmp_path: Path, settings: Settings) -> None:
    """Protects: a yes to one diff is no yes to another; nothing runs, and the new diff is shown."""
    files = {"a.txt": "one\nsame\n"}
    patch = "@@ -1,2 +1,2 @@\n-one\n+two\n same\n"
    turn = loops.says("", loops.call("workspace.apply_patch", path="a.txt", patch=patch))
    task = loops.contract(tmp_path, [turn, loops.DONE], files=files, policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, _):
        first = await harness.run(task)
        target = Path(first.workspace) / "a.txt"
        target.write_text("one\nsame\nmore\n")
        await harness.approve(first.approvals[0].approval_id, by="bob")
        stale = await harness.resume(first.attempt_id)
        assert stale.status is AttemptStatus.APPROVAL_STALE
        assert stale.effects == {}
        assert target.read_text() == "one\nsame\nmore\n"
        (fresh,) = stale.approvals
        assert fresh.replaces == first.approvals[0].approval_id
        assert " more\n" in fresh.preview
        assert fresh.preview != first.approvals[0].preview

        again = await harness.resume(first.attempt_id)
        assert again.status is AttemptStatus.APPROVAL_STALE, "it stays so until it is decided"
        with pytest.raises(ConflictError, match="STALE"):
            await harness.approve(first.approvals[0].approval_id, by="bob")
        await harness.approve(fresh.approval_id, by="carol")
        done = await harness.resume(first.attempt_id)
        assert done.status is AttemptStatus.CANDIDATE_VERIFIED
        assert done.effects == {"COMMITTED": 1}
        assert target.read_text() == "two\nsame\nmore\n"


async def test_a_patch_that_fits_no_more_goes_back_to_the_model(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: where nothing is left to approve, the model is told, and nobody is asked."""
    task = loops.contract(tmp_path, [PATCH, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, _):
        first = await harness.run(task)
        (Path(first.workspace) / "a.txt").write_text("quite different\n")
        await harness.approve(first.approvals[0].approval_id, by="bob")
        report = await harness.resume(first.attempt_id)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert report.effects == {}
        assert report.approvals == []


async def test_what_is_done_already_needs_no_effect(tmp_path: Path, settings: Settings) -> None:
    """Protects: where somebody else made the change meanwhile, nothing is sent and all is well."""
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, parts):
        first = await harness.run(task)
        (Path(first.workspace) / "a.txt").write_text("two\n")
        await harness.approve(first.approvals[0].approval_id, by="bob")
        report = await harness.resume(first.attempt_id)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert report.effects == {}
        await loops.payloads(parts, report.attempt_id)


@pytest.mark.shows(82, 95)
async def test_a_no_is_told_to_the_model(tmp_path: Path, settings: Settings) -> None:
    """Protects: a rejection is a fact that the model gets to read, and nothing happens."""
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, parts):
        first = await harness.run(task)
        await harness.reject(first.approvals[0].approval_id, by="bob", reason="not this file")
        report = await harness.resume(first.attempt_id)
        assert report.effects == {}
        assert (Path(report.workspace) / "a.txt").read_text() == "one\n"
        told = [
            p for p in await loops.payloads(parts, report.attempt_id) if p.type == "observation"
        ]
        assert [o.observation.status for o in told] == ["rejected"]
        assert told[0].observation.diagnostics is not None
        assert "not this file" in told[0].observation.diagnostics.advice


@pytest.mark.shows(100)
async def test_only_the_named_people_may_answer(tmp_path: Path, settings: Settings) -> None:
    """Protects: role, separation of duties, and that each answer is given once."""
    rules = {"roles": {"approver": ["alice", "bob"]}, "separation_of_duty": True}
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=loops.ASK_WRITES, approvals=rules)
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        (request,) = report.approvals
        with pytest.raises(InputError, match="mallory may not answer"):
            await harness.approve(request.approval_id, by="mallory")
        with pytest.raises(InputError, match="duties are separated"):
            await harness.approve(request.approval_id, by="alice")
        assert request.requested_by == "alice"
        await harness.approve(request.approval_id, by="bob")
        with pytest.raises(ConflictError, match="GRANTED by bob"):
            await harness.reject(request.approval_id, by="bob", reason="changed my mind")
        _, grants = await parts.records.approval(request.approval_id)
        assert [(g.approver, g.authority, g.authenticated) for g in grants] == [
            ("bob", "approver", False)
        ]


async def test_a_cancelled_run_takes_no_answer(tmp_path: Path, settings: Settings) -> None:
    """Protects: cancel wins over a late yes."""
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, _):
        report = await harness.run(task)
        ended = await harness.cancel(report.attempt_id, by="alice", reason="not needed")
        assert ended.status is AttemptStatus.CANCELLED
        with pytest.raises(ConflictError, match="REVOKED"):
            await harness.approve(report.approvals[0].approval_id, by="bob")
        assert (await harness.resume(report.attempt_id)).status is AttemptStatus.CANCELLED


async def test_all_requests_of_a_turn_are_on_offer_together(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: one turn asks once; nothing of it runs before all of it is decided."""
    turn = loops.says(
        "Both.",
        loops.call("workspace.write_file", path="a.txt", content="two\n"),
        loops.call("workspace.write_file", path="b.txt", content="new\n"),
    )
    task = loops.contract(tmp_path, [turn, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, _):
        report = await harness.run(task)
        first, second = report.approvals
        await harness.approve(first.approval_id, by="bob")
        waits = await harness.resume(report.attempt_id)
        assert waits.status is AttemptStatus.WAITING_FOR_APPROVAL
        assert (Path(report.workspace) / "a.txt").read_text() == "one\n"
        await harness.reject(second.approval_id, by="bob", reason="no")
        done = await harness.resume(report.attempt_id)
        assert done.effects == {"COMMITTED": 1}
        assert (Path(report.workspace) / "a.txt").read_text() == "two\n"
        assert not (Path(report.workspace) / "b.txt").exists()


@pytest.mark.shows(108)
async def test_two_owners_at_once_make_one_effect(tmp_path: Path, settings: Settings) -> None:
    """Protects: one resumes, the other is told that it is busy and touches nothing."""
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (one, _), loops.opened(settings) as (other, parts):
        report = await one.run(task)
        await one.approve(report.approvals[0].approval_id, by="bob")
        # Looked at once a process; the second would come when the first is done.
        await cast(Opener, parts.front_door.opener).commands.offers()
        results = await asyncio.gather(
            one.resume(report.attempt_id), other.resume(report.attempt_id), return_exceptions=True
        )
        busy = [result for result in results if isinstance(result, BusyError)]
        assert len(busy) == 1, results
        assert (await parts.records.effects(report.attempt_id))[0].status == "COMMITTED"
        kinds = await loops.types(parts, report.attempt_id)
        assert kinds.count("effect_executing") == kinds.count("run_resumed") == 1


async def test_cancel_needs_neither_model_nor_policy(tmp_path: Path, settings: Settings) -> None:
    """Protects: what is gone meanwhile must not keep an attempt from its end."""
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings) as (harness, _):
        report = await harness.run(task)
        (tmp_path / "decisions.yaml").unlink()
        ended = await harness.cancel(report.attempt_id, by="alice", reason="not needed")
        assert ended.status is AttemptStatus.CANCELLED
