"""An agent in the style of LangChain's own documentation, with three lines added."""

import asyncio
from pathlib import Path
from typing import Any

import loops
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - its own types
from langchain.tools import tool
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from talking import Talking, calling

from checkrein import Harness, govern
from checkrein.contracts.attempt import AttemptStatus
from checkrein.middleware import HarnessMiddleware
from checkrein.settings import Settings

THREAD: Any = {"configurable": {"thread_id": "1"}}
YES: Any = Command(resume={"decisions": [{"type": "approve"}]})


async def test_reads_run_a_refund_asks_and_a_double_resume_pays_once(
    settings: Settings, tmp_path: Path
) -> None:
    """Protects the promise to teams: their tools and their loop, three lines, and the authority."""
    till = tmp_path / "till"
    till.write_text("")

    @tool
    def find_order(order_id: str) -> str:
        """Look an order up."""
        return f"order {order_id}: 20 EUR, paid"

    @tool
    def refund(order_id: str, cents: int) -> str:
        """Pay an order back."""
        with till.open("a") as paid:
            paid.write(f"{order_id} {cents}\n")
        return "paid back"

    model = Talking(
        lines=[
            calling(("find_order", {"order_id": "7"})),
            calling(("refund", {"order_id": "7", "cents": 2000}), first=2),
            *[AIMessage(content="Order 7 is paid back.")] * 2,
        ]
    )
    async with loops.opened(settings) as (opened, parts):
        harness = Harness(parts, loops.ASK_WRITES)
        tools = [govern(find_order, effect="read"), govern(refund, effect="reversible")]
        guard = HarnessMiddleware(
            harness, tools, answered_by="bob", unnamed=True, approvers=["bob"]
        )
        agent: Any = create_agent(
            model, [find_order, refund], middleware=[guard], checkpointer=InMemorySaver()
        )
        asked = await agent.ainvoke({"messages": [("user", "Refund order 7.")]}, THREAD)
        assert "20 EUR" in asked["messages"][-2].content
        assert till.read_text() == ""
        await asyncio.gather(
            agent.ainvoke(YES, THREAD), agent.ainvoke(YES, THREAD), return_exceptions=True
        )
        (found,) = await parts.records.attempts()
        await loops.payloads(parts, found.attempt_id)
        report = await opened.status(found.attempt_id)
    assert till.read_text() == "7 2000\n"
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {"COMMITTED": 1}


async def test_a_tool_that_is_not_declared_is_taken_at_its_worst(
    settings: Settings, tmp_path: Path
) -> None:
    """Protects: forgetting to declare a tool makes it ask, however harmless it sounds."""
    ran: list[str] = []

    @tool
    def look(path: str) -> str:
        """Only look."""
        ran.append(path)
        return "seen"

    model = Talking(lines=[calling(("look", {"path": "x"})), AIMessage(content="Seen.")])
    async with loops.opened(settings) as (_, parts):
        harness = Harness(parts, loops.ASK_WRITES)
        guard = HarnessMiddleware(
            harness, [look], answered_by="bob", unnamed=True, approvers=["bob"]
        )
        agent: Any = create_agent(model, [look], middleware=[guard], checkpointer=InMemorySaver())
        asked = await agent.ainvoke({"messages": [("user", "Look.")]}, THREAD)
        assert "can NOT be undone" in asked["__interrupt__"][0].value["description"]
        assert ran == []
        await agent.ainvoke(YES, THREAD)
    assert ran == ["x"]
