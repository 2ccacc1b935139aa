"""One process of a cell: it does as it is ordered, and tells what it found, if it lives so long."""

import asyncio
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Literal

from pydantic import Field

from checkrein import crash_targets
from checkrein.compose import Given, Parts, composed
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.codec import Frozen
from checkrein.contracts.effect import OutcomeSource
from checkrein.contracts.event import ModelResponded, Observed, Payload, check_chain
from checkrein.contracts.task import TaskContract
from checkrein.errors import CheckreinError
from checkrein.graph.reconciliation import reconcile_by_person
from checkrein.graph.report import Report
from checkrein.graph.trace_rules import grade
from checkrein.harness import Harness
from checkrein.settings import Durability, Settings
from checkrein.testing.failpoints import KillAt, NoFailpoints, from_text

Verb = Literal["run", "recover", "cancel"]

APPROVER = "bob"
LAST_TURN = 2
"""The turn in which the script claims that all is done."""

TURNS = 20
"""Calls on the harness after which a process gives up: something goes round in circles."""


class Order(Frozen):
    """What one process of a cell is to do.

    Attributes:
        happened: what the person says who settles an effect of a target that cannot count.
        stops: statuses at which it stops, for another process to go on.
        full: whether no byte can be stored on the disk, from the last model output on.
        clock_s: how many seconds this machine's clock has jumped.
        wait_s: how long it waits for the lease of a frozen owner, seconds.
        result: the file that it writes at its end.
    """

    id: int
    verb: Verb
    home: Path
    database_url: str
    durability: Durability
    target: crash_targets.Place
    task: Path
    result: Path
    failpoint: str = ""
    happened: bool = False
    stops: frozenset[str] = frozenset()
    full: bool = False
    clock_s: int = 0
    wait_s: float = 0.0
    lease_ttl_s: float = 15.0


def seen_by(order: Order) -> Path:
    """The file of the statuses that a process was told, one a line, also where it was killed."""
    return order.result.with_suffix(".seen")


class Facts(Frozen):
    """What stands in the database, read anew at the end.

    Attributes:
        error: the code of the error that ended its work, if one did.
        kinds: events by type.
        observed: action ids of all observations.
        broken: what is wrong with the chain, by check_chain and by the trace rules.
    """

    status: str = ""
    error: str = ""
    detail: str = ""
    ledger: dict[str, int] = Field(default_factory=dict[str, int])
    by_hand: int = 0
    kinds: dict[str, int] = Field(default_factory=dict[str, int])
    observed: list[str] = Field(default_factory=list[str])
    approvals: list[str] = Field(default_factory=list[str])
    reserved: dict[str, int] = Field(default_factory=dict[str, int])
    steps: int = 0
    broken: list[str] = Field(default_factory=list[str])


_STUCK = [str(AttemptStatus.RECONCILE_REQUIRED)] * 2
"""Going on has changed nothing: only a person can."""


class Process:
    """The work of one process on the one attempt of its database."""

    def __init__(self, order: Order, parts: Parts, target: crash_targets.Opened) -> None:
        self._order = order
        self._parts = parts
        self._target = target
        self._harness = Harness(parts)
        self.seen: list[str] = []

    async def work(self, failpoints: NoFailpoints | KillAt) -> None:
        """Do the order, then go on as people would, until it has ended or must stop."""
        report = await self._begun()
        for _ in range(TURNS):
            await self._saw(report.status)
            if report.status.is_terminal or report.status in self._order.stops:
                return
            if report.approvals:
                for request in report.approvals:
                    await self._harness.approve(request.approval_id, by=APPROVER)
                await failpoints.reach("after_grant")
            elif report.status is AttemptStatus.CANCELLING or self.seen[-2:] == _STUCK:
                await self._settled(report)
            report = await self._harness.resume(report.attempt_id)

    async def _saw(self, status: str) -> None:
        """Note a status where it outlives this process."""
        self.seen.append(status)
        if not self._order.full:
            text = "".join(f"{one}\n" for one in self.seen)
            await asyncio.to_thread(seen_by(self._order).write_text, text, encoding="utf-8")

    async def _begun(self) -> Report:
        if self._order.verb == "run":
            text = await asyncio.to_thread(self._order.task.read_bytes)
            return await self._harness.run(TaskContract.model_validate_json(text))
        attempt_id = await self._attempt_id()
        if self._order.verb == "cancel":
            return await self._harness.cancel(attempt_id, by=APPROVER, reason="enough")
        return await self._parts.front_door.recover(attempt_id, wait_s=self._order.wait_s)

    async def _attempt_id(self) -> str:
        return (await self._parts.records.attempts())[0].attempt_id

    async def _settled(self, report: Report) -> None:
        """Settle every open effect by hand, by what the target has counted."""
        for effect_id in report.unsettled:
            count = self._target.count
            happened = self._order.happened if count is None else await count() > 0
            await reconcile_by_person(
                self._parts.front_door,
                effect_id,
                "committed" if happened else "not-applied",
                by=APPROVER,
                evidence="what the target counted",
            )

    async def facts(self, error: CheckreinError | None) -> Facts:
        """Read everything anew."""
        parts = self._parts
        attempt_id = await self._attempt_id()
        report = await self._harness.status(attempt_id)
        events = await parts.events.read(attempt_id)
        position = await parts.records.position(attempt_id)
        payloads = [event.read() for event in events]
        chain = check_chain(events, position.head_seq, position.head_hash)
        effects = await parts.records.effects(attempt_id)
        return Facts(
            status=report.status,
            error=error.code if error else "",
            detail=report.detail if error is None else str(error),
            ledger=report.effects,
            by_hand=sum(effect.source is OutcomeSource.MANUAL for effect in effects),
            kinds=dict(Counter(payload.type for payload in payloads)),
            observed=[p.observation.action_id for p in payloads if isinstance(p, Observed)],
            approvals=[
                str(a.status) for a in await parts.records.approvals(attempt_id, open_only=False)
            ],
            steps=report.budgets[Budget.STEPS].spent,
            reserved={str(name): line.reserved for name, line in report.budgets.items()},
            broken=[str(problem) for problem in [*chain, *grade(events)]],
        )


async def main(order: Order) -> None:
    """Do the order and write the facts; an error of the harness is one of them."""
    failpoints = from_text(order.failpoint)
    _jump(order.clock_s)
    settings = Settings(
        home=order.home,
        database_url=order.database_url,
        durability=order.durability,
        failpoint=order.failpoint or None,
    )
    async with crash_targets.opened(order.target, failpoints.reach) as target:
        given = Given(capabilities=target.capabilities)
        filled = _Filled()
        observer = filled.hear if order.full else None
        async with composed(settings, given, observer, lease_ttl_s=order.lease_ttl_s) as parts:
            process = Process(order, parts, target)
            error: CheckreinError | None = None
            try:
                await process.work(failpoints)
            except CheckreinError as raised:
                if not await parts.records.attempts():
                    raise  # it never began; there is nothing to tell
                error = raised
            finally:
                filled.emptied()
            facts = await process.facts(error)
    await asyncio.to_thread(order.result.write_text, facts.model_dump_json(), encoding="utf-8")


class _Filled:
    """A disk that takes no byte any more, from the last model output on."""

    def __init__(self) -> None:
        tempfile.gettempdir()  # found while there is room, as in any process that has worked
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def hear(self, attempt_id: str, payload: Payload) -> None:
        """Told of each event after it is durable."""
        if isinstance(payload, ModelResponded) and payload.turn == LAST_TURN:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, self._before[1]))

    def emptied(self) -> None:
        """There is room again."""
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


def _jump(seconds: int) -> None:
    """Let this process's clock jump: the one that our clock port reads."""
    real = time.time_ns
    time.__dict__["time_ns"] = lambda: real() + seconds * 1_000_000_000
