"""What a node is given, and what it answers."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.codec import digest
from checkrein.contracts.context import CompiledContext, Message, ToolDescription
from checkrein.contracts.event import AttemptEnded, Payload
from checkrein.contracts.proposal import Proposal
from checkrein.contracts.task import TaskContract
from checkrein.errors import EnvironmentFault
from checkrein.nodes.messages import ShownTurn
from checkrein.nodes.proposals import read_proposals
from checkrein.nodes.stopping import Stop, WorkStopped
from checkrein.ports.bundle import Ports
from checkrein.ports.leases import Lease
from checkrein.ports.records import Position

T = TypeVar("T")


class Reply(NamedTuple):
    """One model output: its digest, its bytes, and the proposals that they amount to."""

    ref: str
    raw: bytes
    proposals: tuple[Proposal, ...]


@dataclass
class Guest:
    """What a loop that is not ours brings to one piece of work on its attempt.

    Attributes:
        messages: what its model is about to be sent; None where no call is meant, or none is left.
        tools: what its model is offered.
        arrived: the calls that it has come to run, by call id.
    """

    messages: list[Message] | None = None
    tools: list[ToolDescription] = field(default_factory=list[ToolDescription])
    arrived: frozenset[str] = frozenset()


@dataclass
class Run:
    """One owner's work on one attempt.

    Attributes:
        compiled: the context made for the coming model call, kept only until it is used; it is
            compiled again, to the same bytes, wherever it is missing.
        seen: where the attempt stood after the last append of this run. What other processes
            record meanwhile (answers, cancel) is heard at the next append, and checked by the
            database in the transaction that marks an effect EXECUTING.
        history: closed turns as they are shown. They never change, so each is read once.
        reply: the newest model output that was stored or read.
        stop: what this run is to stop for; `stop.asked` says that nothing more may begin.
        guest: where the loop is somebody else's, what it brings.
    """

    ports: Ports
    contract: TaskContract
    lease: Lease
    compiled: CompiledContext | None = field(default=None)
    seen: Position | None = field(default=None)
    history: list[ShownTurn] = field(default_factory=list[ShownTurn])
    reply: Reply | None = field(default=None)
    stop: Stop = field(default_factory=Stop)
    guest: Guest | None = field(default=None)

    @cached_property
    def contract_version(self) -> str:
        """The contract's digest; a contract never changes."""
        return self.contract.contract_version

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

    async def stored_reply(self, ref: str) -> Reply:
        """A stored model output with what it amounts to; read and parsed once."""
        if self.reply is None or self.reply.ref != ref:
            self.reply = self.parsed(await self.lease.events.blob(ref))
        return self.reply

    def parsed(self, raw: bytes) -> Reply:
        """What a model output amounts to. The same bytes always give the same answer."""
        catalogue = {name: c.spec for name, c in self.ports.capabilities.items()}
        return Reply(digest(raw), raw, tuple(read_proposals(raw, catalogue)))

    async def interruptible(self, work: Coroutine[Any, Any, T]) -> T:
        """Do long work that may be broken off: a model call, a verifier, a read; never a write.

        Raises:
            WorkStopped: it was broken off; the node answers with the outcome "stopped".
            LeaseLostError: this process owns the attempt no more.
        """
        try:
            return await self.stop.race(work)
        except WorkStopped:
            self.seen = None  # what stopped it was recorded by somebody else
            raise

    async def broken(self, error: EnvironmentFault) -> "Step":
        """End the attempt because the machine or its workspace is broken."""
        again = " It may pass: `checkrein retry` makes a new attempt." if error.retryable else ""
        status = AttemptStatus.ENVIRONMENT_ERROR
        await self.record(
            AttemptEnded(status=status, detail=str(error) + again, error_type=error.code)
        )
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
