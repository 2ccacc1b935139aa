"""Reading recorded decisions together with the exact inputs that they were made of."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Literal, Protocol

from checkrein.contracts.codec import Frozen
from checkrein.contracts.decision import PolicyDecision
from checkrein.contracts.event import PolicyRefused, PolicyReloaded


class RecordedDecision(Frozen):
    """One decision as it was recorded.

    Attributes:
        seq: the event's number in the attempt, as `checkrein trace` shows it.
        at: when it was recorded, as the event says.
        policy: the policy folder that the task's contract names; None for the shipped bundle.
        input: the exact bytes that were judged; None where none could be written.
    """

    attempt_id: str
    seq: int
    action_id: str
    phase: Literal["propose", "dispatch"]
    at: str
    policy: str | None
    decision: PolicyDecision
    input: bytes | None

    @property
    def name(self) -> str:
        """The id of the event that recorded it."""
        return f"{self.attempt_id}/{self.seq}"


class RecordedChange(Frozen):
    """What became of a change of the rules in the middle of an attempt, as it was recorded.

    Attributes:
        at: when it was recorded, as the event says.
    """

    attempt_id: str
    seq: int
    at: str
    change: PolicyReloaded | PolicyRefused


class Decisions(Protocol):
    """Reads; changes nothing."""

    async def one(self, attempt_id: str, seq: int) -> RecordedDecision:
        """The decision that an event recorded.

        Raises:
            InputError: the event recorded none (code unknown_decision); the message lists those
                of the attempt.
            IntegrityError: the stored input is not the one that was judged.
        """
        ...

    async def last_change(self) -> RecordedChange | None:
        """The change of the rules that any attempt recorded last; None where none ever did."""
        ...

    def since(self, moment: datetime | None) -> AsyncIterator[RecordedDecision]:
        """All decisions from a moment on, attempt by attempt, in their order.

        Raises:
            IntegrityError: a stored input is not the one that was judged.
        """
        ...
