"""The yardstick: langchain's create_agent with HumanInTheLoopMiddleware and AsyncPostgresSaver.

It needs the extra `bench`.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - its own types
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Command
from psycopg import AsyncConnection, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from checkrein.errors import InputError
from checkrein.evals.benchmark_runs import Durability, Mode, script
from checkrein.testing.scripted_model import ScriptedChatModel

TOOL = "write_file"
CHECKPOINTS = "theirs"
"""The schema that their checkpoints lie in."""

_APPROVE = {"decisions": [{"type": "approve"}]}
_RECURSION = 1_000_000


class Theirs:
    """An agent for each run, over one saver."""

    def __init__(
        self, saver: AsyncPostgresSaver, folder: Path, mode: Mode, durability: Durability
    ) -> None:
        self._saver = saver
        self._folder = folder
        self._mode = mode
        self._durability: Durability = durability
        self._runs = 0

    async def play(self, actions: int) -> float:
        """See evals.benchmark_runs.Contender."""
        self._runs += 1
        workspace = self._folder / str(self._runs)
        workspace.mkdir(parents=True)
        agent: Any = create_agent(
            ScriptedChatModel(
                script=script(actions, TOOL, f"{self._folder.name} {self._runs}"),
                source="benchmark",
            ),
            [_tool(workspace)],
            middleware=[HumanInTheLoopMiddleware(interrupt_on={TOOL: self._mode == "asked"})],
            checkpointer=self._saver,
        )
        config: RunnableConfig = {
            "configurable": {"thread_id": str(uuid.uuid4())},
            "recursion_limit": _RECURSION,
        }
        entry: Any = {"messages": [("user", "Write the parts, one after the other.")]}
        started = time.perf_counter()
        result = await agent.ainvoke(entry, config, durability=self._durability)
        while result.get("__interrupt__"):
            answer: Command[str] = Command(resume=_APPROVE)
            result = await agent.ainvoke(answer, config, durability=self._durability)
        seconds = time.perf_counter() - started
        written = sum(message.type == "tool" for message in result["messages"])
        if written != actions:
            raise InputError(
                f"The agent wrote {written} times, not {actions}.", op="benchmark.theirs"
            )
        return seconds


@asynccontextmanager
async def opened(
    login: str, folder: Path, mode: Mode, durability: Durability
) -> AsyncGenerator[Theirs]:
    """Open their side: the saver over a pool whose connections are checked before use."""
    await _schema(login)
    check: Any = AsyncConnectionPool.check_connection  # typed for other rows
    conninfo = make_conninfo(login, options=f"-c search_path={CHECKPOINTS}")
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        conninfo,
        connection_class=AsyncConnection[DictRow],
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        min_size=1,
        max_size=4,
        check=check,
        open=False,
    )
    async with pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        yield Theirs(saver, folder / f"theirs-{mode}-{durability}", mode, durability)


async def _schema(login: str) -> None:
    async with await AsyncConnection.connect(login, autocommit=True) as connection:
        await connection.execute(
            sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(CHECKPOINTS))
        )


def _tool(workspace: Path) -> BaseTool:
    """A tool that writes a file, in a thread as ours does, and nothing more."""

    async def write_file(path: str, content: str) -> str:
        """Write a whole text file of the workspace."""
        await asyncio.to_thread((workspace / path).write_text, content, encoding="utf-8")
        return f"wrote {len(content)} bytes to {path}"

    return StructuredTool.from_function(coroutine=write_file, name=TOOL)
