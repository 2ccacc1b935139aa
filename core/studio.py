"""The graph under LangGraph's own server: `langgraph dev`, and Studio on top of it.

langgraph.json names `graph` and `auth` of this module.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from langgraph_sdk.runtime import ServerRuntime

from checkrein.compose import composed
from checkrein.graph.build import Graph, build
from checkrein.graph.lifecycle import SUPERSTEPS
from checkrein.settings import Settings
from checkrein.studio_auth import make_auth
from checkrein.studio_people import of_user
from checkrein.studio_runs import NoRuns, Publisher, ServerRuns
from checkrein.studio_tasks import tasks_folder

auth = make_auth()


@asynccontextmanager
async def graph(runtime: ServerRuntime[Any]) -> AsyncGenerator[Graph]:
    """Make the graph for one request of the server; the server brings the checkpointer.

    For a run, the database and the attempt's ports stay open as long as the run lasts. Reading
    state and drawing the graph open nothing.
    """
    if runtime.execution_runtime is None:
        yield build(NoRuns())
        return
    async with composed(Settings.from_env()) as parts, AsyncExitStack() as stack:
        person = of_user(runtime.user)
        runs = ServerRuns(parts.front_door, person, tasks_folder(), stack)
        yield build(runs).with_config(callbacks=[Publisher(runs)], recursion_limit=SUPERSTEPS)
