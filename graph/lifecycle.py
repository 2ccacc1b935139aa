"""The front door: every start, resume and recovery takes the lease; requests are recorded here.

LangGraph has no lock on a thread. Whoever does not get the lease is told so and touches nothing.
"""

import traceback
from collections.abc import Callable
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from checkrein.contracts import ids
from checkrein.contracts.approval import Approver
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import (
    CancelRequested,
    PauseRequested,
    UserAnswered,
)
from checkrein.contracts.task import TaskContract
from checkrein.errors import BusyError, CheckreinError, ConflictError
from checkrein.graph.commit import begun, planned
from checkrein.graph.opening import Opener, created, reopened
from checkrein.graph.overdue import pass_on
from checkrein.graph.publication import publish
from checkrein.graph.report import Report, report
from checkrein.graph.work import SUPERSTEPS, Durability, How, Means, Work
from checkrein.nodes.run import Guest
from checkrein.nodes.waiting import waiting_for
from checkrein.ports.bundle import Ports
from checkrein.ports.event_store import EventStore
from checkrein.ports.leases import Leases
from checkrein.ports.records import Position, Records

__all__ = ["SUPERSTEPS", "Durability", "FrontDoor"]

OUTAGE_S = 60.0
"""How long work waits for a store that has gone away, seconds."""


class FrontDoor:
    """Starts, resumes and recovers attempts, and records what people ask of them.

    Attributes:
        notice: told what work waits for, for live views. It must not block or raise.
        draining: whether this process takes on nothing new, because it is to end.
    """

    def __init__(
        self,
        events: EventStore,
        records: Records,
        leases: Leases,
        opener: Opener,
        saver: BaseCheckpointSaver[Any],
        durability: Durability = "exit",
        outage_s: float = OUTAGE_S,
    ) -> None:
        """`outage_s`: how long work waits for a store that has gone away, seconds."""
        self.events = events
        self.records = records
        self.leases = leases
        self.opener = opener
        self._saver = saver
        self._durability: Durability = durability
        self._outage_s = outage_s
        self._working: set[Work] = set()
        self.notice: Callable[[str], None] = _unheard
        self.draining = False

    def through(self, opener: Opener) -> "FrontDoor":
        """The same door with another opener; both let go together."""
        other = FrontDoor(
            self.events,
            self.records,
            self.leases,
            opener,
            self._saver,
            self._durability,
            self._outage_s,
        )
        other._working = self._working
        other.notice = lambda text: self.notice(text)
        return other

    def drain(self) -> None:
        """Begin nothing new, and let all work stop at its next safe point.

        A model call or verifier that has begun gets some seconds to finish. Each call that is
        under way then returns its report; an attempt that is not at its end stays RUNNING without
        an owner, for `recover`. To be called on the event loop's thread, at any time.
        """
        self.draining = True
        for work in self._working:
            work.drain()

    async def start(self, contract: TaskContract, *, parent: str | None = None) -> Report:
        """Create a task and its first attempt, and work on it until it ends or must wait.

        `parent`: the attempt that it is a child of, and whose budgets it draws on besides its own.

        Raises:
            InputError: workspace, policy or model cannot be opened, or there is no such parent;
                nothing was stored.
            ConflictError: the parent has ended, is being cancelled, or counts other money.
            BudgetExceededError: the parent may have no more children at one time.
        """
        return await self._started(contract, None, 1, parent)

    async def begin(self, contract: TaskContract, *, parent: str | None = None) -> Report:
        """Create a task and its first attempt for a loop that is not ours; nothing is done yet.

        Raises as `start` does.
        """
        return await self._started(contract, None, 1, parent, Guest())

    async def step(self, attempt_id: str, guest: Guest) -> Report:
        """Go as far as what a loop brings allows: a model call, and the calls that came to run.

        Where the attempt waits for somebody, or has ended, it is only said so.

        Raises:
            BusyError: another owner works on it.
        """
        position = await self.records.position(attempt_id)
        if position.attempt.status.is_terminal or self._still_waits(position):
            return await report(self.records, attempt_id)
        how: How | None = "resume" if position.attempt.status.is_suspended else None
        return await self._continued(attempt_id, how, guest=guest)

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
        return await self._started(contract, task_id, last.number + 1, task.parent)

    async def commit(self, task_id: str, who: Approver) -> Report:
        """Hand over what was verified, for the task's commit authority; doing it again is safe.

        One that was begun before goes on; one that was made already is only reported.

        Raises:
            As graph.commit.planned and graph.commit.begun do.
            BusyError: another process is making it.
        """
        plan = await planned(self.events, self.records, self.opener, task_id, who)
        if plan.existing is not None:
            return await self.resume(plan.existing)
        attempt_id = ids.new_attempt_id()
        async with begun(self.events, self.opener, plan, attempt_id) as ports:
            return await self._driven(ports, plan.verified.contract, attempt_id, None)

    async def resume(self, attempt_id: str) -> Report:
        """Go on with an attempt where it can; where it still waits, only say for what.

        Raises:
            BusyError: another owner works on it.
        """
        position = await self.records.position(attempt_id)
        if position.attempt.status.is_terminal or self._still_waits(position):
            return await report(self.records, attempt_id)
        how: How = "resume" if position.attempt.status.is_suspended else "recover"
        return await self._continued(attempt_id, how)

    async def recover(self, attempt_id: str, *, wait_s: float = 0.0) -> Report:
        """Take over an attempt whose owner died; leaves suspended and ended ones as they are.

        A dead owner is followed at once. `wait_s`: how long to wait for the lease of an owner that
        is frozen to expire, seconds; one that is alive is not waited for.

        Raises:
            BusyError: its owner is alive, or its lease did not expire in that time.
        """
        position = await self.records.position(attempt_id)
        if position.attempt.status.is_terminal or position.attempt.status.is_suspended:
            return await report(self.records, attempt_id)
        return await self._continued(attempt_id, "recover", wait_s)

    async def recover_all(self) -> list[Report]:
        """Recover every attempt that has no living owner; one that is owned is left alone.

        One that cannot be recovered keeps none of the others waiting: its report warns of why.
        """
        reports: list[Report] = []
        for found in await self.records.unfinished():
            if self.draining:
                break
            try:
                reports.append(await self.recover(found.attempt_id))
            except Exception as error:
                # Also what nobody foresaw: it is one attempt's, and would stand in the way of all
                # others each time. It is told where people look, with where it came from.
                warnings = [str(unforeseen(error))]
                reports.append(await report(self.records, found.attempt_id, warnings=warnings))
        return reports

    async def sweep(self) -> None:
        """Publish what owners stored and died before publishing, without going on with the work.

        What nobody answered in time is passed on, or recorded as a no.
        """
        for found in await self.records.unfinished():
            try:
                async with self.leases.hold(found.attempt_id) as lease:
                    await publish(self.events, self.records, found.attempt_id, fence=lease.fence)
            except BusyError:
                continue
        await pass_on(self.events, self.records)

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

    async def _started(
        self,
        contract: TaskContract,
        task_id: str | None,
        number: int,
        parent: str | None,
        guest: Guest | None = None,
    ) -> Report:
        attempt_id = ids.new_attempt_id()
        async with created(
            self.events,
            self.opener,
            contract,
            attempt_id,
            task_id=task_id,
            number=number,
            parent=parent,
        ) as ports:
            return await self._driven(ports, contract, attempt_id, None, guest=guest)

    async def _continued(
        self,
        attempt_id: str,
        how: How | None,
        wait_s: float = 0.0,
        guest: Guest | None = None,
    ) -> Report:
        async with reopened(self.events, self.records, self.opener, attempt_id) as found:
            contract, ports = found
            return await self._driven(ports, contract, attempt_id, how, wait_s, guest)

    async def _driven(
        self,
        ports: Ports,
        contract: TaskContract,
        attempt_id: str,
        how: How | None,
        wait_s: float = 0.0,
        guest: Guest | None = None,
    ) -> Report:
        means = Means(
            self.records,
            self.leases,
            self._saver,
            self._durability,
            self._outage_s,
            lambda text: self.notice(text),
        )
        work = Work(means, ports, contract, attempt_id, how, wait_s, guest)
        self._working.add(work)
        if self.draining:
            work.drain()
        try:
            return await work.done()
        finally:
            self._working.discard(work)

    def _still_waits(self, position: Position) -> bool:
        """Whether resuming could change nothing: nobody has said yet what it waits for."""
        waiting = waiting_for(position)
        if waiting is None or not position.attempt.status.is_suspended:
            return False
        return bool(waiting.answers) and waiting.answers != ("resume",)


def unforeseen(error: Exception) -> CheckreinError:
    """An error as it is told; one that is not ours with its trace, as nobody foresaw it."""
    if isinstance(error, CheckreinError):
        return error
    told = "".join(traceback.format_exception(error)).rstrip()
    return CheckreinError(
        f"The attempt could not be recovered, by a fault that nobody foresaw:\n{told}",
        op="lifecycle.recover",
    )


def _unheard(text: str) -> None:
    """Nobody watches."""
