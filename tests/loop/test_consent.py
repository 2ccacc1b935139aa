"""A yes counts for one action, as it was shown, by those who may say it when it is about to run."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asking import asking, move_clock
from loops import DONE, call, contract, opened, payloads, says

from checkrein.compose import Parts
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ApprovalEscalated, ApprovalExpired, ApprovalStale, Observed
from checkrein.errors import ConflictError, InputError
from checkrein.harness import Harness
from checkrein.settings import Settings

WRITE = says("I write.", call("workspace.write_file", path="a.txt", content="two\n"))
TWO_OF_THREE = '"roles": ["approver"], "quorum": 2'
THREE = {"roles": {"approver": ["bob", "carol", "dan"], "lead": ["erin"]}}


@pytest.mark.shows(81)
async def test_two_of_three_must_say_yes(tmp_path: Path, settings: Settings) -> None:
    """Protects: one yes of two is no yes, and one person counts once."""
    policy = asking(tmp_path, TWO_OF_THREE)
    task = contract(tmp_path, [WRITE, DONE], policy=policy, approvals=THREE)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (request,) = report.approvals
        assert (await harness.approve(request.approval_id, by="bob")).status == "PENDING"
        with pytest.raises(ConflictError, match="one person counts once"):
            await harness.approve(request.approval_id, by="bob")
        waits = await harness.resume(report.attempt_id)
        assert waits.status is AttemptStatus.WAITING_FOR_APPROVAL
        assert waits.effects == {}
        assert (await harness.approve(request.approval_id, by="dan")).status == "GRANTED"
        done = await harness.resume(report.attempt_id)
        await payloads(parts, report.attempt_id)
    assert done.effects == {"COMMITTED": 1}


async def test_one_no_of_three_is_a_no(tmp_path: Path, settings: Settings) -> None:
    """Protects: whoever is asked may stop it, also who had said yes before."""
    policy = asking(tmp_path, TWO_OF_THREE)
    task = contract(tmp_path, [WRITE, DONE], policy=policy, approvals=THREE)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        (request,) = report.approvals
        await harness.approve(request.approval_id, by="bob")
        await harness.reject(request.approval_id, by="bob", reason="I looked again")
        with pytest.raises(ConflictError, match="REJECTED"):
            await harness.approve(request.approval_id, by="carol")
        done = await harness.resume(report.attempt_id)
        await payloads(parts, report.attempt_id)
    assert done.effects == {}


async def test_the_requester_is_no_approver(tmp_path: Path, settings: Settings) -> None:
    """Protects: separation of duties, for the task's requester and for whoever wrote an edit."""
    policy = asking(tmp_path, '"roles": ["approver"], "separation_of_duty": true')
    roles = {"roles": {"approver": ["alice", "bob", "carol"]}}
    task = contract(tmp_path, [WRITE, DONE], policy=policy, approvals=roles)
    async with opened(settings) as (harness, _):
        report = await harness.run(task)
        first = report.approvals[0].approval_id
        with pytest.raises(InputError, match="alice asked for this task"):
            await harness.approve(first, by="alice")
        await harness.edit(first, {"path": "b.txt", "content": "x"}, by="bob")
        report = await harness.resume(report.attempt_id)
        second = report.approvals[0].approval_id
        for by, why in (("bob", "bob wrote this"), ("alice", "alice asked for this task")):
            with pytest.raises(InputError, match=why):
                await harness.approve(second, by=by)
        await harness.approve(second, by="carol")
        assert (await harness.resume(report.attempt_id)).effects == {"COMMITTED": 1}


async def test_an_asserted_name_is_good_for_low_risk_alone(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: above the risk that the contract names, a name must be proved."""
    policy = asking(tmp_path)
    risky = contract(tmp_path, [WRITE, DONE], policy=policy, risk="medium")
    async with opened(settings) as (harness, _):
        report = await harness.run(risky)
        with pytest.raises(InputError, match="risk is medium") as refused:
            await harness.approve(report.approvals[0].approval_id, by="bob")
        assert refused.value.code == "identity_required"
        rules = {"roles": {"approver": ["bob"]}, "asserted_up_to": "medium"}
        trusting = contract(
            tmp_path / "other", [WRITE, DONE], policy=policy, risk="medium", approvals=rules
        )
        other = await harness.run(trusting)
        await harness.approve(other.approvals[0].approval_id, by="bob")
        assert (await harness.resume(other.attempt_id)).effects == {"COMMITTED": 1}


async def test_nobody_in_particular_answers_only_where_the_task_says_so(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: no answer without an identity, unless for development the contract wants that."""
    policy = asking(tmp_path)
    async with opened(settings) as (harness, parts):
        report = await harness.run(contract(tmp_path, [WRITE, DONE], policy=policy))
        with pytest.raises(InputError, match="without a name"):
            await harness.approve(report.approvals[0].approval_id, by="anonymous")
        open_to_all = contract(
            tmp_path / "o", [WRITE, DONE], policy=policy, approvals={"anonymous": True}
        )
        other = await harness.run(open_to_all)
        await harness.approve(other.approvals[0].approval_id, by="anonymous")
        assert (await harness.resume(other.attempt_id)).effects == {"COMMITTED": 1}
        await payloads(parts, other.attempt_id)


Meanwhile = Callable[[Harness, Parts, Path, str], Awaitable[Any]]


async def _role(harness: Harness, parts: Parts, folder: Path, approval_id: str) -> None:
    asking(folder, '"roles": ["lead"]')


async def _quorum(harness: Harness, parts: Parts, folder: Path, approval_id: str) -> None:
    asking(folder, TWO_OF_THREE)


async def _limits(harness: Harness, parts: Parts, folder: Path, approval_id: str) -> None:
    rego = asking(folder) / "asking.rego"
    rego.write_text(rego.read_text() + '\nlimit contains {"max_bytes": 1000} if true\n')


async def _approver(harness: Harness, parts: Parts, folder: Path, approval_id: str) -> None:
    await parts.events.say("local", "user", "bob", granted=False, by="erin", reason="left")


@pytest.mark.shows(91)
@pytest.mark.parametrize("meanwhile", [_role, _quorum, _limits, _approver])
async def test_what_was_enough_is_not_any_more(
    meanwhile: Meanwhile, tmp_path: Path, settings: Settings
) -> None:
    """Protects: another role, more people, other limits, an approver who is gone: asked again."""
    task = contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path), approvals=THREE)
    async with opened(settings) as (harness, parts):
        report = await harness.run(task)
        approval_id = report.approvals[0].approval_id
        await harness.approve(approval_id, by="bob")
        await meanwhile(harness, parts, tmp_path, approval_id)
    async with opened(settings) as (harness, parts):
        stale = await harness.resume(report.attempt_id)
        assert stale.status is AttemptStatus.APPROVAL_STALE
        assert stale.effects == {}
        assert (Path(stale.workspace) / "a.txt").read_text() == "one\n"
        (fresh,) = stale.approvals
        assert fresh.replaces == approval_id
        told = await payloads(parts, report.attempt_id)
        (why,) = [p.why for p in told if isinstance(p, ApprovalStale)]
        assert why
        for by in ("carol", "dan", "erin"):
            try:
                answered = await harness.approve(fresh.approval_id, by=by)
            except (InputError, ConflictError):
                continue
            if answered.status == "GRANTED":
                break
        assert (await harness.resume(report.attempt_id)).effects == {"COMMITTED": 1}


async def test_a_policy_that_now_denies(tmp_path: Path, settings: Settings) -> None:
    """Protects: a yes never outlives the policy's no."""
    bundle = asking(tmp_path)
    task = contract(tmp_path, [WRITE, DONE], policy=bundle)
    async with opened(settings) as (harness, _):
        report = await harness.run(task)
        await harness.approve(report.approvals[0].approval_id, by="bob")
        rego = bundle / "asking.rego"
        rego.write_text(rego.read_text() + '\ndeny contains {"reason_code": "closed"} if true\n')
    async with opened(settings) as (harness, parts):
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert done.effects == {}
    first = next(p.observation for p in told if isinstance(p, Observed))
    assert first.diagnostics is not None and first.diagnostics.error_type == "closed"


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
        early = {"approval_id": request.approval_id, "action_id": request.action_id}
        for step in (
            ApprovalEscalated(**early, step=1, role="lead"),
            ApprovalEscalated(**early, step=1, role="mallory"),
            ApprovalExpired(**early),
        ):
            with pytest.raises(ConflictError):
                await parts.events.append(report.attempt_id, [step], fence=None)
        await harness.approve(request.approval_id, by="bob")
