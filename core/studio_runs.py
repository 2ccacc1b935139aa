"""The nodes' source of runs under LangGraph's own server, where there is no front door.

One object serves one run of the server: it opens the attempt's ports once, and each node takes the
lease and gives it back.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Literal, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.callbacks import GraphCallbackHandler, GraphInterruptEvent

from checkrein.contracts.event import RunResumed
from checkrein.contracts.task import TaskContract
from checkrein.errors import CheckreinError, ConflictError, InputError
from checkrein.graph.lifecycle import FrontDoor
from checkrein.graph.opening import created, reopened
from checkrein.graph.publication import publish
from checkrein.graph.state import GraphState
from checkrein.nodes.cancel import cancel
from checkrein.nodes.run import Run
from checkrein.nodes.stopping import Stop
from checkrein.ports.bundle import Ports
from checkrein.ports.records import Position
from checkrein.studio_people import Person
from checkrein.studio_tasks import check_tenant, read_task

LEASE_WAIT_S = 5.0
"""How long a node waits for another owner to let go, seconds: long enough for a sweep."""


class StudioRunError(CheckreinError, RuntimeError):
    """Why a run failed. LangGraph's server hides what errors say, save for a few classes."""

    code = "run_failed"


@contextmanager
def shown() -> Generator[None]:
    """Let people read errors of ours. Interrupts are none of them, and pass."""
    try:
        yield
    except CheckreinError as error:
        raise StudioRunError(
            str(error),
            op=error.op,
            code=error.code,
            retryable=error.retryable,
            context=error.context,
        ) from error


class _Opened(NamedTuple):
    attempt_id: str
    contract: TaskContract
    ports: Ports


class ServerRuns:
    """graph.build.Runs for one run of the server. `stack` closes what it opens."""

    def __init__(
        self, door: FrontDoor, person: Person | None, tasks: Path, stack: AsyncExitStack
    ) -> None:
        self._door = door
        self._person = person
        self._tasks = tasks
        self._stack = stack
        self._opened: _Opened | None = None
        self._taken_up = False

    @asynccontextmanager
    async def enter(self, state: GraphState, config: RunnableConfig) -> AsyncGenerator[Run]:
        """Own the attempt of this thread while one node runs.

        Raises:
            StudioRunError: another owner works on it, it has ended, or it does not exist and
                cannot be created; or the node failed.
        """
        with shown():
            opened = self._opened or await self._open(_thread_of(config), state)
            self._opened = opened
            async with self._held(opened) as run:
                await self._take_up(run)
                yield run

    async def publish(self, interrupt_id: str | None) -> None:
        """Put on offer what the graph, now saved, waits for; or end what a person cancelled."""
        if self._opened is None:
            return
        with shown():
            async with self._held(self._opened) as run:
                await self._publish(run, interrupt_id)

    async def _publish(self, run: Run, interrupt_id: str | None) -> None:
        await run.reach("after_checkpoint")
        suspended = await publish(
            self._door.events,
            self._door.records,
            run.attempt_id,
            fence=run.lease.fence,
            interrupt_id=interrupt_id,
        )
        position = await run.position()
        if not suspended and position.cancel_reason is not None and not _ended(position):
            await cancel(run, position)
        await run.reach("after_publishing")

    @asynccontextmanager
    async def _held(self, opened: _Opened) -> AsyncGenerator[Run]:
        stop = Stop()
        async with self._door.leases.hold(
            opened.attempt_id, wait_s=LEASE_WAIT_S, heard=stop.hear
        ) as lease:
            yield Run(opened.ports, opened.contract, lease, stop=stop)

    async def _open(self, attempt_id: str, state: GraphState) -> _Opened:
        """Open the attempt, or create it where there is none, requested by who is signed in."""
        if self._person is None:
            raise InputError(
                "Nobody is signed in, so that nothing runs. Name checkrein.studio:auth as `auth` "
                "in langgraph.json.",
                op="studio.open",
                code="not_signed_in",
            )
        door = self._door
        if await _exists(door, attempt_id):
            contract, ports = await self._stack.enter_async_context(
                reopened(door.events, door.records, door.opener, attempt_id)
            )
            check_tenant(contract, self._person)
            return _Opened(attempt_id, contract, ports)
        given = state.get("task")
        if not given:
            raise InputError(
                f"There is no attempt {attempt_id}. Start one with the input "
                '{"task": the path of a task file}.',
                op="studio.open",
                code="unknown_attempt",
            )
        contract = await asyncio.to_thread(read_task, given, self._tasks, self._person)
        ports = await self._stack.enter_async_context(
            created(door.events, door.opener, contract, attempt_id)
        )
        self._taken_up = True
        return _Opened(attempt_id, contract, ports)

    async def _take_up(self, run: Run) -> None:
        """Refuse what has ended; say once per run that an owner goes on with the attempt."""
        position = await run.position()
        status = position.attempt.status
        if status.is_terminal:
            raise ConflictError(
                f"Attempt {run.attempt_id} has ended ({status}); nothing follows. Start another "
                "thread, or make a new attempt with `checkrein retry`.",
                op="studio.enter",
                code="attempt_ended",
            )
        if self._taken_up:
            return
        how: Literal["resume", "recover"] = "resume" if status.is_suspended else "recover"
        await run.record(RunResumed(how=how, fence=run.lease.fence))
        self._taken_up = True
        await run.reach("in_recover")


class Publisher(GraphCallbackHandler):
    """Told by LangGraph that the graph has paused, after everything was saved."""

    raise_error = True

    def __init__(self, runs: ServerRuns) -> None:
        self._runs = runs

    async def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """Publish. A crash before it is covered by `FrontDoor.sweep`."""
        await self._runs.publish(event.interrupts[0].id if event.interrupts else None)


def _thread_of(config: RunnableConfig) -> str:
    """The thread's id, which is the attempt's. The server sets it, whatever a client sends."""
    return str(config.get("configurable", {})["thread_id"])


def _ended(position: Position) -> bool:
    return position.attempt.status.is_terminal


async def _exists(door: FrontDoor, attempt_id: str) -> bool:
    try:
        await door.records.position(attempt_id)
    except InputError as error:
        if error.code != "unknown_attempt":
            raise
        return False
    return True


class NoRuns:
    """For graphs that are only looked at."""

    def enter(self, state: GraphState, config: RunnableConfig) -> AbstractAsyncContextManager[Run]:
        """No node of such a graph runs."""
        raise ConflictError("This graph was made to be looked at, not to run.", op="studio.enter")
