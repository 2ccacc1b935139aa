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
    """

    ports: Ports
    contract: TaskContract
    lease: Lease
    compiled: CompiledContext | None = field(default=None)

    @property
    def attempt_id(self) -> str:
        """The attempt that is being worked on."""
        return self.lease.attempt_id

    async def position(self) -> Position:
        """Where the attempt stands, by the database."""
        return await self.ports.records.position(self.attempt_id)

    async def record(self, *payloads: Payload, blobs: tuple[bytes, ...] = ()) -> None:
        """Append events under this owner's fence, all or nothing."""
        await self.ports.events.append(
            self.attempt_id, payloads, fence=self.lease.fence, blobs=blobs
        )

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
