"""What a node is given, and what it answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.context import CompiledContext
from checkrein.contracts.event import AttemptEnded, Payload
from checkrein.contracts.task import TaskContract
from checkrein.errors import EnvironmentFault
from checkrein.ports.bundle import Ports
from checkrein.ports.leases import Lease
from checkrein.ports.records import Position


@dataclass
class Run:
    """One owner's work on one attempt.

    Attributes:
        compiled: the context made for the coming model call, kept only until it is used; it is
            compiled again, to the same bytes, wherever it is missing.
        seen: where the attempt stood after the last append of this run. What other processes
            record meanwhile (answers, cancel) is heard at the next append, and checked by the
            database in the transaction that marks an effect EXECUTING.
    """

    ports: Ports
    contract: TaskContract
    lease: Lease
    compiled: CompiledContext | None = field(default=None)
    seen: Position | None = field(default=None)

    @property
    def attempt_id(self) -> str:
        """The attempt that is being worked on."""
        return self.lease.attempt_id

    async def position(self) -> Position:
        """Where the attempt stands, by the database: as the last append told, or read now."""
        if self.seen is None:
            self.seen = await self.lease.records.position(self.attempt_id)
        return self.seen

    async def record(
        self, *payloads: Payload, blobs: tuple[bytes, ...] = (), look: bool = True
    ) -> None:
        """Append events under this owner's fence, all or nothing.

        `look` brings back where the attempt stands then, for who asks next; it is left out where
        nobody does.
        """
        if not payloads:
            return
        self.seen = None
        append = self.lease.events.append_and_look if look else self.lease.events.append
        self.seen = await append(self.attempt_id, payloads, fence=self.lease.fence, blobs=blobs)

    async def broken(self, error: EnvironmentFault) -> "Step":
        """End the attempt because the machine or its workspace is broken."""
        await self.record(AttemptEnded(status=AttemptStatus.ENVIRONMENT_ERROR, detail=str(error)))
        return Step("environment_error")

    async def reach(self, place: str) -> None:
        """Pass a named fault point."""
        await self.ports.failpoints.reach(place)


@dataclass(frozen=True)
class Step:
    """What a node found, for the routing table. `turn` is only for people who watch the graph."""

    outcome: str
    turn: int = 0


Node = Callable[[Run], Awaitable[Step]]
