"""A model that goes in circles is led up the ladder, and stopped before its steps are spent."""

from pathlib import Path
from typing import Any

import loops
import pytest
from circles import CIRCLES, FILES
from command_line import task_file
from forged import changed
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import PrivateAttr

from checkrein.adapters.task_file import load_task
from checkrein.compose import Given, Parts, composed
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.event import ActionProposed, ModelRequested, NoProgressNoticed, Payload
from checkrein.contracts.progress import Rung
from checkrein.contracts.task import TaskContract
from checkrein.graph.report import Report
from checkrein.graph.trace_rules import grade
from checkrein.settings import Settings
from checkrein.testing.scripted_model import Script, ScriptedChatModel

LOOK = loops.says("", loops.call("workspace.read", path="a.txt"))


def task(folder: Path, turns: list[loops.Turn], **fields: Any) -> TaskContract:
    """A task file with files to look at, loaded as the command line does."""
    path = task_file(folder, turns, **fields)
    for name, text in FILES.items():
        (folder / "workspace" / name).write_text(text, encoding="utf-8")
    return load_task(path).contract


def script(folder: Path, name: str, turns: list[loops.Turn]) -> str:
    """Another script beside the task; returns how a task names it."""
    written = Script.model_validate({"version": 1, "turns": turns})
    (folder / name).write_text(written.model_dump_json(), encoding="utf-8")
    return f"scripted:{name}"


def notices(told: list[Payload]) -> list[NoProgressNoticed]:
    """What was noticed, in order."""
    return [p for p in told if isinstance(p, NoProgressNoticed)]


async def run(folder: Path, settings: Settings, contract: TaskContract) -> tuple[Report, Any]:
    """Run to the first pause or end; returns the report and the payloads."""
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(contract)
        return report, await loops.payloads(parts, report.attempt_id)


@pytest.mark.shows(199, 200)
@pytest.mark.parametrize("signal", CIRCLES)
async def test_five_circles_end_at_a_person_before_their_steps(
    signal: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: each way of going round is noticed by its signal, with its evidence named."""
    contract = task(tmp_path, CIRCLES[signal], budgets={"steps": 30})
    report, told = await run(tmp_path, settings, contract)
    assert report.status is AttemptStatus.WAITING_FOR_USER
    assert report.budgets[Budget.STEPS].left > 0
    found = notices(told)
    first, last = found[0], found[-1]
    assert first.signal == signal
    assert [n.rung for n in found] == [Rung.REPLAN, Rung.SHRINK, Rung.SWITCH, Rung.PERSON]
    assert [item.rung for item in last.skipped] == [Rung.REVIEW]
    ids = {p.action.action_id for p in told if isinstance(p, ActionProposed)}
    assert first.action_ids
    assert signal == "repeated_error" or set(first.action_ids) <= ids
    assert report.waiting_for == last.advice
    assert ", ".join(map(str, last.evidence)) in (report.waiting_for or "")
    assert all(turn < last.turn for turn in last.evidence)


@pytest.mark.shows(200)
@pytest.mark.parametrize("steps", [4, 5, 6, 8, 12])
async def test_the_person_is_reached_with_few_steps(
    steps: int, tmp_path: Path, settings: Settings
) -> None:
    """Protects: rungs are climbed faster where few turns are left, in order, and none is spent."""
    contract = task(tmp_path, [LOOK] * steps, budgets={"steps": steps})
    report, told = await run(tmp_path, settings, contract)
    assert report.status is AttemptStatus.WAITING_FOR_USER
    rungs = [n.rung for n in notices(told)]
    assert rungs[-1] is Rung.PERSON
    assert rungs == sorted(rungs, key=list(Rung).index)
    assert report.turns < steps


@pytest.mark.shows(200)
async def test_an_answer_starts_at_the_foot(tmp_path: Path, settings: Settings) -> None:
    """Protects: the person's word reaches the model, counts once, and gives it all rungs anew."""
    contract = task(tmp_path, [LOOK] * 40, budgets={"steps": 40})
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(contract)
        still = await harness.resume(report.attempt_id)
        assert (still.status, still.turns) == (report.status, report.turns)
        await parts.front_door.answer(report.attempt_id, "Look at b.", by="alice")
        again = await harness.resume(report.attempt_id)
        assert again.status is AttemptStatus.WAITING_FOR_USER
        told = await loops.payloads(parts, report.attempt_id)
        records = await parts.records.history(report.attempt_id, before=99, limit=99)
    rungs = [n.rung for n in notices(told)]
    assert rungs == [Rung.REPLAN, Rung.SHRINK, Rung.SWITCH, Rung.PERSON] * 2
    assert [r.answer for r in records if r.answer] == ["Look at b."]
    after = notices(told)[4]
    assert min(after.evidence) > report.turns


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"evidence": [99]}, "notice_has_evidence"),
        ({"evidence": []}, "notice_has_evidence"),
        ({"action_ids": ["act_of_nobody"]}, "notice_has_evidence"),
        ({"rung": "shrink"}, "notice_has_evidence"),
    ],
)
async def test_a_forged_notice_is_found(
    change: dict[str, Any], rule: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: whoever reads the evidence can rely on what it says of a lack of progress."""
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(task(tmp_path, [LOOK] * 20))
        events = await parts.events.read(report.attempt_id)

    def forged(payloads: list[dict[str, Any]]) -> list[dict[str, Any]]:
        last = [p for p in payloads if p["type"] == "no_progress_noticed"][-1]
        return [p | change if p is last else p for p in payloads]

    assert grade(changed(events, lambda payloads: payloads)) == []
    assert rule in {fault.rule for fault in grade(changed(events, forged))}


async def test_honest_polling_is_left_alone(tmp_path: Path, settings: Settings) -> None:
    """Protects: a tool that the task names as waiting may be asked again and again."""
    rules = {"polling": ["workspace.read"], "polls": 15}
    contract = task(tmp_path, [*[LOOK] * 12, loops.DONE], progress=rules)
    report, told = await run(tmp_path, settings, contract)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert notices(told) == []


@pytest.mark.shows(200)
async def test_the_fallback_decides_from_the_switch_on(tmp_path: Path, settings: Settings) -> None:
    """Protects: the harness changes the model, says so, and acts under the other's name."""
    work = [LOOK] * 20
    mended = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))
    other = script(tmp_path, "other.yaml", [*work[:7], mended, loops.DONE])
    contract = task(tmp_path, work, fallback_model=other)
    report, told = await run(tmp_path, settings, contract)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    (switch,) = [n for n in notices(told) if n.rung is Rung.SWITCH]
    asked = {p.turn: p.model for p in told if isinstance(p, ModelRequested)}
    assert all("decisions.yaml" in asked[turn] for turn in range(1, switch.turn))
    assert all("other.yaml" in asked[turn] for turn in range(switch.turn, report.turns + 1))
    actors = [p.action.actor for p in told if isinstance(p, ActionProposed)]
    assert "decisions.yaml" in actors[0]
    assert "other.yaml" in actors[-1]


async def test_each_models_calls_are_booked_at_its_own_price(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects the money: a fallback that costs more is not booked as the model it stands for."""
    work = [LOOK] * 20
    mended = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))
    other = script(tmp_path, "other.yaml", [*work[:7], mended, loops.DONE])
    dear = {"input_per_million": 10**8, "output_per_million": 10**8}
    money = {"limit": 10**9, "currency": "EUR", "input_per_million": 0, "output_per_million": 0}
    limits = {"money": money | {"models": {other: dear}}}
    contract = task(tmp_path, work, fallback_model=other, budgets=limits)
    report, told = await run(tmp_path, settings, contract)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    calls = [
        p for p in told if isinstance(p, ModelRequested) and p.model == contract.fallback_model
    ]
    assert report.budgets[Budget.MONEY].spent == len(calls) * 15 * 100 > 0


@pytest.mark.shows(200)
async def test_the_reviewer_is_asked_before_a_person(tmp_path: Path, settings: Settings) -> None:
    """Protects: an independent model's words reach the one that works; they decide nothing."""
    reviewer = script(tmp_path, "reviewer.yaml", [loops.says("It reads what it knows.")] * 20)
    contract = task(tmp_path, [LOOK] * 20, reviewer=reviewer)
    report, told = await run(tmp_path, settings, contract)
    assert report.status is AttemptStatus.WAITING_FOR_USER
    found = notices(told)
    assert [n.rung for n in found] == list(Rung)
    assert found[3].review == "It reads what it knows."
    assert report.budgets[Budget.MODEL_TOKENS].reserved == 0
    assert report.budgets[Budget.MODEL_TOKENS].spent == 15 * (report.turns + 1)


async def test_a_reviewer_that_fails_is_passed_over(tmp_path: Path, settings: Settings) -> None:
    """Protects: what helps a run must not be able to stop it."""
    reviewer = script(tmp_path, "reviewer.yaml", [loops.says("Only one turn.")])
    contract = task(tmp_path, [LOOK] * 20, reviewer=reviewer)
    report, told = await run(tmp_path, settings, contract)
    assert report.status is AttemptStatus.WAITING_FOR_USER
    last = notices(told)[-1]
    assert (last.rung, last.skipped[0].rung) == (Rung.PERSON, Rung.REVIEW)
    assert "script_exhausted" in last.skipped[0].why
    assert report.budgets[Budget.MODEL_TOKENS].reserved == 0


class Watched(ScriptedChatModel):
    """A scripted model that keeps what it was sent."""

    _sent: list[tuple[str, list[str]]] = PrivateAttr(default_factory=list[tuple[str, list[str]]])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        names = [tool["function"]["name"] for tool in kwargs["tools"]]
        self._sent.append((str(messages[-1].text), names))
        return await super()._agenerate(messages, stop, run_manager, **kwargs)

    @property
    def sent(self) -> list[tuple[str, list[str]]]:
        """The last message and the tools of each call."""
        return self._sent


@pytest.mark.shows(200)
async def test_what_the_model_is_told_on_each_rung(tmp_path: Path, settings: Settings) -> None:
    """Protects: the notice is framed as the harness's, names its turns, and withholds the tool."""
    model = Watched(script=Script.model_validate({"version": 1, "turns": [LOOK] * 20}))
    contract = task(tmp_path, [LOOK]).model_copy(update={"model": None})
    async with composed(settings, Given(model=model)) as parts:
        report = await parts.front_door.start(contract)
        found = notices(await loops.payloads(parts, report.attempt_id))
        await _compiled_again(parts, report.attempt_id)
    replan, _, switch, _ = found
    text, tools = model.sent[replan.turn - 1]
    assert text.startswith("Notice from the harness")
    assert "turns 1, 2, 3 (workspace.read)" in text
    assert "workspace_read" in tools
    text, tools = model.sent[switch.turn - 1]
    assert "Not offered for now: workspace.read" in text
    assert "workspace_read" not in tools
    assert "workspace_write_file" in tools


async def _compiled_again(parts: Parts, attempt_id: str) -> None:
    """Every context is on record with the notice among its sources."""
    told = await loops.payloads(parts, attempt_id)
    for notice in notices(told)[:-1]:
        ref = next(
            p.manifest_ref for p in told if p.type == "context_compiled" and p.turn == notice.turn
        )
        manifest = (await parts.events.blob(ref)).decode()
        assert f'"id":"{notice.signal}:{notice.rung}"' in manifest
