"""Acceptance of the result: by a person, of one state, apart from what verifiers find."""

from pathlib import Path
from typing import Any

import pytest
from loops import DONE, call, contract, opened, payloads, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ResultAccepted, VerificationFinished
from checkrein.errors import ConflictError
from checkrein.settings import Settings

SUBMIT = says("Here it is.", call("result.submit", summary="a.txt says two now."))
RULES = """package checkrein.rules.mine

allow contains {"reason_code": "all"} if true
"""


def write(text: str) -> dict[str, Any]:
    return says("I write.", call("workspace.write_file", path="a.txt", content=text))


def task(folder: Path, *turns: dict[str, Any]) -> Any:
    bundle = folder / "policy"
    bundle.mkdir()
    (bundle / "mine.rego").write_text(RULES)
    return contract(
        folder,
        turns,
        policy=bundle,
        capabilities=["workspace.write_file", "result.submit"],
        approvals={"roles": {"approver": ["bob"]}, "result": True},
    )


@pytest.mark.shows(88, 103)
async def test_a_person_accepts_the_result(tmp_path: Path, settings: Settings) -> None:
    """Protects: the preview is what really changed, and the yes is for that state."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(task(tmp_path, write("two\n"), SUBMIT, DONE))
        (request,) = report.approvals
        assert (request.level, report.status) == ("result", AttemptStatus.WAITING_FOR_APPROVAL)
        assert "a.txt says two now." in request.preview
        assert "-one\n+two\n" in request.preview
        await harness.approve(request.approval_id, by="bob")
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    (accepted,) = [p for p in told if isinstance(p, ResultAccepted)]
    assert accepted.state_digest == request.resource_version
    assert done.verification is not None
    assert accepted.state_digest == done.verification.state_digest


async def test_checks_alone_are_not_enough(tmp_path: Path, settings: Settings) -> None:
    """Protects: all checks pass, and without a person's yes it is not verified."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(task(tmp_path, write("two\n"), DONE, SUBMIT, DONE))
        told = await payloads(parts, report.attempt_id)
        assert report.status is AttemptStatus.WAITING_FOR_APPROVAL
        (first,) = [p.result for p in told if isinstance(p, VerificationFinished)]
        assert "no person has accepted it" in first.gaps[0]
        await harness.reject(report.approvals[0].approval_id, by="bob", reason="not yet")
        done = await harness.resume(report.attempt_id)
    assert done.status is not AttemptStatus.CANDIDATE_VERIFIED


async def test_what_changes_afterwards_is_not_accepted(tmp_path: Path, settings: Settings) -> None:
    """Protects: a yes to one state is none to the next."""
    turns = (write("two\n"), SUBMIT, write("three\n"), DONE, SUBMIT, DONE)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task(tmp_path, *turns))
        await harness.approve(report.approvals[0].approval_id, by="bob")
        again = await harness.resume(report.attempt_id)
        assert again.status is AttemptStatus.WAITING_FOR_APPROVAL
        told = await payloads(parts, report.attempt_id)
        (found,) = [p.result for p in told if isinstance(p, VerificationFinished)]
        assert "changed after a person accepted it" in found.gaps[0]
        await harness.approve(again.approvals[0].approval_id, by="bob")
        done = await harness.resume(report.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_nobody_can_record_it_without_the_yes(tmp_path: Path, settings: Settings) -> None:
    """Protects: the database wants the approval, for that very state."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(task(tmp_path, SUBMIT, DONE))
        (request,) = report.approvals
        forged = ResultAccepted(action_id=request.action_id, state_digest=request.resource_version)
        async with parts.front_door.leases.hold(report.attempt_id) as lease:
            with pytest.raises(ConflictError, match="No person has accepted"):
                await parts.events.append(report.attempt_id, [forged], fence=lease.fence)
