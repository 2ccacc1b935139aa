"""Owners that stand still wherever a real one can be overtaken or die, until they are let go on.

Each owner is a task that works on an attempt with the real nodes; its failpoints and its target
stop it at named places, so that a test can let others work in between, or end it there.
"""

import asyncio
from collections import Counter
from typing import Any, NoReturn

from checkrein.contracts.effect import Effect, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    Capability,
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
)
from checkrein.ports.leases import Lease

GOES_ON, LOST, BUSY = "goes on", "lost", "busy"
"""What becomes of a message that stands at BEFORE_SEND or SENT.

BUSY: the target says of a request that it did nothing, and may be asked again.
"""

BEFORE_SEND, OWNED, SENT = "before_send", "owned", "sent"
"""Before the request leaves; after the question who owns the attempt; with the answer in hand."""

STUCK_S = 60.0


class KilledError(BaseException):
    """The end of an owner at the place where it stands: no code of its own runs any more."""


class Owner:
    """One process that may own attempts. It stands, works or rests."""

    def __init__(self, name: int) -> None:
        self.name = name
        self.place: str | None = None
        self.lease: Lease | None = None
        self.task: asyncio.Task[Any] | None = None
        self._fate = GOES_ON
        self._dying = False
        self._arrived = asyncio.Event()
        self._go = asyncio.Event()

    @property
    def attempt_id(self) -> str | None:
        """The attempt that it believes to own."""
        return None if self.lease is None else self.lease.attempt_id

    async def reach(self, place: str) -> None:
        """See ports.failpoints: stand here until told to go on."""
        await self.stand(place)

    async def stand(self, place: str) -> str:
        """Stand at a place; returns what becomes of the message there."""
        if self._dying:
            raise KilledError
        self.place = place
        self._go.clear()
        self._arrived.set()
        await self._go.wait()
        self.place = None
        if self._dying:
            raise KilledError
        return self._fate

    async def begin(self, work: "asyncio.Task[Any]") -> None:
        """Work until the first place, or the end."""
        self.task, self._dying = work, False
        self._arrived.clear()
        work.add_done_callback(lambda _: self._arrived.set())
        await self._until_it_stands()

    async def step(self, fate: str = GOES_ON) -> None:
        """Go on to the next place, or the end."""
        self._fate = fate
        self._arrived.clear()
        self._go.set()
        await self._until_it_stands()

    async def die(self) -> None:
        """End here. Its session must have been dropped before."""
        assert self.task is not None
        self._dying = True
        self._go.set()
        await asyncio.wait({self.task}, timeout=STUCK_S)
        assert self.task.done(), "a dead owner went on"
        assert isinstance(self.task.exception(), KilledError)
        self.place = self.lease = None

    async def _until_it_stands(self) -> None:
        async with asyncio.timeout(STUCK_S):
            await self._arrived.wait()
        if self.task is not None and self.task.done():
            self.place = self.lease = None
        self._arrived.clear()


class Gated:
    """A real capability, whose messages stand still on their way, and may get lost."""

    def __init__(
        self,
        inner: Capability,
        owner: Owner | None,
        key: str | None,
        sends: Counter[str],
        **terms: Any,
    ) -> None:
        """`key`: the argument that makes the business key; `terms` replace what is declared.

        `sends` counts those that may have an effect, for all that the sender knows.
        """
        self._inner = inner
        self._owner = owner
        self._key = key
        self._sends = sends
        self._spec = inner.spec.model_copy(update=terms)

    @property
    def spec(self) -> CapabilitySpec:
        """What is declared."""
        return self._spec

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """See the port."""
        return action_id if self._key is None else f"pay-{args[self._key]}"

    async def describe(self, args: dict[str, Any]) -> Description:
        """See the port."""
        return await self._inner.describe(args)

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """See the port."""
        return await self._inner.read(args, constraints)

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """See the port."""
        return await self._inner.prepare(args)

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Send, unless the request gets lost; the answer may get lost too."""
        owner = self._owner
        if owner is None:
            _never("only owners send")

        async def asked() -> bool:
            said = await still_owner()
            if said:
                await owner.stand(OWNED)
            return said

        fate = await owner.stand(BEFORE_SEND)
        if fate == BUSY:
            op = f"{self._spec.name}.send"
            raise CapabilityError("Later.", op=op, code="target_busy", retryable=True)
        self._sends[permit.effect_id] += 1
        if fate == LOST:
            raise TimeoutError
        said = await self._inner.send(prepared, permit, asked)
        if await owner.stand(SENT) == LOST:
            raise TimeoutError
        return said

    async def version(self, resource: str) -> str:
        """See the port."""
        return await self._inner.version(resource)

    async def lookup(self, effect: Effect) -> Outcome | None:
        """See the port."""
        return await self._inner.lookup(effect)


def _never(why: str) -> NoReturn:
    raise AssertionError(why)
