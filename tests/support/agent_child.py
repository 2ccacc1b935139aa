"""One process that works on a LangChain agent's thread under the harness.

Arguments: `ask` (a person's message), `yes` (the answer to what is pending) or `on` (after a kill).
PAYING_SERVICE and PAYING_ACCOUNT name the service; the thread lies in the database, as its attempt
does. It prints how many interrupts are pending, then what the model said last.
"""

import asyncio
import sys
from typing import Any

import loops
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - its own types
from langchain_core.messages import AIMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Command
from paying import charge
from talking import Script, calling, tool_for

from checkrein.contracts.task import TaskContract
from checkrein.harness import Harness
from checkrein.middleware import HarnessMiddleware
from checkrein.settings import Settings

THREAD: Any = {"configurable": {"thread_id": "killed"}}
GIVEN: dict[str, Any] = {
    "ask": {"messages": [{"role": "user", "content": "Pay acme 5 euros."}]},
    "yes": Command(resume={"decisions": [{"type": "approve"}]}),
    "on": None,
}
LINES = [
    calling(("payments_charge", {"amount": 500, "currency": "EUR", "to": "acme"})),
    AIMessage(content="It is paid."),
]


def work() -> TaskContract:
    """What the agent may do."""
    return TaskContract.model_validate(
        {
            "goal": "replaced",
            "requested_by": "alice",
            "policy": str(loops.ASK_WRITES),
            "capabilities": ["payments.charge"],
            "approvals": {"roles": {"approver": ["bob"]}},
            "success": [{"policy_obeyed": {}}],
        }
    )


async def main(how: str) -> None:
    """Do one thing on the thread."""
    settings = Settings.from_env()
    assert settings.database_url is not None
    async with (
        Harness.open(settings=settings) as harness,
        AsyncPostgresSaver.from_conn_string(settings.database_url) as saver,
    ):
        await saver.setup()
        guard = HarnessMiddleware(
            harness, [charge], contract=work(), answered_by="bob", unnamed=True
        )
        agent: Any = create_agent(
            Script(lines=LINES), [tool_for(charge, [])], middleware=[guard], checkpointer=saver
        )
        print("ready", flush=True)
        found = await agent.ainvoke(GIVEN[how], THREAD)
        print(len(found.get("__interrupt__", ())), found["messages"][-1].content, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
