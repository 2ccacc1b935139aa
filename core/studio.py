"""The graph under LangGraph's own server, which Studio draws from: `langgraph dev`.

langgraph.json names `graph` and `auth` of this module. Besides the variables of every command, the
server reads

- CHECKREIN_STUDIO_TOKENS: a JSON file that names, for the SHA-256 of each token in hex, a person:
  `{"9f86d0...": {"person": "bob", "tenant": "local"}}`. Tokens are long and random; make one with
  `python -c "import secrets; print(secrets.token_urlsafe(32))"`. Clients send it as
  `Authorization: Bearer TOKEN`. `"scopes": ["read", "approve"]` beside them limits what it is for.
  The file may be left out: tokens of Checkrein's own (`checkrein token issue`) sign in as well,
  and without either nobody gets in.
- CHECKREIN_TASKS: the folder that task files come from; unset, the folder it was started in.

A thread is an attempt, under the same id. It starts with the input `{"task": FILE}`, and
`command.resume` answers what it waits for.
"""

import asyncio
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
    # Where things lie depends on the working folder, and asking for that blocks.
    settings = await asyncio.to_thread(Settings.from_env)
    tasks = await asyncio.to_thread(tasks_folder)
    async with composed(settings) as parts, AsyncExitStack() as stack:
        runs = ServerRuns(parts.front_door, of_user(runtime.user), tasks, stack)
        yield build(runs).with_config(callbacks=[Publisher(runs)], recursion_limit=SUPERSTEPS)
