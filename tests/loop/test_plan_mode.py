"""Plan mode: looking and planning alone, until a person accepts the plan."""

from pathlib import Path
from typing import Any

import pytest
from loops import ALLOW_ALL, DONE, call, contract, opened, payloads, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import Observed, PlanAccepted
from checkrein.errors import ConflictError
from checkrein.settings import Settings

LOOK = says("I look.", call("workspace.read", path="a.txt"))
SUBMIT = says("My plan.", call("plan.submit", plan="1. Write two into a.txt.\n2. Run the check."))
WRITE = says("I write.", call("workspace.write_file", path="a.txt", content="two\n"))
GRANTED = ["workspace.read", "workspace.write_file", "plan.submit"]


def planned(folder: Path, *turns: dict[str, Any], **fields: Any) -> Any:
    return contract(
        folder, [*turns, DONE], capabilities=GRANTED, plan_mode=True, **({"policy": None} | fields)
    )


def statuses(told: list[Any]) -> list[str]:
    return [str(p.observation.status) for p in told if isinstance(p, Observed)]


@pytest.mark.shows(88, 97)
async def test_an_accepted_plan_ends_plan_mode(tmp_path: Path, settings: Settings) -> None:
    """Protects: nothing changes before a yes to the plan, and each step is judged still."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(planned(tmp_path, LOOK, WRITE, SUBMIT, WRITE))
        (request,) = report.approvals
        assert (request.level, request.capability) == ("plan", "plan.submit@1")
        assert request.preview.startswith("1. Write two into a.txt.")
        assert (Path(report.workspace) / "a.txt").read_text() == "one\n"
        await harness.approve(request.approval_id, by="bob")
        report = await harness.resume(report.attempt_id)
        (write,) = report.approvals
        assert (write.level, write.reason_code) == ("action", "workspace_write")
        await harness.approve(write.approval_id, by="carol")
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert (Path(done.workspace) / "a.txt").read_text() == "two\n"
    assert statuses(told) == ["ok", "denied", "ok", "ok"]
    assert len([p for p in told if isinstance(p, PlanAccepted)]) == 1


@pytest.mark.shows(97)
async def test_a_rejected_plan_changes_nothing(tmp_path: Path, settings: Settings) -> None:
    """Protects: without a yes it stays at looking, whatever the model does next."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(planned(tmp_path, SUBMIT, WRITE))
        await harness.reject(report.approvals[0].approval_id, by="bob", reason="too bold")
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert statuses(told) == ["rejected", "denied"]
    assert done.effects == {}


async def test_a_person_rewrites_the_plan(tmp_path: Path, settings: Settings) -> None:
    """Protects: what is accepted is what was shown last, the person's own words included."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(planned(tmp_path, SUBMIT))
        await harness.edit(report.approvals[0].approval_id, {"plan": "Only look."}, by="bob")
        report = await harness.resume(report.attempt_id)
        assert report.approvals[0].preview == "Only look."
        await harness.approve(report.approvals[0].approval_id, by="carol")
        await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert len([p for p in told if isinstance(p, PlanAccepted)]) == 1


async def test_no_policy_can_leave_the_person_out(tmp_path: Path, settings: Settings) -> None:
    """Protects: a bundle that allows everything ends no plan mode, and changes nothing in it."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(planned(tmp_path, WRITE, SUBMIT, policy=ALLOW_ALL))
        assert report.status is AttemptStatus.WAITING_FOR_APPROVAL
        told = await payloads(parts, report.attempt_id)
        assert statuses(told) == ["denied"]
        assert report.approvals[0].reason_code == "person_decides"


async def test_the_database_wants_the_yes(tmp_path: Path, settings: Settings) -> None:
    """Protects: not even the owner of the attempt can record a plan that nobody accepted."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(planned(tmp_path, SUBMIT))
        position = await parts.records.position(report.attempt_id)
        action = position.actions[0].action
        forged = PlanAccepted(action_id=action.action_id, plan=action.args_hash)
        async with parts.front_door.leases.hold(report.attempt_id) as lease:
            with pytest.raises(ConflictError, match="No person has accepted"):
                await parts.events.append(report.attempt_id, [forged], fence=lease.fence)
