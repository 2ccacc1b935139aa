"""An agent of LangChain's with a payment tool, under the harness, for whole runs."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import loops
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - its own types
from langchain.agents.middleware import (
    AgentMiddleware,
)
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from payment_account import FAST, Account
from talking import Talking, tool_for

from checkrein.compose import Parts
from checkrein.contracts.task import TaskContract
from checkrein.harness import Harness
from checkrein.middleware import HarnessMiddleware
from checkrein.settings import Settings

PAY = ("payments_charge", {"amount": 500, "currency": "EUR", "to": "acme"})
DONE = AIMessage(content="It is paid.")
THREAD: Any = {"configurable": {"thread_id": "one"}}
ASKED: Any = {"messages": [{"role": "user", "content": "Pay acme 5 euros."}]}


READ = ("workspace_read", {"path": "nothing.txt"})
YES: Any = Command(resume={"decisions": [{"type": "approve"}]})
NO: Any = Command(resume={"decisions": [{"type": "reject", "message": "not acme"}]})


def work(**fields: Any) -> TaskContract:
    """What each attempt of an agent may do; its goal is the person's message."""
    given: dict[str, Any] = {
        "goal": "replaced",
        "requested_by": "alice",
        "policy": str(loops.ASK_WRITES),
        "capabilities": ["payments.charge", "workspace.read"],
        "approvals": {"roles": {"approver": ["bob"]}},
        "success": [{"policy_obeyed": {}}],
    }
    return TaskContract.model_validate(given | fields)


@dataclass
class Agent:
    """An agent under the harness, its model, and what ran outside of the harness."""

    graph: Any
    model: Talking
    parts: Parts
    harness: Harness
    ran: list[str]

    async def asks(self, given: Any = ASKED) -> dict[str, Any]:
        return dict(await self.graph.ainvoke(given, THREAD))

    @property
    async def attempt(self) -> str:
        return str((await self.graph.aget_state(THREAD)).values["checkrein_attempt"])

    async def told(self) -> list[ToolMessage]:
        messages = (await self.graph.aget_state(THREAD)).values["messages"]
        return [message for message in messages if isinstance(message, ToolMessage)]


@asynccontextmanager
async def agent(
    settings: Settings,
    bank: Account,
    lines: Sequence[AIMessage],
    *,
    before: Sequence[AgentMiddleware[Any, Any, Any]] = (),
    after: Sequence[AgentMiddleware[Any, Any, Any]] = (),
    contract: TaskContract | None = None,
    answered_by: str | None = "bob",
    model: Talking | None = None,
    unnamed: bool = True,
) -> AsyncGenerator[Agent]:
    """An agent of LangChain's with a payment tool, under the harness."""
    charge = bank.charge(retry=FAST, timeout_s=2.0)
    async with loops.opened(settings) as (harness, parts):
        guard = HarnessMiddleware(
            harness, [charge], contract=contract or work(), answered_by=answered_by, unnamed=unnamed
        )
        model, ran = model or Talking(lines=list(lines)), list[str]()
        graph = create_agent(
            model,
            [tool_for(charge, ran)],
            middleware=[*before, guard, *after],
            checkpointer=InMemorySaver(),
        )
        yield Agent(graph, model, parts, harness, ran)
