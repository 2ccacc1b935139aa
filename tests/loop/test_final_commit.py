"""The final commit: gated, ledgered, verified after, by one person, of what still stands."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import loops
import pytest

from checkrein.compose import Parts
from checkrein.contracts.approval import Approver
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.event import AttemptStarted
from checkrein.contracts.task import TaskContract
from checkrein.errors import CheckreinError, ConflictError, InputError
from checkrein.graph.acceptance import accept
from checkrein.graph.commit import BUDGETS, planned
from checkrein.graph.report import Report
from checkrein.harness import Harness
from checkrein.settings import Settings

BOB = Approver(name="bob")
WRITE = loops.says(
    "",
    loops.call("workspace.write_file", path="a.txt", content="two\n"),
    loops.call("workspace.write_file", path="new/b.txt", content="born\n"),
)


def task(folder: Path, **fields: Any) -> TaskContract:
    """A task that bob may commit, judged by the shipped rules but for the writes."""
    given: dict[str, Any] = {"commit_authority": "bob", "policy": None} | fields
    return loops.contract(folder, [WRITE, loops.DONE], **given)


async def verified(harness: Harness, contract: TaskContract) -> Report:
    """Run it; bob says yes to every write."""
    report = await harness.run(contract)
    while report.approvals:
        for request in report.approvals:
            await harness.approve(request.approval_id, by="bob")
        report = await harness.resume(report.attempt_id)
    assert report.verified, report
    return report


async def status(parts: Parts, task_id: str) -> str:
    """Where the task stands."""
    return (await parts.records.task(task_id)).status


@pytest.mark.shows(207, 220)
async def test_the_authority_publishes_what_was_verified(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: gate, ledger, receipt, read-back and verification, and then COMPLETED; once."""
    source = tmp_path / "workspace"
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path))
        assert (source / "a.txt").read_text() == "one\n"
        assert await status(parts, report.task_id) == "VERIFIED"
        done = await parts.front_door.commit(report.task_id, BOB)
        assert done.verified, done
        assert (source / "a.txt").read_text() == "two\n"
        assert (source / "new" / "b.txt").read_text() == "born\n"
        assert await status(parts, report.task_id) == "COMPLETED"
        told = await loops.types(parts, done.attempt_id)
        order = ["policy_decided", "intent_bound", "effect_executing", "effect_committed"]
        assert [name for name in told if name in order] == ["policy_decided", *order]
        assert "effect_verified" in told
        (effect,) = await parts.records.effects(done.attempt_id)
        assert (effect.status, effect.verified) == ("COMMITTED", True)
        again = await parts.front_door.commit(report.task_id, BOB)
        assert again.attempt_id == done.attempt_id
        assert len(await parts.records.attempts(report.task_id)) == 2


async def test_a_commit_of_an_in_place_task_moves_nothing(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: where the work was done in the folder itself, the commit says that it stands."""
    source = tmp_path / "workspace"
    contract = task(tmp_path, workspace={"path": str(source), "mode": "in_place"})
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, contract)
        done = await parts.front_door.commit(report.task_id, BOB)
        assert done.verified, done
        assert await parts.records.effects(done.attempt_id) == []
        assert await status(parts, report.task_id) == "COMPLETED"
        await loops.payloads(parts, done.attempt_id)


@pytest.mark.shows(207)
async def test_a_verification_says_nothing_about_another_state(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: neither accept nor commit takes a state that moved after it was verified."""
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path))
        (Path(report.workspace) / "a.txt").write_text("three\n")
        with pytest.raises(ConflictError, match="was changed after it was verified") as refused:
            await parts.front_door.commit(report.task_id, BOB)
        assert refused.value.code == "state_moved"
        alice = Approver(name="alice")
        stores = (parts.events, parts.records, parts.front_door.opener)
        with pytest.raises(ConflictError) as refused:
            await accept(*stores, report.task_id, alice)
        assert refused.value.code == "state_moved"
        assert len(await parts.records.attempts(report.task_id)) == 1


async def test_a_source_that_somebody_changed_is_not_written_over(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: nothing is written, the task stays VERIFIED, and a later commit can still be."""
    source = tmp_path / "workspace"
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path))
        (source / "mine.txt").write_text("mine\n")
        failed = await parts.front_door.commit(report.task_id, BOB)
        assert failed.status == "FAILED_VERIFICATION"
        assert "source_moved" in failed.detail
        assert (source / "a.txt").read_text() == "one\n"
        assert await parts.records.effects(failed.attempt_id) == []
        assert await status(parts, report.task_id) == "VERIFIED"
        await loops.payloads(parts, failed.attempt_id)
        (source / "mine.txt").unlink()
        assert (await parts.front_door.commit(report.task_id, BOB)).verified
        assert await status(parts, report.task_id) == "COMPLETED"


@pytest.mark.parametrize("who", ["alice", "carol", "anonymous", "eve"])
async def test_nobody_but_the_authority_commits(
    who: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: neither who asked, nor who approves, nor a stranger publishes."""
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path))
        with pytest.raises(InputError) as refused:
            await parts.front_door.commit(report.task_id, Approver(name=who))
        assert refused.value.code == "committer_not_permitted"
        assert (tmp_path / "workspace" / "a.txt").read_text() == "one\n"


async def test_a_risky_task_wants_a_proven_authority(tmp_path: Path, settings: Settings) -> None:
    """Protects: a name on a command line is as little here as in an approval."""
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task(tmp_path, policy=str(loops.ALLOW_ALL), risk="high"))
        assert report.verified
        with pytest.raises(InputError) as refused:
            await parts.front_door.commit(report.task_id, BOB)
        assert refused.value.code == "identity_required"


async def test_a_revoked_authority_does_not_commit(tmp_path: Path, settings: Settings) -> None:
    """Protects: what was taken back from a person counts for this act too."""
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path))
        await parts.events.say("local", "user", "bob", granted=False, by="alice", reason="left")
        with pytest.raises(InputError) as refused:
            await parts.front_door.commit(report.task_id, BOB)
        assert refused.value.code == "revoked"


async def test_what_was_not_verified_is_not_committed(tmp_path: Path, settings: Settings) -> None:
    """Protects: a commit of a task that waits or failed is refused, and stores nothing."""
    fails = [{"command": {"argv": ["false"]}}]
    contract = task(tmp_path, policy=str(loops.ALLOW_ALL), success=fails, budgets={"repairs": 0})
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(contract)
        with pytest.raises(ConflictError) as refused:
            await parts.front_door.commit(report.task_id, BOB)
        assert refused.value.code == "not_verified"
        assert len(await parts.records.attempts(report.task_id)) == 1


async def test_two_commits_at_once_are_one(tmp_path: Path, settings: Settings) -> None:
    """Protects: one attempt, one effect; the other is told so."""
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path))
        both = await asyncio.gather(
            *(parts.front_door.commit(report.task_id, BOB) for _ in range(3)),
            return_exceptions=True,
        )
        for one in both:
            assert isinstance(one, Report | CheckreinError), one
        assert any(isinstance(one, Report) and one.verified for one in both)
        attempts = await parts.records.attempts(report.task_id)
        assert [one.purpose for one in attempts] == ["commit", "work"]
        assert len(await parts.records.effects(attempts[0].attempt_id)) == 1


async def test_a_policy_that_asks_is_answered_before_anything_moves(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: the commit is gated as any act is; the approval shows what is published."""
    contract = task(tmp_path, policy=str(loops.ASK_ALL))
    source = tmp_path / "workspace" / "a.txt"
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, contract)
        waits = await parts.front_door.commit(report.task_id, BOB)
        assert waits.status == "WAITING_FOR_APPROVAL"
        (request,) = waits.approvals
        assert "+two" in request.preview
        assert source.read_text() == "one\n"
        await harness.approve(request.approval_id, by="carol")
        done = await parts.front_door.commit(report.task_id, BOB)
        assert done.attempt_id == waits.attempt_id
        assert done.verified, done
        assert source.read_text() == "two\n"
        await loops.payloads(parts, done.attempt_id)


async def test_a_rejected_commit_leaves_the_task_verified(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a no ends the commit attempt, and takes nothing from what was verified."""
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path, policy=str(loops.ASK_ALL)))
        waits = await parts.front_door.commit(report.task_id, BOB)
        await harness.reject(waits.approvals[0].approval_id, by="carol", reason="not today")
        ended = await harness.resume(waits.attempt_id)
        assert ended.status == "POLICY_BLOCKED"
        assert await status(parts, report.task_id) == "VERIFIED"


async def test_a_model_never_publishes(tmp_path: Path, settings: Settings) -> None:
    """Protects: not by a grant, which is refused, and not by a call, which names no tool."""
    with pytest.raises(ValueError, match="never a model"):
        task(tmp_path, capabilities=["workspace.read", "workspace.publish"])
    digest = "sha256:" + "0" * 64
    tries = loops.says("", loops.call("workspace.publish", baseline=digest, candidate=digest))
    contract = loops.contract(
        tmp_path, [tries, loops.DONE], commit_authority="bob", policy=loops.ALLOW_ALL
    )
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(contract)
        assert report.verified
        told = await loops.types(parts, report.attempt_id)
        assert "action_proposed" not in told


async def test_a_childs_commit_draws_on_its_parents_budgets(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects a parent's budgets: what hands over a child's work is counted as its work was."""
    (tmp_path / "parent").mkdir()
    asks = loops.contract(
        tmp_path / "parent", [loops.says("", loops.call("ask_user", question="?"))]
    )
    async with loops.opened(settings) as (harness, parts):
        above = await harness.run(asks)
        child = await harness.run(task(tmp_path, policy=loops.ALLOW_ALL), parent=above.attempt_id)
        assert child.verified
        await harness.cancel(above.attempt_id, by="alice", reason="no longer needed")
        before = {x.budget: x for x in await parts.records.books(above.attempt_id)}
        done = await parts.front_door.commit(child.task_id, BOB)
        lines = await parts.records.books(done.attempt_id)
        after = {x.budget: x for x in await parts.records.books(above.attempt_id)}
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert above.attempt_id in {line.pool for line in lines}
    assert all(line.balances for line in lines)
    assert after[Budget.TOOL_CALLS].spent == before[Budget.TOOL_CALLS].spent + 1


def remove(scripts: Iterable[str]) -> None:
    """Take models away."""
    for name in scripts:
        Path(name.removeprefix("scripted:")).unlink()


async def test_a_commit_needs_none_of_its_tasks_models(tmp_path: Path, settings: Settings) -> None:
    """Protects: what was verified can be handed over when a model of the work is gone."""
    others: dict[str, str] = {}
    for role in ("fallback_model", "reviewer"):
        script = tmp_path / f"{role}.yaml"
        script.write_text(json.dumps({"version": 1, "turns": [loops.DONE]}))
        others[role] = f"scripted:{script}"
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path, **others))
        remove(others.values())
        done = await parts.front_door.commit(report.task_id, BOB)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_the_authority_may_be_a_role(tmp_path: Path, settings: Settings) -> None:
    """Protects: a role means the same for a commit as for a budget, here and in the store."""
    roles = {"publisher": ["bob"], "approver": ["bob", "eve"]}
    asked = task(tmp_path, commit_authority="publisher", approvals={"roles": roles})
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, asked)
        with pytest.raises(InputError, match="names bob"):
            await parts.front_door.commit(report.task_id, Approver(name="eve"))
        done = await parts.front_door.commit(report.task_id, BOB)
        told = await loops.payloads(parts, done.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED and told


async def test_the_database_itself_refuses_whoever_may_not_commit(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: proof and revocation count in the transaction that begins a commit."""
    proven = Approver(name="bob", authenticated=True)
    state = [{"file_state": {"path": "a.txt"}}]
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(
            task(tmp_path, risk="medium", success=state, policy=loops.ALLOW_ALL)
        )
        contract = await parts.events.contract(report.attempt_id)
        position = await parts.records.position(report.attempt_id)
        plan = await planned(
            parts.events, parts.records, parts.front_door.opener, report.task_id, proven
        )

        async def begin(*, authenticated: bool) -> str | None:
            commit = plan.commit.model_copy(update={"authenticated": authenticated})
            forged = position.attempt.model_copy(
                update={"attempt_id": "c1", "number": 2, "purpose": "commit", "commit": commit}
            )
            stored = contract.model_dump(mode="json")
            started = AttemptStarted(attempt=forged, contract=stored, budgets=BUDGETS)
            with pytest.raises(ConflictError) as refused:
                await parts.events.start([started])
            return refused.value.code

        assert await begin(authenticated=False) == "approval_does_not_bind"
        await parts.events.say("local", "user", "bob", granted=False, by="carol", reason="gone")
        assert await begin(authenticated=True) == "revoked"


async def test_the_database_itself_refuses_a_forged_commit(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: no program of ours can begin a commit of what is not verified, or by another."""
    async with loops.opened(settings) as (harness, parts):
        report = await verified(harness, task(tmp_path))
        contract = await parts.events.contract(report.attempt_id)
        position = await parts.records.position(report.attempt_id)
        plan = await planned(
            parts.events, parts.records, parts.front_door.opener, report.task_id, BOB
        )
        wrong = {
            "by": "eve",
            "state_digest": "sha256:" + "1" * 64,
            "candidate_hash": "sha256:" + "2" * 64,
            "attempt_id": "another",
        }
        for name, value in wrong.items():
            forged = position.attempt.model_copy(
                update={
                    "attempt_id": f"forged-{name}",
                    "number": 2,
                    "purpose": "commit",
                    "commit": plan.commit.model_copy(update={name: value}),
                }
            )
            stored = contract.model_dump(mode="json")
            started = AttemptStarted(attempt=forged, contract=stored, budgets=BUDGETS)
            with pytest.raises(ConflictError) as refused:
                await parts.events.start([started])
            assert refused.value.code == "illegal_transition"
        assert len(await parts.records.attempts(report.task_id)) == 1
