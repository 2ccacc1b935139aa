"""What people must hear of approvals, stored with the events, and what became of it."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Protocol

from checkrein.contracts.codec import Frozen

Outcome = Literal["delivered", "failed", "refused"]
"""Of one try: it arrived; it did not, or nobody knows; or it never can."""


class DeliveryState(StrEnum):
    """SKIPPED: the request was over before the deliverer was set up."""

    WAITING = "WAITING"
    SENDING = "SENDING"
    DELIVERED = "DELIVERED"
    GIVEN_UP = "GIVEN_UP"
    SKIPPED = "SKIPPED"


class Claim(Frozen):
    """One message, for one deliverer and one process, until the claim ends.

    Attributes:
        n: its place in the outbox.
        tries: which try this is, from 1.
        answered: what a person said, where it tells of that: answer, by, authenticated, reason.
        request: the approval request as it stood right after the event.
        people: who has which role, by the contract.
    """

    n: int
    tries: int
    key: str
    kind: str
    tenant: str
    task_id: str
    attempt_id: str
    approval_id: str
    seq: int
    at: datetime
    answered: dict[str, Any] | None
    request: dict[str, Any]
    people: dict[str, list[str]]
    task_requested_by: str


class Delivery(Frozen):
    """What became of one message at one deliverer."""

    deliverer: str
    state: DeliveryState
    tries: int
    next_try_at: datetime
    last_error: str
    delivered_at: datetime | None


class OutboxEntry(Frozen):
    """One message of the outbox, and where it stands at every deliverer that has seen it."""

    key: str
    kind: str
    tenant: str
    attempt_id: str
    approval_id: str
    at: datetime
    deliveries: list[Delivery]


class Outbox(Protocol):
    """Messages are put in with the events they tell of; here they are taken out.

    Guarantees: a claimed message is nobody else's before the claim ends; a message of an attempt
    is not given out before the one before it was delivered or given up, for each deliverer.
    Times are the database's.
    """

    async def claim(
        self, deliverer: str, tenant: str | None, *, most: int, hold_s: float
    ) -> list[Claim]:
        """Take messages that are due, at most one of each attempt.

        Raises:
            StoreError: the database cannot be used.
        """
        ...

    async def record(
        self,
        claim: Claim,
        deliverer: str,
        outcome: Outcome,
        *,
        note: str,
        again_s: float,
        give_up_s: float,
    ) -> DeliveryState | None:
        """Store how a try ended; the state after it, or None where it was settled meanwhile.

        Raises:
            StoreError: the database cannot be used.
        """
        ...

    async def entries(self, *, limit: int) -> list[OutboxEntry]:
        """The newest messages, oldest of them first.

        Raises:
            StoreError: the database cannot be used.
        """
        ...
