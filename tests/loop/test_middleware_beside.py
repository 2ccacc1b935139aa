"""The harness in an agent beside other middleware, in either order."""

from typing import Any

import loops
import pytest
from guarded import DONE, NO, PAY, YES, agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolRetryMiddleware,
    hook_config,
)
from langgraph.types import Command
from payment_account import Account
from talking import Talking, calling

from checkrein.settings import Settings


class Jumps(AgentMiddleware[Any, Any, Any]):
    """Sends whatever the model proposed to the tools, once, as somebody's middleware may."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 1

    @hook_config(can_jump_to=["tools"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Jump past everybody else's hook."""
        self.left, jumps = 0, self.left
        return {"jump_to": "tools"} if jumps else None


@pytest.mark.parametrize("where", ["before", "after"])
async def test_a_jump_to_the_tools_leads_to_the_same_door(
    where: str, settings: Settings, bank: Account
) -> None:
    """Protects: what nobody approved does not run, whoever sends it to the tool node."""
    jumper: Any = {where: [Jumps()]}
    async with agent(settings, bank, [calling(PAY), DONE], **jumper) as its:
        found = await its.asks()
        assert await bank.paid() == 0
        assert "__interrupt__" in found  # asked before the model is called again
        await its.asks(NO)
        await loops.payloads(its.parts, await its.attempt)
    assert (await bank.paid(), its.ran) == (0, [])


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("said", ["approve", "edit", "reject"])
async def test_beside_a_middleware_that_asks_as_well(
    said: str, where: str, settings: Settings, bank: Account
) -> None:
    """Protects: two that ask are two yeses; the other's edit was never judged, and is refused."""
    other: Any = {where: [HumanInTheLoopMiddleware({"payments_charge": True})]}
    answers = {
        "approve": {"type": "approve"},
        "edit": {
            "type": "edit",
            "edited_action": {"name": PAY[0], "args": PAY[1] | {"amount": 90_000}},
        },
        "reject": {"type": "reject", "message": "no"},
    }
    async with agent(settings, bank, [calling(PAY), DONE], **other) as its:
        found = await its.asks()
        for _ in range(2):
            (asked,) = found["__interrupt__"]
            ours = asked.value.get("kind") == "approval"
            answer = {"type": "approve"} if ours else answers[said]
            found = await its.asks(Command(resume={"decisions": [answer]}))
            if "__interrupt__" not in found:
                break
        assert "__interrupt__" not in found
        report = await its.harness.status(await its.attempt)
        await loops.payloads(its.parts, report.attempt_id)
    assert await bank.paid() == (1 if said == "approve" else 0)
    assert its.ran == []


@pytest.mark.parametrize("where", ["before", "after"])
async def test_beside_a_middleware_that_repeats_tools(
    where: str, settings: Settings, bank: Account
) -> None:
    """Protects: repeating is the ledger's to do, which knows what may have happened."""
    await bank.faults(next=["commit_then_drop"])
    other: Any = {where: [ToolRetryMiddleware(max_retries=3, initial_delay=0.01)]}
    async with agent(settings, bank, [calling(PAY), DONE], **other) as its:
        await its.asks()
        await its.asks(YES)
        await loops.payloads(its.parts, await its.attempt)
    assert (await bank.paid(), its.ran) == (1, [])


async def test_beside_planning_and_summaries(settings: Settings, bank: Account) -> None:
    """Protects: the usual middleware goes on working, its own tools as declared ones alone."""
    others: list[AgentMiddleware[Any, Any, Any]] = [
        TodoListMiddleware(),
        SummarizationMiddleware(Talking(lines=[DONE] * 9), trigger=("messages", 50)),
    ]
    for places in ({"before": others}, {"after": others}):
        more: Any = places
        async with agent(settings, bank, [calling(PAY), DONE], **more) as its:
            await its.asks()
            await its.asks(YES)
    assert await bank.paid() == 2
