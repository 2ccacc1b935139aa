"""The front door: every start, resume and recovery takes the lease; requests are recorded here.

LangGraph has no lock on a thread. Whoever does not get the lease is told so and touches nothing.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from checkrein.contracts import ids
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import (
    CancelRequested,
    PauseRequested,
    RunResumed,
    UserAnswered,
)
from checkrein.contracts.task import TaskContract
from checkrein.errors import BusyError, CheckreinError, ConflictError
from checkrein.graph.build import Graph, build
from checkrein.graph.opening import Opener, created, reopened
from checkrein.graph.publication import publish
from checkrein.graph.report import Report, report
from checkrein.graph.state import GraphState
from checkrein.nodes.run import Run
from checkrein.nodes.waiting import waiting_for
from checkrein.ports.bundle import Ports
from checkrein.ports.event_store import EventStore
from checkrein.ports.leases import Leases
from checkrein.ports.records import Position, Records

Durability = Literal["sync", "async", "exit"]
"""When LangGraph saves its own checkpoint. Every mode is as safe: the event store decides."""

SUPERSTEPS = 1_000_000
"""LangGraph's recursion limit. Budgets stop an attempt long before."""


@dataclass(frozen=True)
class _Held:
    """The front door's own run, for every node of one invocation."""

    run: Run

    @asynccontextmanager
    async def enter(self, state: GraphState, config: RunnableConfig) -> AsyncGenerator[Run]:
        """The lease is held already."""
        yield self.run


class FrontDoor:
    """Starts, resumes and recovers attempts, and records what people ask of them."""

    def __init__(
        self,
        events: EventStore,
        records: Records,
        leases: Leases,
        opener: Opener,
        saver: BaseCheckpointSaver[Any],
        durability: Durability = "exit",
    ) -> None:
        self.events = events
        self.records = records
        self.leases = leases
        self.opener = opener
        self._saver = saver
        self._durability: Durability = durability

    async def start(self, contract: TaskContract) -> Report:
        """Create a task and its first attempt, and work on it until it ends or must wait.

        Raises:
            InputError: workspace, policy or model cannot be opened; nothing was stored.
        """
        return await self._started(contract, None, 1)

    async def retry(self, task_id: str) -> Report:
        """Make a new attempt of a task whose last one has ended.

        Raises:
            ConflictError: an attempt of it is still going on, or the task is verified already.
        """
        task = await self.records.task(task_id)
        last = (await self.records.attempts(task_id, limit=1))[0]
        if not AttemptStatus(last.status).is_terminal:
            raise ConflictError(
                f"The last attempt of task {task_id} has not ended. Resume, recover or cancel it.",
                op="lifecycle.retry",
                code="attempt_unfinished",
                context={"attempt_id": last.attempt_id},
            )
        if task.status in {"VERIFIED", "COMPLETED"}:
            raise ConflictError(
                f"Task {task_id} is {task.status}; there is nothing to try again.",
                op="lifecycle.retry",
                code="task_done",
            )
        contract = await self.events.contract(last.attempt_id)
        return await self._started(contract, task_id, last.number + 1)

    async def resume(self, attempt_id: str) -> Report:
        """Go on with an attempt where it can; where it still waits, only say for what.

        Raises:
            BusyError: another owner works on it.
        """
        position = await self.records.position(attempt_id)
        if position.attempt.status.is_terminal or self._still_waits(position):
            return await report(self.records, attempt_id)
        how: Literal["resume", "recover"] = (
            "resume" if position.attempt.status.is_suspended else "recover"
        )
        return await self._continued(attempt_id, how)

    async def recover(self, attempt_id: str) -> Report:
        """Take over an attempt whose owner died; leaves suspended and ended ones as they are."""
        position = await self.records.position(attempt_id)
        if position.attempt.status.is_terminal or position.attempt.status.is_suspended:
            return await report(self.records, attempt_id)
        return await self._continued(attempt_id, "recover")

    async def recover_all(self) -> list[Report]:
        """Recover every attempt that has no living owner; one that is owned is left alone.

        One that cannot be recovered keeps none of the others waiting: its report warns of why.
        """
        reports: list[Report] = []
        for found in await self.records.unfinished():
            try:
                reports.append(await self.recover(found.attempt_id))
            except CheckreinError as error:
                warnings = [str(error)]
                reports.append(await report(self.records, found.attempt_id, warnings=warnings))
        return reports

    async def sweep(self) -> None:
        """Publish what owners stored and died before publishing, without going on with the work."""
        for found in await self.records.unfinished():
            try:
                async with self.leases.hold(found.attempt_id) as lease:
                    await publish(self.events, self.records, found.attempt_id, fence=lease.fence)
            except BusyError:
                continue

    async def cancel(self, attempt_id: str, *, by: str, reason: str) -> Report:
        """Record the request; where nobody works on the attempt, also carry it out."""
        request = CancelRequested(by=by, reason=reason)
        await self.events.append(attempt_id, [request], fence=None)
        try:
            return await self._continued(attempt_id, None)
        except BusyError:
            return await report(self.records, attempt_id)

    async def pause(self, attempt_id: str, *, by: str) -> Report:
        """Ask the owner to stop at the next safe point.

        Raises:
            ConflictError: the attempt waits already, or has ended.
        """
        status = (await self.records.position(attempt_id)).attempt.status
        if status.is_suspended:
            raise ConflictError(
                f"Attempt {attempt_id} waits already ({status}).",
                op="lifecycle.pause",
                code="already_waiting",
            )
        await self.events.append(attempt_id, [PauseRequested(by=by)], fence=None)
        return await report(self.records, attempt_id)

    async def answer(self, attempt_id: str, text: str, *, by: str) -> Report:
        """Store a person's answer to the model's question, or a word to a stopped turn.

        Raises:
            ConflictError: nothing waits for an answer.
        """
        await self.events.append(attempt_id, [UserAnswered(text=text, by=by)], fence=None)
        return await report(self.records, attempt_id)

    async def _started(self, contract: TaskContract, task_id: str | None, number: int) -> Report:
        attempt_id = ids.new_attempt_id()
        async with created(
            self.events, self.opener, contract, attempt_id, task_id=task_id, number=number
        ) as ports:
            return await self._driven(ports, contract, attempt_id, None)

    async def _continued(self, attempt_id: str, how: Literal["resume", "recover"] | None) -> Report:
        async with reopened(self.events, self.records, self.opener, attempt_id) as found:
            contract, ports = found
            return await self._driven(ports, contract, attempt_id, how)

    async def _driven(
        self,
        ports: Ports,
        contract: TaskContract,
        attempt_id: str,
        how: Literal["resume", "recover"] | None,
    ) -> Report:
        """Own the attempt, run the graph until it ends or pauses, and publish what it waits for."""
        async with self.leases.hold(attempt_id) as lease:
            run = Run(ports, contract, lease)
            position = await run.position()
            if position.attempt.status.is_terminal:
                return await report(self.records, attempt_id)
            if how is not None:
                await run.record(RunResumed(how=how, fence=lease.fence))
                await run.reach("in_recover")
            interrupt_id = await self._invoked(run, resumed=how == "resume")
            await run.reach("after_checkpoint")
            if not await publish(
                self.events, self.records, attempt_id, fence=lease.fence, interrupt_id=interrupt_id
            ) and await self._to_cancel(attempt_id):
                # Somebody asked for the end after this owner had looked for the last time.
                await self._invoked(run, resumed=False)
            await run.reach("after_publishing")
        found = await report(self.records, attempt_id)
        note = ports.model.closing_note(found.turns) if found.status.is_terminal else None
        return found.model_copy(update={"warnings": [note] if note else []})

    async def _invoked(self, run: Run, *, resumed: bool) -> str | None:
        """Run the graph once; returns the id of the interrupt that it paused at, if any."""
        graph = build(_Held(run), self._saver)
        config: RunnableConfig = {
            "configurable": {"thread_id": run.attempt_id},
            "recursion_limit": SUPERSTEPS,
        }
        entry = await _entry(graph, config, run.attempt_id, resumed)
        # LangGraph leaves type parameters of its own open here; pyright reports those, not ours.
        invoke = graph.ainvoke  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        result = await invoke(entry, config, durability=self._durability)
        interrupts = result.get("__interrupt__") or ()
        return str(interrupts[0].id) if interrupts else None

    async def _to_cancel(self, attempt_id: str) -> bool:
        position = await self.records.position(attempt_id)
        return position.cancel_reason is not None and not position.attempt.status.is_terminal

    def _still_waits(self, position: Position) -> bool:
        """Whether resuming could change nothing: nobody has said yet what it waits for."""
        waiting = waiting_for(position)
        if waiting is None or not position.attempt.status.is_suspended:
            return False
        return bool(waiting.answers) and waiting.answers != ("resume",)


async def _entry(
    graph: Graph, config: RunnableConfig, attempt_id: str, resumed: bool
) -> GraphState | Command[str]:
    """Answer the pending interrupt by its id, or enter at START where there is none to answer."""
    if resumed:
        snapshot = await graph.aget_state(config)
        if len(snapshot.interrupts) == 1:
            return Command(resume={snapshot.interrupts[0].id: "look in the database"})
    return {"attempt_id": attempt_id}
