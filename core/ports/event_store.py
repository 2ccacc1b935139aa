"""The one way in which anything durable changes: appending events."""

from collections.abc import Sequence
from typing import Protocol

from checkrein.contracts.event import Event, Payload
from checkrein.contracts.task import TaskContract
from checkrein.ports.records import Position


class EventStore(Protocol):
    """Appends events and projects them onto the tables, in one transaction each."""

    async def start(self, payloads: Sequence[Payload]) -> None:
        """Create task (where task_created is among the payloads) and attempt. Nobody owns it yet.

        Raises:
            ConflictError: the attempt exists already, or its parent takes no child (any more).
            BudgetExceededError: the parent may have no more children at one time.
        """
        ...

    async def append(
        self,
        attempt_id: str,
        payloads: Sequence[Payload],
        *,
        fence: int | None,
        blobs: Sequence[bytes] = (),
    ) -> None:
        """Append, in order, all or nothing. `blobs` are stored under their digests.

        Without a fence only requests from outside are taken: approval_decided, budget_raised,
        cancel_requested, pause_requested, user_answered.

        Raises:
            LeaseLostError: the fence is not the newest, or its lease has expired.
            ConflictError: an illegal transition, a key bound with another hash, an approval that
                does not bind, an attempt that has ended, or one that is being cancelled.
            BudgetExceededError: a reservation does not fit.
        """
        ...

    async def append_and_look(
        self,
        attempt_id: str,
        payloads: Sequence[Payload],
        *,
        fence: int,
        blobs: Sequence[bytes] = (),
    ) -> Position:
        """Append as `append` does, and return where the attempt stands then."""
        ...

    async def say(
        self, tenant: str, kind: str, value: str, *, granted: bool, by: str, reason: str
    ) -> None:
        """Record a person's word on what may be done; it counts from the next decision on.

        Raises:
            InputError: no such kind, or a value that is empty or too long (code unusable_word).
        """
        ...

    async def read(self, attempt_id: str, *, after: int = 0, limit: int = 10_000) -> list[Event]:
        """Events after a seq, in order."""
        ...

    async def blob(self, ref: str) -> bytes:
        """Bytes by digest.

        Raises:
            IntegrityError: they are not there, or do not hash to their name.
        """
        ...

    async def contract(self, attempt_id: str) -> TaskContract:
        """The contract that the attempt was started under."""
        ...
