"""A yes counts for one action, as it was shown, by those who may say it when it is about to run."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from asking import asking
from loops import DONE, call, contract, opened, payloads, says

from checkrein import capability
from checkrein.compose import Parts
from checkrein.contracts.approval import Answer, Approver, Said
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ApprovalStale, Observed
from checkrein.contracts.token import TokenOrder
from checkrein.errors import ConflictError, InputError
from checkrein.graph.approvals import answer_approval
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
    async with opened(settings) as (harness, parts):
        report = await harness.run(risky)
        with pytest.raises(InputError, match="risk is medium") as refused:
            await harness.approve(report.approvals[0].approval_id, by="bob")
        assert refused.value.code == "identity_required"
        rules = {"roles": {"approver": ["bob"]}, "asserted_up_to": "medium"}
        trusting = contract(
            tmp_path / "other", [WRITE, DONE], policy=policy, risk="medium", approvals=rules
        )
        given = {"person": "bob", "tenant": "local", "days": 1, "issued_by": "root"}
        order = TokenOrder.model_validate({**given, "scopes": ["approve"]})
        token = (await parts.tokens.issue(order)).secret
        with pytest.raises(InputError, match="The token is that of bob"):
            await harness.approve(report.approvals[0].approval_id, by="carol", token=token)
        await harness.approve(report.approvals[0].approval_id, token=token)
        assert (await harness.resume(report.attempt_id)).effects == {"COMMITTED": 1}
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


async def test_another_contract_is_not_what_was_approved(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a new version of a capability under the same name runs on no old yes."""
    taken: list[str] = []

    def till(version: str) -> Any:
        @capability("till.pay", version=version)
        async def pay(to: str) -> None:
            """Pay somebody."""
            taken.append(to)

        return pay

    turn = says("I pay.", call("till.pay", to="acme"))
    task = contract(tmp_path, [turn, DONE], policy=asking(tmp_path), capabilities=["till.pay"])
    async with opened(settings, till("1")) as (harness, _):
        report = await harness.run(task)
        await harness.approve(report.approvals[0].approval_id, by="bob")
    async with opened(settings, till("2")) as (harness, parts):
        done = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert (taken, done.effects) == ([], {})
    (seen,) = [p.observation for p in told if isinstance(p, Observed)]
    assert seen.diagnostics is not None and seen.diagnostics.error_type == "contract_changed"


async def test_another_tenant_answers_nothing(tmp_path: Path, settings: Settings) -> None:
    """Protects: whoever is signed in elsewhere is not even told that there is a request."""
    async with opened(settings) as (harness, parts):
        report = await harness.run(contract(tmp_path, [WRITE, DONE], policy=asking(tmp_path)))
        (request,) = report.approvals
        stranger = Approver(name="bob", authenticated=True, tenant="elsewhere")
        for answer in (Said(answer=Answer.APPROVE), Said(answer=Answer.REJECT, reason="no")):
            with pytest.raises(InputError, match="There is no approval") as refused:
                await answer_approval(
                    parts.events, parts.records, request.approval_id, answer, stranger
                )
            assert refused.value.code == "other_tenant"
        assert (await harness.resume(report.attempt_id)).effects == {}
        home = stranger.model_copy(update={"tenant": "local"})
        await answer_approval(
            parts.events, parts.records, request.approval_id, Said(answer=Answer.APPROVE), home
        )
        assert (await harness.resume(report.attempt_id)).effects == {"COMMITTED": 1}
