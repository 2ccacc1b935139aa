"""Every way in which an attempt can end or pause, each with the status that says what happened."""

import asyncio
from pathlib import Path
from typing import Any

import loops
import pytest

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.event import Observed
from checkrein.errors import ConflictError
from checkrein.graph.report import Report
from checkrein.settings import Settings

WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))
FAILS = [{"command": {"argv": ["grep", "-q", "two", "a.txt"]}}]
LOOK = loops.says("", loops.call("workspace.read", path="a.txt"))


async def run(folder: Path, settings: Settings, turns: list[loops.Turn], **fields: Any) -> Report:
    """Run to the first pause or the end."""
    async with loops.opened(settings) as (harness, _):
        return await harness.run(loops.contract(folder, turns, **fields))


@pytest.mark.shows(32, 33, 204, 208)
async def test_a_claim_without_proof_fails_verification(tmp_path: Path, settings: Settings) -> None:
    """Protects: "all tests pass" is a claim; the harness's own checks decide."""
    budgets = {"repairs": 0}
    report = await run(
        tmp_path, settings, [loops.says("Fixed, all tests pass.")], success=FAILS, budgets=budgets
    )
    assert report.status is AttemptStatus.FAILED_VERIFICATION
    assert report.verification is not None
    assert report.verification.status == "FAIL"


@pytest.mark.shows(36)
async def test_a_repair_round_gets_the_gaps(tmp_path: Path, settings: Settings) -> None:
    """Protects: the model is told what is missing, and may mend it as often as the budget says."""
    turns = [loops.says("Done."), WRITE, loops.says("Done now.")]
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(
            loops.contract(tmp_path, turns, success=FAILS, budgets={"repairs": 1})
        )
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert report.budgets[Budget.REPAIRS].spent == 1
        kinds = await loops.types(parts, report.attempt_id)
        assert kinds.count("verification_finished") == 2


@pytest.mark.shows(36)
async def test_repairs_end_when_their_budget_does(tmp_path: Path, settings: Settings) -> None:
    """Protects: a model that never mends it does not go on for ever."""
    turns = [loops.says(f"Done {n}.") for n in range(3)]
    report = await run(tmp_path, settings, turns, success=FAILS, budgets={"repairs": 2})
    assert report.status is AttemptStatus.FAILED_VERIFICATION
    assert report.budgets[Budget.REPAIRS].spent == 2


@pytest.mark.shows(205, 223)
async def test_changing_the_tests_fails_verification(tmp_path: Path, settings: Settings) -> None:
    """Protects: even where the policy lets the model change the tests, the gate does not."""
    turn = loops.says("", loops.call("workspace.write_file", path="tests/t.py", content=""))
    report = await run(
        tmp_path,
        settings,
        [turn, loops.DONE],
        files={"a.txt": "one\n", "tests/t.py": "assert 0\n"},
        constraints=[{"unchanged": ["tests/**"]}],
        budgets={"repairs": 0},
    )
    assert report.effects == {"COMMITTED": 1}
    assert report.status is AttemptStatus.FAILED_VERIFICATION
    assert report.verification is not None
    assert any("tests/t.py" in gap for gap in report.verification.gaps)


async def test_the_shipped_policy_denies_changing_the_tests(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: under the shipped rules it does not even come to asking."""
    turn = loops.says("", loops.call("workspace.write_file", path="tests/t.py", content=""))
    files = {"a.txt": "one\n", "tests/t.py": "assert 0\n"}
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(
            loops.contract(tmp_path, [turn, loops.DONE], files=files, policy=None)
        )
        assert report.effects == {}
        (told,) = [
            p for p in await loops.payloads(parts, report.attempt_id) if isinstance(p, Observed)
        ]
        assert told.observation.status == "denied"
        assert told.observation.diagnostics is not None
        assert told.observation.diagnostics.error_type == "protected_path"


@pytest.mark.shows(32)
async def test_a_question_waits_for_its_answer(tmp_path: Path, settings: Settings) -> None:
    """Protects: a question is no failure and no success; the answer reaches the model."""
    turns = [loops.says("", loops.call("ask_user", question="Which currency?")), loops.DONE]
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(loops.contract(tmp_path, turns))
        assert report.status is AttemptStatus.WAITING_FOR_USER
        assert report.waiting_for == "Which currency?"
        still = await harness.resume(report.attempt_id)
        assert still.status is AttemptStatus.WAITING_FOR_USER
        await parts.front_door.answer(report.attempt_id, "Yen.", by="alice")
        with pytest.raises(ConflictError):
            await parts.front_door.answer(report.attempt_id, "No, Euro.", by="alice")
        done = await harness.resume(report.attempt_id)
        assert done.status is AttemptStatus.CANDIDATE_VERIFIED
        (turn,) = await parts.records.history(report.attempt_id, before=2, limit=5)
        assert turn.answer == "Yen."


@pytest.mark.shows(32)
async def test_silence_stops_the_turn(tmp_path: Path, settings: Settings) -> None:
    """Protects: a model that says nothing has not succeeded."""
    report = await run(tmp_path, settings, [loops.says("")])
    assert report.status is AttemptStatus.TURN_STOPPED


async def test_a_script_that_ends_is_a_model_error(tmp_path: Path, settings: Settings) -> None:
    """Protects: what the model cannot give ends the run by its own name, not as a crash."""
    report = await run(tmp_path, settings, [LOOK])
    assert report.status is AttemptStatus.MODEL_ERROR


async def test_turns_left_over_are_warned_of(tmp_path: Path, settings: Settings) -> None:
    """Protects: a script that was not used up says that the test is not what it seems."""
    report = await run(tmp_path, settings, [loops.DONE, LOOK])
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert len(report.warnings) == 1


@pytest.mark.shows(47, 48)
async def test_nonsense_is_answered_and_then_ends(tmp_path: Path, settings: Settings) -> None:
    """Protects: bad calls never crash and never act; three turns of them end the run."""
    bad = [
        loops.says("", {"name": "workspace.read", "args": "{not json"}),
        loops.says("", loops.call("no_such_tool", x=1)),
        loops.says("", loops.call("workspace.read", path=7, more=1)),
    ]
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(loops.contract(tmp_path, bad))
        assert report.status is AttemptStatus.MODEL_ERROR
        told = [
            p.observation
            for p in await loops.payloads(parts, report.attempt_id)
            if isinstance(p, Observed)
        ]
        assert [o.status for o in told] == ["invalid"] * 3
        assert all(o.diagnostics and o.diagnostics.advice for o in told)


@pytest.mark.shows(37, 65)
async def test_denials_alone_end_blocked(tmp_path: Path, settings: Settings) -> None:
    """Protects: a model that insists on what is denied does not go on for ever."""
    turns = [
        loops.says("", loops.call("workspace.write_file", path=".env", content=str(n)))
        for n in range(3)
    ]
    report = await run(tmp_path, settings, turns, policy=None)
    assert report.status is AttemptStatus.POLICY_BLOCKED
    assert report.effects == {}


@pytest.mark.shows(30)
@pytest.mark.parametrize("budget", ["steps", "tool_calls", "model_tokens"])
async def test_a_spent_budget_suspends(budget: str, tmp_path: Path, settings: Settings) -> None:
    """Protects: no budget is overdrawn; the one that stopped the run is named."""
    least = {"steps": 1, "tool_calls": 1, "model_tokens": 300}[budget]
    report = await run(tmp_path, settings, [LOOK, LOOK, loops.DONE], budgets={budget: least})
    assert report.status is AttemptStatus.BUDGET_EXHAUSTED
    assert budget in (report.waiting_for or "")
    line = report.budgets[Budget(budget)]
    assert line.spent <= line.limit
    assert line.reserved == 0


@pytest.mark.shows(29)
async def test_pause_and_cancel_are_heard_at_the_top_of_a_turn(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a request that is recorded while the run works stops it before the next call."""
    task = loops.contract(tmp_path, [loops.says("", delay_s=0.1, calls=LOOK["calls"]), loops.DONE])
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        with pytest.raises(ConflictError, match="ended"):
            await parts.front_door.pause(report.attempt_id, by="alice")


async def test_fifty_calls_in_one_turn_each_get_a_result(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: every call has exactly one result, those beyond the bound too."""
    turn = loops.says("", *[loops.call("workspace.read", path="a.txt") for _ in range(50)])
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(loops.contract(tmp_path, [turn, loops.DONE]))
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        told = [
            p.observation
            for p in await loops.payloads(parts, report.attempt_id)
            if isinstance(p, Observed)
        ]
        assert sorted(o.position for o in told) == list(range(50))
        assert sum(o.status == "invalid" for o in told) == 18


@pytest.mark.parametrize("text", ["x" * 5_000_000, "nul \x00 here", "lone \ud800 surrogate"])
async def test_strange_text_is_kept_and_judged(
    text: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: what a model writes is stored as it is, and cannot break the store."""
    report = await run(tmp_path, settings, [loops.says(text)])
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED


async def test_two_retries_at_once_leave_one_working_copy(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the disk: whoever was slower leaves nothing behind."""
    fails = [{"command": {"argv": ["false"]}}]
    task = loops.contract(tmp_path, [loops.DONE], success=fails, budgets={"repairs": 0})
    async with loops.opened(settings) as (harness, parts):
        first = await harness.run(task)
        retries = (parts.front_door.retry(first.task_id) for _ in range(2))
        found = await asyncio.gather(*retries, return_exceptions=True)
        (slower,) = [one for one in found if isinstance(one, BaseException)]
        assert isinstance(slower, ConflictError)
        attempts = {one.attempt_id for one in await parts.records.attempts(first.task_id)}
    assert {folder.name for folder in (settings.home / "workspaces").iterdir()} == attempts
    assert len(attempts) == 2


@pytest.mark.shows(2)
async def test_a_second_attempt_asks_before_it_repeats(tmp_path: Path, settings: Settings) -> None:
    """Protects: an effect that the task has made already is asked for, never silently repeated."""
    task = loops.contract(
        tmp_path,
        [WRITE, loops.says("Done.")],
        success=[{"command": {"argv": ["false"]}}],
        budgets={"repairs": 0},
    )
    async with loops.opened(settings) as (harness, parts):
        first = await harness.run(task)
        assert first.status is AttemptStatus.FAILED_VERIFICATION
        second = await parts.front_door.retry(first.task_id)
        assert second.task_id == first.task_id
        assert second.attempt_id != first.attempt_id
        assert second.status is AttemptStatus.WAITING_FOR_APPROVAL
        assert second.approvals[0].reason_code == "repeats_effect"
        with pytest.raises(ConflictError, match="has not ended"):
            await parts.front_door.retry(first.task_id)
