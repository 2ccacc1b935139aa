"""The front door: every start, resume and recovery takes the lease; requests are recorded here.

LangGraph has no lock on a thread. Whoever does not get the lease is told so and touches nothing.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command

from checkrein import __version__
from checkrein.contracts import ids
from checkrein.contracts.approval import ApprovalStatus
from checkrein.contracts.attempt import Attempt, AttemptStatus, WorkspaceRef
from checkrein.contracts.event import (
    ApprovalRequested,
    AttemptStarted,
    CancelRequested,
    CheckpointSaved,
    PauseRequested,
    Payload,
    RunResumed,
    Suspended,
    TaskCreated,
    UserAnswered,
)
from checkrein.contracts.task import Task, TaskContract
from checkrein.errors import BusyError, ConflictError
from checkrein.graph.build import Graph, build
from checkrein.graph.report import Report, report
from checkrein.graph.state import GraphState
from checkrein.nodes.run import Run
from checkrein.nodes.waiting import waiting_for
from checkrein.ports.bundle import Ports
from checkrein.ports.event_store import EventStore
from checkrein.ports.leases import Lease, Leases
from checkrein.ports.records import Position, Records

Durability = Literal["sync", "async", "exit"]
"""When LangGraph saves its own checkpoint. Every mode is as safe: the event store decides."""

SUPERSTEPS = 1_000_000
"""LangGraph's recursion limit. Budgets stop an attempt long before."""


class Opener(Protocol):
    """Makes what one attempt needs; the composition's part."""

    async def make_workspace(self, contract: TaskContract, attempt_id: str) -> WorkspaceRef:
        """Make the working copy; raises InputError where the contract's folder is unusable."""
        ...

    async def drop_workspace(self, attempt_id: str) -> None:
        """Undo make_workspace for an attempt that never came to be."""
        ...

    def open(
        self, contract: TaskContract, attempt_id: str, workspace: WorkspaceRef
    ) -> AbstractAsyncContextManager[Ports]:
        """Open policy, model and capabilities; raises InputError for what cannot be opened."""
        ...


@dataclass(frozen=True)
class _Held:
    """The front door's own run, for every node of one invocation."""

    run: Run

    @asynccontextmanager
    async def enter(self, state: GraphState, config: RunnableConfig) -> AsyncIterator[Run]:
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
        self._leases = leases
        self._opener = opener
        self._saver = saver
        self._durability = durability

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
        """Recover every attempt that has no living owner; one that is owned is left alone."""
        reports: list[Report] = []
        for found in await self.records.unfinished():
            try:
                reports.append(await self.recover(found.attempt_id))
            except BusyError:
                reports.append(await report(self.records, found.attempt_id))
        return reports

    async def sweep(self) -> None:
        """Publish what owners stored and died before publishing, without going on with the work."""
        for found in await self.records.unfinished():
            try:
                async with self._leases.hold(found.attempt_id) as lease:
                    await self._publish(found.attempt_id, lease, None)
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
        workspace = await self._opener.make_workspace(contract, attempt_id)
        stored = False
        try:
            async with self._opener.open(contract, attempt_id, workspace) as ports:
                await self.events.start(
                    _opening(contract, task_id, attempt_id, number, workspace, ports)
                )
                stored = True
                return await self._driven(ports, contract, attempt_id, None)
        finally:
            if not stored:
                await self._opener.drop_workspace(attempt_id)

    async def _continued(self, attempt_id: str, how: Literal["resume", "recover"] | None) -> Report:
        contract = await self.events.contract(attempt_id)
        workspace = (await self.records.position(attempt_id)).attempt.workspace_ref
        async with self._opener.open(contract, attempt_id, workspace) as ports:
            return await self._driven(ports, contract, attempt_id, how)

    async def _driven(
        self,
        ports: Ports,
        contract: TaskContract,
        attempt_id: str,
        how: Literal["resume", "recover"] | None,
    ) -> Report:
        """Own the attempt, run the graph until it ends or pauses, and publish what it waits for."""
        async with self._leases.hold(attempt_id) as lease:
            run = Run(ports, contract, lease)
            position = await run.position()
            if position.attempt.status.is_terminal:
                return await report(self.records, attempt_id)
            if how is not None:
                await run.record(RunResumed(how=how, fence=lease.fence))
                await run.reach("in_recover")
            interrupt_id = await self._invoked(run, resumed=how == "resume")
            await run.reach("after_checkpoint")
            await self._publish(attempt_id, lease, interrupt_id)
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
        result = await graph.ainvoke(entry, config, durability=self._durability)
        interrupts = result.get("__interrupt__") or ()
        return str(interrupts[0].id) if interrupts else None

    async def _publish(self, attempt_id: str, lease: Lease, interrupt_id: str | None) -> None:
        """Record the safe point, put prepared requests on offer, and suspend: one transaction."""
        position = await self.records.position(attempt_id)
        status = position.attempt.status
        if status.is_terminal or status.is_suspended or position.cancel_reason is not None:
            return
        waiting = waiting_for(position)
        if waiting is None:
            return
        turn = 0 if position.turn is None else position.turn.turn
        prepared = [
            state.approval
            for state in position.actions
            if state.approval is not None and state.approval.status is ApprovalStatus.PREPARED
        ]
        await self.events.append(
            attempt_id,
            [
                CheckpointSaved(turn=turn),
                *(
                    ApprovalRequested(
                        approval_id=request.approval_id,
                        action_id=request.action_id,
                        interrupt_id=interrupt_id,
                    )
                    for request in prepared
                ),
                Suspended(status=waiting.status, reason=waiting.reason),
            ],
            fence=lease.fence,
        )

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


def _opening(
    contract: TaskContract,
    task_id: str | None,
    attempt_id: str,
    number: int,
    workspace: WorkspaceRef,
    ports: Ports,
) -> list[Payload]:
    stored = contract.model_dump(mode="json")
    events: list[Payload] = []
    if task_id is None:
        task_id = ids.new_task_id()
        task = Task(
            task_id=task_id,
            tenant=contract.tenant,
            contract_version=contract.contract_version,
            risk=contract.risk,
            budget=contract.budgets,
            requested_by=contract.requested_by,
            commit_authority=contract.commit_authority,
        )
        events.append(TaskCreated(task=task, contract=stored))
    attempt = Attempt(
        attempt_id=attempt_id,
        task_id=task_id,
        number=number,
        runtime="langgraph",
        runtime_version=__version__,
        harness_profile="default",
        model=ports.model.name,
        workspace_ref=workspace,
        policy_profile=contract.policy or "shipped",
        policy_version=ports.policy.version,
    )
    events.append(AttemptStarted(attempt=attempt, contract=stored, budgets=contract.budgets))
    return events
