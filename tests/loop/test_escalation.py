"""Requests that nobody answers: more roles are asked in time, and in the end it is a no."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from asking import asking, move_clock
from loops import DONE, call, contract, opened, payloads, says

from checkrein.contracts.event import ApprovalEscalated, ApprovalExpired, Observed
from checkrein.errors import ConflictError, InputError
from checkrein.settings import Settings

WRITE = says("I write.", call("workspace.write_file", path="a.txt", content="two\n"))


@pytest.mark.parametrize("answer", ["", "bob"])
async def test_time_runs_out(answer: str, tmp_path: Path, settings: Settings) -> None:
    """Protects: no answer in time is a recorded no, and so is a yes that came to nothing."""
    policy = asking(tmp_path, '"roles": ["approver"], "expires_in_s": 60')
    task = contract(tmp_path, [WRITE, DONE], policy=policy)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        approval_id = report.approvals[0].approval_id
        if answer:
            await harness.approve(approval_id, by=answer)
        move_clock(settings, timedelta(seconds=61))
        with pytest.raises(ConflictError, match="EXPIRED"):
            await harness.approve(approval_id, by="carol")
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.effects == {}
    assert len([p for p in told if isinstance(p, ApprovalExpired)]) == 1
    (seen,) = [p.observation for p in told if isinstance(p, Observed)]
    assert seen.status == "rejected"
    assert seen.diagnostics is not None and "in time" in seen.diagnostics.advice


ESCALATION = [{"after_s": 60, "role": "lead"}, {"after_s": 120, "role": "head"}]


async def test_unanswered_it_goes_to_the_next_role(tmp_path: Path, settings: Settings) -> None:
    """Protects: each step is taken when its time has come, once, and opens it to one more role."""
    rules = {
        "roles": {"approver": ["bob"], "lead": ["erin"], "head": ["frank"]},
        "escalation": ESCALATION,
    }
    task = contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path), approvals=rules)
    async with opened(settings) as (harness, parts), opened(settings) as (_, others):
        report = await harness.run(task)
        approval_id = report.approvals[0].approval_id
        await parts.front_door.sweep()
        with pytest.raises(InputError, match="erin may not"):
            await harness.approve(approval_id, by="erin")
        move_clock(settings, timedelta(seconds=61))
        await asyncio.gather(*(p.front_door.sweep() for p in (parts, others, parts, others)))
        (request,) = await harness.approvals()
        assert request.roles == ["approver", "lead"]
        with pytest.raises(InputError, match="frank may not"):
            await harness.approve(approval_id, by="frank")
        await harness.approve(approval_id, by="erin")
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.effects == {"COMMITTED": 1}
    steps = [(p.step, p.role) for p in told if isinstance(p, ApprovalEscalated)]
    assert steps == [(1, "lead")]


async def test_all_steps_at_once_after_a_long_night(tmp_path: Path, settings: Settings) -> None:
    """Protects: steps that nobody took in time are caught up with, and then it expires."""
    rules = {
        "roles": {"approver": ["bob"], "lead": ["erin"], "head": ["frank"]},
        "escalation": ESCALATION,
    }
    policy = asking(tmp_path, '"roles": ["approver"], "expires_in_s": 3600')
    task = contract(tmp_path, [WRITE, DONE], policy=policy, approvals=rules)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        move_clock(settings, timedelta(seconds=200))
        await parts.front_door.sweep()
        assert (await harness.approvals())[0].roles == ["approver", "lead", "head"]
        move_clock(settings, timedelta(seconds=3700))
        await parts.front_door.sweep()
        await parts.front_door.sweep()
        assert await harness.approvals() == []
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.effects == {}
    assert [p.step for p in told if isinstance(p, ApprovalEscalated)] == [1, 2]
    assert len([p for p in told if isinstance(p, ApprovalExpired)]) == 1


async def test_nobody_is_asked_before_the_time(tmp_path: Path, settings: Settings) -> None:
    """Protects: the database, not the caller, says whether a step is due."""
    rules = {"roles": {"approver": ["bob"], "lead": ["erin"]}, "escalation": ESCALATION[:1]}
    task = contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path), approvals=rules)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (request,) = report.approvals
        approval, action = request.approval_id, request.action_id
        for step in (
            ApprovalEscalated(approval_id=approval, action_id=action, step=1, role="lead"),
            ApprovalEscalated(approval_id=approval, action_id=action, step=1, role="mallory"),
            ApprovalExpired(approval_id=approval, action_id=action),
        ):
            with pytest.raises(ConflictError):
                await parts.events.append(report.attempt_id, [step], fence=None)
        await harness.approve(request.approval_id, by="bob")
