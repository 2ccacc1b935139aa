"""Single ownership of an attempt: a lease row with fence, heartbeat and expiry."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records


class Lease(Protocol):
    """Ownership of one attempt, for as long as the context is open."""

    @property
    def attempt_id(self) -> str:
        """The attempt that is owned."""
        ...

    @property
    def fence(self) -> int:
        """Grows with every new owner; a write under an old fence is refused."""
        ...

    @property
    def events(self) -> EventStore:
        """The event store on the owner's session: when that is lost, so is the right to write."""
        ...

    @property
    def records(self) -> Records:
        """Records on the owner's own session."""
        ...

    async def still_owner(self) -> bool:
        """Ask the database whether this fence is the newest and has not expired."""
        ...


class Leases(Protocol):
    """Gives and takes leases. The database's clock decides about expiry."""

    def hold(self, attempt_id: str, *, wait_s: float = 0.0) -> AbstractAsyncContextManager[Lease]:
        """Take the attempt's lease, beat its heart while held, give it back at the end.

        A dead owner's lease is taken over at once under a higher fence.

        Raises:
            BusyError: another owner is alive, and was for `wait_s` seconds.
            InputError: no such attempt.
        """
        ...
