"""Single ownership of an attempt: a lease row with fence, heartbeat and expiry."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol

from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records
from checkrein.ports.transaction import Transaction


class Word(StrEnum):
    """What an owner hears about its attempt while it holds the lease.

    Attributes:
        CANCEL, PAUSE: a person has asked for it.
        TAKEN: another owner has taken the attempt over.
        CUT: the session with the database is gone, and the right to write with it.
    """

    CANCEL = "cancel"
    PAUSE = "pause"
    TAKEN = "taken"
    CUT = "cut"


Heard = Callable[[Word], None]
"""Told within about a second, and again while it holds. It must not block or raise."""


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

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """One transaction on the owner's session; appends made inside belong to it.

        It is rolled back when the context ends with an error.

        Raises:
            LeaseLostError: the session is gone; what is there is as it was, or all of it happened.
        """
        ...

    async def still_owner(self) -> bool:
        """Ask the database whether this fence is the newest and has not expired."""
        ...


class Leases(Protocol):
    """Gives and takes leases. The database's clock decides about expiry."""

    def hold(
        self,
        attempt_id: str,
        *,
        wait_s: float = 0.0,
        frozen_s: float = 0.0,
        heard: Heard | None = None,
    ) -> AbstractAsyncContextManager[Lease]:
        """Take the attempt's lease, beat its heart while held, give it back at the end.

        A dead owner's lease is taken over at once under a higher fence, a frozen owner's when it
        has expired.

        Args:
            wait_s: how long to wait for an owner that is alive, seconds.
            frozen_s: how long to wait for the lease of an owner that gives no sign of life to
                expire, seconds. One that is alive shows it within about a second.
            heard: told what the owner should know while it holds the lease.

        Raises:
            BusyError: another owner is alive after `wait_s` seconds, or silent after `frozen_s`.
            InputError: no such attempt.
        """
        ...
