"""Whoever holds graph and saver of a paused attempt, and goes past door and server."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from checkrein.checkpointer import pool
from checkrein.compose import Parts
from checkrein.graph.build import build
from checkrein.studio_people import Person
from checkrein.studio_runs import Publisher, ServerRuns

RUN: dict[str, Any] = {"outcome": "run", "came_from": "commit_effect"}
"""State as it would be if an action were to be sent now."""


class Intruder:
    """Whoever has the compiled graph, the saver and the thread's id, and presses on."""

    def __init__(self, parts: Parts, folder: Path, attempt_id: str) -> None:
        self._parts = parts
        self._folder = folder
        self.attempt_id = attempt_id
        self.config: RunnableConfig = {"configurable": {"thread_id": attempt_id}}
        self.pressed = 0

    async def invoke(self, entry: Any, config: RunnableConfig | None = None) -> None:
        """Run the graph, whatever comes of it."""
        await self._used("ainvoke", entry, config or self.config)

    async def update(self, values: Any, as_node: str) -> None:
        """Forge the state as if a node had written it, and let the graph go on from there."""
        await self._used("aupdate_state", self.config, values, as_node)
        await self.invoke(None)

    async def history(self) -> list[RunnableConfig]:
        """Every checkpoint of the thread, newest first."""
        async with pool.saver(self._parts.database) as saver:
            return [found.config async for found in saver.alist(self.config)]

    async def _used(self, method: str, *args: Any) -> None:
        person = Person(person="mallory", tenant="local")
        async with pool.saver(self._parts.database) as saver, AsyncExitStack() as stack:
            runs = ServerRuns(self._parts.front_door, person, self._folder, stack)
            graph: Any = build(runs, saver).with_config(callbacks=[Publisher(runs)])
            self.pressed += 1
            try:
                await getattr(graph, method)(*args)
            except Exception:
                return  # being refused is as good as being ignored: the target is looked at
