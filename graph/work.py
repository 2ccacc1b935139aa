"""One call's work on one attempt: own it, run the graph, publish; again after an outage."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import InvalidUpdateError
from langgraph.types import Command

from checkrein.contracts.check_tests import hides_tests
from checkrein.contracts.environment import Isolation
from checkrein.contracts.event import EnvironmentChosen, RunResumed
from checkrein.contracts.task import TaskContract
from checkrein.errors import LeaseLostError, StoreError
from checkrein.graph.build import Graph, build
from checkrein.graph.outage import Outage
from checkrein.graph.publication import publish
from checkrein.graph.report import Report, report
from checkrein.graph.state import GraphState
from checkrein.nodes.run import Guest, Run
from checkrein.nodes.stopping import Stop
from checkrein.ports.bundle import Ports
from checkrein.ports.leases import Lease, Leases, Word
from checkrein.ports.records import Records

Durability = Literal["sync", "async", "exit"]
"""When LangGraph saves its own checkpoint. Every mode is as safe: the event store decides."""

How = Literal["resume", "recover"]

SUPERSTEPS = 1_000_000
"""LangGraph's recursion limit. Budgets stop an attempt long before."""

DRAINED = (
    "This process was asked to stop. The work stopped at a safe point and nothing is lost; "
    "`checkrein recover` goes on from there."
)


@dataclass(frozen=True)
class Means:
    """What all the work of one front door shares.

    Attributes:
        outage_s: how long one call waits for a store that has gone away, seconds.
        notice: told what is being waited for, for live views. It must not block or raise.
    """

    records: Records
    leases: Leases
    saver: BaseCheckpointSaver[Any]
    durability: Durability
    outage_s: float
    notice: Callable[[str], None]


@dataclass(frozen=True)
class _Held:
    """The front door's own run, for every node of one invocation."""

    run: Run

    @asynccontextmanager
    async def enter(self, state: GraphState, config: RunnableConfig) -> AsyncGenerator[Run]:
        """The lease is held already."""
        yield self.run


class Work:
    """The work of one call on one attempt, until it ends, must wait, or is asked to stop."""

    def __init__(
        self,
        means: Means,
        ports: Ports,
        contract: TaskContract,
        attempt_id: str,
        how: How | None,
        wait_s: float = 0.0,
        guest: Guest | None = None,
    ) -> None:
        """`wait_s`: how long to wait for the lease of a frozen owner to expire, seconds.

        `guest`: what a loop brings that is not ours.
        """
        self._means = means
        self._ports = ports
        self._contract = contract
        self._attempt_id = attempt_id
        self._how: How | None = how
        self._wait_s = wait_s
        self._guest = guest
        self._fence: int | None = None
        self._taken = False
        self._stop = Stop()
        self._draining = asyncio.Event()
        self._outage = Outage(means.outage_s)

    def drain(self) -> None:
        """Let nothing new begin, and stop at the next safe point."""
        self._draining.set()
        self._stop.drain()

    async def done(self) -> Report:
        """Work, waiting through outages of the store.

        Raises:
            BusyError: another owner works on it.
            LeaseLostError: another owner has taken it over meanwhile.
            StoreError: the store stayed away for longer than `outage_s`.
        """
        while not self._draining.is_set():
            try:
                return await self._owned()
            except (StoreError, LeaseLostError) as error:
                if not self._may_pass(error):
                    raise
                await self._outage.wait(error, self._draining)
                self._how = "recover"
        return await self._told(DRAINED)

    async def _owned(self) -> Report:
        """Own the attempt, run the graph until it ends or pauses, and publish what it waits for."""
        self._stop = Stop()
        # After an outage the server may not have noticed yet that our own session is gone.
        patience = self._wait_s if self._fence is None else self._means.outage_s
        if patience:
            self._means.notice("the attempt's owner to answer, or its lease to expire")
        hold = self._means.leases.hold(self._attempt_id, frozen_s=patience, heard=self._hear)
        async with hold as lease:
            again = self._took(lease)
            # After an outage the same is brought again.
            guest = None if self._guest is None else replace(self._guest)
            run = Run(self._ports, self._contract, lease, stop=self._stop, guest=guest)
            status = (await run.position()).attempt.status
            if status.is_terminal or (again and status.is_suspended):
                return await self._told()
            if self._how is not None:
                await run.record(RunResumed(how=self._how, fence=lease.fence))
                await run.reach("in_recover")
            await self._placed(run)
            await self._run_through(run)
        return await self._told(self._note)

    async def _placed(self, run: Run) -> None:
        """Record where commands run from here on, where the task can come to run any."""
        found = self._ports.environment
        if found is None:
            return
        before = await run.lease.records.environment(run.attempt_id)
        if before != found:
            differs = before is not None
            await run.record(EnvironmentChosen(environment=found, restored_differs=differs))

    async def _run_through(self, run: Run) -> None:
        lease = run.lease
        interrupt_id = await self._invoked(run, resumed=self._how == "resume")
        await run.reach("after_checkpoint")
        suspended = await publish(
            lease.events,
            lease.records,
            run.attempt_id,
            fence=lease.fence,
            interrupt_id=interrupt_id,
        )
        run.seen = None
        position = await run.position()
        if not suspended and position.cancel_reason and not position.attempt.status.is_terminal:
            # Somebody asked for the end after this owner had looked for the last time.
            await self._invoked(run, resumed=False)
        await run.reach("after_publishing")

    async def _invoked(self, run: Run, *, resumed: bool) -> str | None:
        """Run the graph once; returns the id of the interrupt that it paused at, if any."""
        graph = build(_Held(run), self._means.saver)
        config: RunnableConfig = {
            "configurable": {"thread_id": run.attempt_id},
            "recursion_limit": SUPERSTEPS,
        }
        try:
            return await self._entered(graph, config, run.attempt_id, resumed=resumed)
        except InvalidUpdateError:
            # Somebody wrote past us into LangGraph's tables, so that the thread cannot be entered
            # any more. Nothing in them is believed: the attempt begins anew from our own record.
            await self._means.saver.adelete_thread(run.attempt_id)
            return await self._entered(graph, config, run.attempt_id, resumed=resumed)

    async def _entered(
        self, graph: Graph, config: RunnableConfig, attempt_id: str, *, resumed: bool
    ) -> str | None:
        entry = await _entry(graph, config, attempt_id, resumed)
        # LangGraph leaves type parameters of its own open here; pyright reports those, not ours.
        invoke = graph.ainvoke  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        result = await invoke(entry, config, durability=self._means.durability)
        interrupts = result.get("__interrupt__") or ()
        return str(interrupts[0].id) if interrupts else None

    def _may_pass(self, error: StoreError | LeaseLostError) -> bool:
        """Whether it is worth waiting: nobody is known to have taken the attempt over.

        Where somebody has all the same, taking it again is refused, or its fence tells.
        """
        if isinstance(error, LeaseLostError):
            self._means.notice("the attempt's lease, which was lost")
            return not self._taken
        self._means.notice("the database, which has gone away")
        return error.retryable

    def _took(self, lease: Lease) -> bool:
        """Note the fence; returns whether this call owned the attempt before an outage.

        Raises:
            LeaseLostError: somebody else owned it in between, and knows better.
        """
        before, self._fence = self._fence, lease.fence
        self._outage.ended()
        if before is None:
            return False
        if lease.fence != before + 1:
            self._taken = True
            raise LeaseLostError(
                "Another process took the attempt over while the database was out of reach. "
                "`checkrein status` tells how it stands.",
                op="work.own",
            )
        return True

    def _hear(self, word: Word) -> None:
        self._stop.hear(word)
        self._taken = self._taken or word is Word.TAKEN
        if word is Word.CUT:
            self._means.notice("the database, which has gone away")

    def _note(self, found: Report) -> str | None:
        """What a person should know besides about how it stands now."""
        if found.status.is_terminal:
            return self._ports.model.closing_note(found.turns)
        return DRAINED if self._stop.draining and not found.status.is_suspended else None

    async def _told(self, note: Callable[[Report], str | None] | str | None = None) -> Report:
        found = await report(self._means.records, self._attempt_id)
        text = note(found) if callable(note) else note
        warnings = [text] if text else []
        return found.model_copy(update={"warnings": [*warnings, *self._open_to()]})

    def _open_to(self) -> list[str]:
        """What people should know of commands that are not kept apart."""
        found = self._ports.environment
        if found is None or Isolation.FILES in found.isolates or found.backend is None:
            return []
        kept = ", ".join(found.does_not)
        hides = hides_tests(self._contract.success)
        hidden = " Hidden tests lie within their reach." if hides else ""
        return [
            f"Commands of this attempt run by `{found.backend}`, which does not isolate {kept}. "
            f"`checkrein doctor` tells how to get a sandbox.{hidden}"
        ]


async def _entry(
    graph: Graph, config: RunnableConfig, attempt_id: str, resumed: bool
) -> GraphState | Command[str]:
    """Answer the pending interrupt by its id, or enter at START where there is none to answer.

    Where anything else is pending beside it, somebody has tampered with the thread: entering anew
    leaves all of that behind, and the nodes find their place in the database.
    """
    if resumed:
        snapshot = await graph.aget_state(config)
        if len(snapshot.interrupts) == len(snapshot.tasks) == 1:
            return Command(resume={snapshot.interrupts[0].id: "look in the database"})
    return {"attempt_id": attempt_id}
