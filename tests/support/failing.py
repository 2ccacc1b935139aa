"""What happens when something fails, one scenario for each row of docs/failures.md."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from loops import DONE, Turn, call, contract, payloads, says
from pydantic import PrivateAttr

from checkrein import capability
from checkrein.compose import Given, composed
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.event import AttemptEnded, Observed, Payload
from checkrein.contracts.observation import Diagnostics
from checkrein.errors import CapabilityError
from checkrein.graph.report import Report
from checkrein.ports.capability import Capability, RetryPolicy
from checkrein.settings import Settings
from checkrein.testing.scripted_model import Script, ScriptedChatModel

FAST = RetryPolicy(tries=3, first_s=0.01, longest_s=0.02)
WORDS = "the wording is the same, whatever it means"
"""What every error here says: nothing may depend on it."""


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what is on record."""

    report: Report
    told: list[Payload]

    @property
    def why(self) -> list[Diagnostics]:
        """The structured error of each result that has one, in order."""
        seen = [p.observation.diagnostics for p in self.told if isinstance(p, Observed)]
        return [one for one in seen if one is not None]

    @property
    def end(self) -> AttemptEnded:
        """The event that ended it."""
        (found,) = [p for p in self.told if isinstance(p, AttemptEnded)]
        return found

    def count(self, kind: str) -> int:
        """How many events of one type there are."""
        return sum(p.type == kind for p in self.told)


async def ran(
    folder: Path,
    settings: Settings,
    turns: Sequence[Turn],
    *capabilities: Capability,
    model: ScriptedChatModel | None = None,
    **fields: Any,
) -> Ended:
    """Run a task to its first pause or its end."""
    task = contract(folder, turns, **fields)
    async with composed(settings, Given(model=model, capabilities=capabilities)) as parts:
        report = await parts.front_door.start(task)
        return Ended(report, await payloads(parts, report.attempt_id))


def failing(times: int, side_effect: str = "READ", **error: Any) -> Any:
    """A tool that fails so many times with an error of these fields, and then works."""
    left = [times]
    fields: dict[str, Any] = {"code": "broken"} | error

    async def act(text: str = "") -> str:
        """Act."""
        if left[0] > 0:
            left[0] -= 1
            raise CapabilityError(WORDS, op="shop.ask", **fields)
        return f"it is {text}"

    made: Any = capability("shop.ask", side_effect=side_effect, retry=FAST)(act)
    return made


ASK = says("", call("shop.ask", text="x"))
SHOP: dict[str, Any] = {"capabilities": ["shop.ask", "workspace.read"]}


class Down(ScriptedChatModel):
    """A model that cannot be reached for its first calls."""

    down_for: int = 0
    error: type[Exception] = ConnectionError
    _made: int = PrivateAttr(default=0)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._made += 1
        if self._made <= self.down_for:
            raise self.error(WORDS)
        return await super()._agenerate(messages, stop, run_manager, **kwargs)


def model(turns: Sequence[Turn], **fields: Any) -> Down:
    """A scripted model that fails as the fields say."""
    script = Script.model_validate({"version": 1, "turns": list(turns)})
    return Down(script=script, **fields)


async def passing_with_budget(folder: Path, settings: Settings) -> None:
    """Retried, each retry on record, and the result is that of the try that worked."""
    tool = failing(2, retryable=True)
    run = await ran(folder, settings, [ASK, DONE], tool, **SHOP)
    assert run.report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert run.count("retry_scheduled") == 2
    assert run.why == []
    assert run.report.budgets[Budget.TOOL_CALLS].spent == 3


async def passing_without_budget(folder: Path, settings: Settings) -> None:
    """The last error is the result; of an essential capability it is the end."""
    tool = failing(9, retryable=True, code="shop_busy")
    fields: dict[str, Any] = {**SHOP, "essential": ["shop.ask"]}
    run = await ran(folder, settings, [ASK, DONE], tool, **fields)
    assert run.report.status is AttemptStatus.FAILED
    assert (run.end.error_type, run.count("retry_scheduled")) == ("shop_busy", 2)
    no_calls = failing(9, retryable=True, code="shop_busy")
    budget: dict[str, Any] = {"budgets": {"tool_calls": 2}}
    run = await ran(folder / "b", settings, [ASK, DONE], no_calls, **fields, **budget)
    assert run.report.status is AttemptStatus.FAILED
    assert (run.end.error_type, run.count("retry_scheduled")) == ("shop_busy", 1)


async def read_out_of_time(folder: Path, settings: Settings) -> None:
    """A time-out of a read is retried; nothing can have happened."""

    @capability("shop.ask", side_effect="READ", timeout_s=0.05, retry=FAST)
    async def slow(text: str) -> None:
        """Ask slowly."""
        await asyncio.sleep(30)

    run = await ran(folder, settings, [ASK, DONE], slow, **SHOP)
    assert run.report.status is AttemptStatus.CANDIDATE_VERIFIED
    (why,) = run.why
    assert (why.error_type, why.retryable, why.effect_possible) == ("not_in_time", True, False)
    assert run.count("retry_scheduled") == 2


async def write_out_of_time(folder: Path, settings: Settings) -> None:
    """A time-out of a write is never taken for a no."""

    @capability("shop.ask", timeout_s=0.05, retry=FAST)
    async def slow(text: str) -> None:
        """Buy slowly."""
        await asyncio.sleep(30)

    run = await ran(folder, settings, [ASK, DONE], slow, **SHOP)
    assert run.report.status is AttemptStatus.RECONCILE_REQUIRED
    assert run.report.effects == {"UNKNOWN_EFFECT": 1}
    assert run.count("effect_retried") == 0


async def permanent(folder: Path, settings: Settings) -> None:
    """The model is told; it is the end where the task calls it essential, or nothing is left."""
    told = await ran(folder, settings, [ASK, DONE], failing(9, code="closed"), **SHOP)
    assert told.report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert [(why.error_type, why.retryable) for why in told.why] == [("closed", False)]
    assert told.count("retry_scheduled") == 0
    fields: dict[str, Any] = {**SHOP, "essential": ["shop.ask"]}
    tool = failing(9, code="closed")
    essential = await ran(folder / "b", settings, [ASK, DONE], tool, **fields)
    assert essential.report.status is AttemptStatus.FAILED
    assert essential.end.error_type == "closed"
    alone: dict[str, Any] = {"capabilities": ["shop.ask"]}
    tool = failing(9, code="closed")
    nothing = await ran(folder / "c", settings, [ASK] * 3, tool, **alone)
    assert nothing.report.status is AttemptStatus.FAILED
    assert "nothing else is left" in nothing.end.detail
    assert nothing.report.turns == 3


async def invalid_arguments(folder: Path, settings: Settings) -> None:
    """The result names the field and how to mend it."""
    bad = says("", call("workspace.read", path=7))
    run = await ran(folder, settings, [bad, DONE])
    assert run.report.status is AttemptStatus.CANDIDATE_VERIFIED
    (why,) = run.why
    assert why.error_type == "invalid_arguments"
    assert "path" in why.advice
    assert "string" in why.advice or "text" in why.advice


async def denied(folder: Path, settings: Settings) -> None:
    """The result has the reason's code and what is granted besides; nothing else: blocked."""
    secret = says("", call("workspace.write_file", path=".env", content="x"))
    run = await ran(folder, settings, [secret] * 3, policy=None)
    assert run.report.status is AttemptStatus.POLICY_BLOCKED
    assert run.count("effect_executing") == 0
    assert run.end.error_type == run.why[-1].error_type
    assert run.why[0].alternatives == [
        *("workspace.read", "workspace.list", "workspace.apply_patch"),
    ]


async def model_down(folder: Path, settings: Settings) -> None:
    """A passing fault of the model is retried; one that stays, or lasts, is MODEL_ERROR."""
    passing = model([DONE], down_for=1)
    run = await ran(folder, settings, [DONE], model=passing)
    assert run.report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert run.count("retry_scheduled") == 1
    stays = model([DONE], down_for=9)
    run = await ran(folder / "b", settings, [DONE], model=stays)
    assert run.report.status is AttemptStatus.MODEL_ERROR
    assert (run.end.error_type, run.count("retry_scheduled")) == ("model_unavailable", 2)
    lasts = model([DONE], down_for=9, error=PermissionError)
    run = await ran(folder / "c", settings, [DONE], model=lasts)
    assert run.report.status is AttemptStatus.MODEL_ERROR
    assert (run.end.error_type, run.count("retry_scheduled")) == ("model_failed", 0)


async def model_protocol(folder: Path, settings: Settings) -> None:
    """Unreadable calls and unknown tools are told, three turns in a row; a good one in between."""
    bad = [
        says("", {"name": "workspace.read", "args": "{not json"}),
        says("", call("no_such_tool", x=1)),
    ]
    mended = await ran(folder, settings, [*bad, DONE])
    assert mended.report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert [why.error_type for why in mended.why] == ["invalid_json", "unknown_tool"]
    run = await ran(folder / "b", settings, [*bad, bad[0]])
    assert run.report.status is AttemptStatus.MODEL_ERROR
    assert (run.end.error_type, run.report.turns) == ("protocol_error", 3)


async def environment_broken(folder: Path, settings: Settings) -> None:
    """A machine that cannot do its part ends the attempt by its own name."""
    homes = settings.home / "workspaces"

    @capability("shop.ask", side_effect="READ")
    async def break_it(text: str) -> None:
        """Take the workspace away, as a broken disk does."""
        await asyncio.to_thread(shutil.rmtree, homes)

    run = await ran(folder, settings, [ASK, DONE], break_it, **SHOP)
    assert run.report.status is AttemptStatus.ENVIRONMENT_ERROR
    assert run.end.error_type


async def budget_gone(folder: Path, settings: Settings) -> None:
    """It waits, with the budget named."""
    run = await ran(folder, settings, [ASK, DONE], failing(0), **SHOP, budgets={"steps": 1})
    assert run.report.status is AttemptStatus.BUDGET_EXHAUSTED
    assert "steps" in (run.report.waiting_for or "")


async def cancelled(folder: Path, settings: Settings) -> None:
    """A person's word ends it, by way of CANCELLING."""
    task = contract(folder, [says("", call("ask_user", question="Which?")), DONE])
    async with composed(settings, Given()) as parts:
        report = await parts.front_door.start(task)
        report = await parts.front_door.cancel(report.attempt_id, by="alice", reason="enough")
        told = Ended(report, await payloads(parts, report.attempt_id))
    assert report.status is AttemptStatus.CANCELLED
    kinds = [p.type for p in told.told]
    assert kinds.index("cancel_requested") < kinds.index("cancelled")


async def refused_by_verifier(folder: Path, settings: Settings) -> None:
    """A refused candidate is repaired while that has a budget; then it has failed."""
    check: Any = [{"command": {"argv": ["grep", "-q", "two", "a.txt"]}}]
    write = says("", call("workspace.write_file", path="a.txt", content="two\n"))
    mended = await ran(folder, settings, [DONE, write, DONE], success=check)
    assert mended.report.status is AttemptStatus.CANDIDATE_VERIFIED
    run = await ran(folder / "b", settings, [DONE], success=check, budgets={"repairs": 0})
    assert run.report.status is AttemptStatus.FAILED_VERIFICATION


Row = Callable[[Path, Settings], Awaitable[None]]

ROWS: dict[str, Row] = {
    row.__name__: row
    for row in (
        passing_with_budget,
        passing_without_budget,
        read_out_of_time,
        write_out_of_time,
        permanent,
        invalid_arguments,
        denied,
        model_down,
        model_protocol,
        environment_broken,
        budget_gone,
        cancelled,
        refused_by_verifier,
    )
}
"""The table's rows by name, in its order."""
