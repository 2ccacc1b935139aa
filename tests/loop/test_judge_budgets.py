"""A judge's calls in whole runs: within the budgets, at its own price, and once for each state."""

import json
from pathlib import Path
from typing import Any

import loops
import pytest

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.event import (
    BudgetExhausted,
    BudgetReserved,
    BudgetSettled,
    JudgeAnswered,
    Suspended,
    VerificationFinished,
)
from checkrein.contracts.task import TaskContract
from checkrein.graph.evidence import package
from checkrein.settings import Settings

WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))
YES = '{"verdict": "pass", "reasons": ["Polite."]}'
NO = '{"verdict": "fail", "reasons": ["Rude."]}'
HUMAN = {"human": {"role": "lawyer", "question": "Is it right?"}}
TRUE = {"command": {"argv": ["true"]}}
MONEY = {"currency": "EUR", "input_per_million": 10**6, "output_per_million": 10**6}


def judged(
    folder: Path, turns: list[loops.Turn], answer: str = YES, **fields: Any
) -> tuple[TaskContract, str]:
    """A task that a scripted judge judges, and the judge's name."""
    script = folder / "judge.yaml"
    turn = {"text": answer, "usage": {"input_tokens": 700, "output_tokens": 30}}
    told = {"version": 1, "calls_log": "judged.log", "turns": [turn]}
    script.write_text(json.dumps(told), encoding="utf-8")
    name = f"scripted:{script}"
    check = {"model_judge": {"model": name, "rubric": "Is it polite?", "files": ["**"]}}
    more = fields.pop("success", [])
    given: dict[str, Any] = {"success": [TRUE, check, *more]}
    return loops.contract(folder, turns, **(given | fields)), name


def asked(folder: Path) -> int:
    """How often the judge was asked, by its own count."""
    log = folder / "judged.log"
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


async def test_a_judges_call_is_reserved_and_booked_at_its_own_price(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the budgets: what a judge costs is set aside first, and booked by its own price."""
    own = {"input_per_million": 10_000, "output_per_million": 100_000}
    task, name = judged(tmp_path, [WRITE, loops.DONE])
    money = MONEY | {"limit": 10**6, "models": {name: own}}
    limits = {"money": money, "input_tokens": 10**6, "output_tokens": 10**6}
    task = TaskContract.model_validate(task.model_dump() | {"budgets": limits})
    async with loops.opened(settings) as (harness, parts):
        done = await harness.run(task)
        told = await loops.payloads(parts, done.attempt_id)
        lines = {line.budget: line for line in await parts.records.books(done.attempt_id)}
        await package(parts.records, parts.events, parts.artifacts, done.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    (answer,) = [p for p in told if isinstance(p, JudgeAnswered)]
    place = told.index(answer)
    reserved, settled = told[place - 2], told[place - 1]
    assert isinstance(reserved, BudgetReserved) and isinstance(settled, BudgetSettled)
    assert reserved.amounts == settled.released
    assert settled.spent == {
        Budget.MODEL_TOKENS: 730,
        Budget.INPUT_TOKENS: 700,
        Budget.OUTPUT_TOKENS: 30,
        Budget.MONEY: 10,
    }
    # Two turns of 10 and 5 tokens at one cent each, and the judge.
    assert (lines[Budget.MONEY].spent, lines[Budget.MODEL_TOKENS].spent) == (40, 760)
    assert lines[Budget.STEPS].spent == 2
    assert all(line.balances and line.reserved == 0 for line in lines.values())


async def test_a_judge_that_the_budget_does_not_suffice_for_is_waited_with(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: no judge is asked on credit; a raised budget goes on in the verification."""
    rules = {"budget_role": "treasurer", "roles": {"treasurer": ["tina"]}}
    task, _ = judged(
        tmp_path, [WRITE, loops.DONE], budgets={"output_tokens": 4_104}, approvals=rules
    )
    async with loops.opened(settings) as (harness, parts):
        stopped = await harness.run(task)
        assert stopped.status is AttemptStatus.BUDGET_EXHAUSTED
        assert "output_tokens" in str(stopped.waiting_for)
        again = await harness.resume(stopped.attempt_id)
        assert (again.status, asked(tmp_path)) == (AttemptStatus.BUDGET_EXHAUSTED, 0)
        await harness.raise_budget(stopped.attempt_id, Budget.OUTPUT_TOKENS, 9_000, by="tina")
        done = await harness.resume(stopped.attempt_id)
        told = await loops.payloads(parts, stopped.attempt_id)
        await package(parts.records, parts.events, parts.artifacts, stopped.attempt_id)
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert (asked(tmp_path), len(loops.model_calls(tmp_path))) == (1, 2)
    gone = [p for p in told if isinstance(p, BudgetExhausted)]
    assert [(p.budget, p.needed) for p in gone] == [(Budget.OUTPUT_TOKENS, 4_096)] * 2
    assert [p.status for p in told if isinstance(p, Suspended)] == [stopped.status] * 2


async def test_a_judge_is_asked_once_about_one_state(tmp_path: Path, settings: Settings) -> None:
    """Protects money and the verdict: the same state handed in again gets the same answer."""
    task, _ = judged(
        tmp_path, [WRITE, loops.DONE, loops.DONE, loops.DONE], NO, budgets={"repairs": 2}
    )
    async with loops.opened(settings) as (harness, parts):
        ended = await harness.run(task)
        told = await loops.payloads(parts, ended.attempt_id)
    assert ended.status is AttemptStatus.FAILED_VERIFICATION
    assert asked(tmp_path) == 1
    verdicts = [p.result for p in told if isinstance(p, VerificationFinished)]
    assert [v.gaps for v in verdicts] == [verdicts[0].gaps] * 3


async def test_a_persons_word_does_not_have_the_judge_asked_again(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: going on after a person's yes verifies anew, without paying the judge anew."""
    task, _ = judged(
        tmp_path,
        [WRITE, loops.DONE],
        success=[HUMAN],
        approvals={"roles": {"lawyer": ["lea"]}},
    )
    async with loops.opened(settings) as (harness, parts):
        waits = await harness.run(task)
        assert (waits.status, asked(tmp_path)) == (AttemptStatus.WAITING_FOR_USER, 1)
        await harness.judge(waits.attempt_id, "pass", by="lea")
        done = await harness.resume(waits.attempt_id)
        await loops.payloads(parts, waits.attempt_id)
    assert (done.status, asked(tmp_path)) == (AttemptStatus.CANDIDATE_VERIFIED, 1)
    assert done.verification is not None
    (check,) = [c for c in done.verification.checks if c.kind == "model_judge"]
    assert check.measured["input_tokens"] == 700


@pytest.mark.parametrize("answer", ["Sure: pass!", "pass"])
async def test_an_answer_that_does_not_count_is_booked_and_not_kept(
    tmp_path: Path, settings: Settings, answer: str
) -> None:
    """Protects: what was paid for is booked, and an answer of no form is nobody's word."""
    task, _ = judged(tmp_path, [WRITE, loops.DONE], answer)
    async with loops.opened(settings) as (harness, parts):
        ended = await harness.run(task)
        told = await loops.payloads(parts, ended.attempt_id)
        lines = {line.budget: line for line in await parts.records.books(ended.attempt_id)}
    assert ended.status is AttemptStatus.ENVIRONMENT_ERROR
    assert not [p for p in told if isinstance(p, JudgeAnswered)]
    assert lines[Budget.MODEL_TOKENS].spent == 760
