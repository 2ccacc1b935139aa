"""What each call of a model is booked as, in whole runs: every try, and all that is sent."""

from pathlib import Path
from typing import Any

import loops
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import PrivateAttr

from checkrein.compose import Given, composed
from checkrein.contracts.budget import Budget
from checkrein.contracts.event import BudgetReserved
from checkrein.harness import Harness
from checkrein.settings import Settings
from checkrein.testing.scripted_model import Script, ScriptedChatModel

LOOK = loops.says("", loops.call("workspace.read", path="a.txt"))
WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))


class Busy(ScriptedChatModel):
    """Refuses once in passing, and then answers as its script says."""

    _calls: int = PrivateAttr(default=0)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._calls += 1
        if self._calls == 1:
            raise ConnectionError("gone for a moment")
        return await super()._agenerate(messages, stop, run_manager, **kwargs)


async def test_each_try_of_a_model_call_is_booked(tmp_path: Path, settings: Settings) -> None:
    """Protects: a try that failed may have been paid; it is booked at its worst case, as a call."""
    script = Script.model_validate({"version": 1, "turns": [WRITE, loops.DONE]})
    task = loops.contract(tmp_path, [WRITE, loops.DONE], budgets={"output_tokens": 20_000})
    given = Given(model=Busy(script=script))
    async with composed(settings, given) as parts:
        report = await Harness(parts).run(task)
        told = await loops.payloads(parts, report.attempt_id)
        books = {line.budget: line for line in await parts.records.books(report.attempt_id)}
    assert report.verified
    reserved = [p.amounts for p in told if isinstance(p, BudgetReserved)]
    first = [amounts for amounts in reserved if Budget.OUTPUT_TOKENS in amounts]
    assert first[0] == first[1], "the second try was reserved as the first one was"
    assert all(line.balances and line.reserved == 0 for line in books.values())
    assert books[Budget.OUTPUT_TOKENS].spent == 4_096 + 2 * 5
    assert books[Budget.STEPS].spent == 2


async def test_schemas_of_tools_count_in_the_worst_case(tmp_path: Path, settings: Settings) -> None:
    """Protects the budget of input: what is sent with each call is reserved with it."""
    reserved: list[int] = []
    for granted in (["workspace.read"], ["workspace.read", "workspace.apply_patch"]):
        folder = tmp_path / str(len(granted))
        folder.mkdir()
        task = loops.contract(folder, [LOOK, loops.DONE], capabilities=granted)
        async with loops.opened(settings) as (harness, parts):
            report = await harness.run(task)
            told = await loops.payloads(parts, report.attempt_id)
        (first, *_) = [p.amounts for p in told if isinstance(p, BudgetReserved)]
        reserved.append(first[Budget.MODEL_TOKENS])
    assert reserved[1] - reserved[0] > 50
