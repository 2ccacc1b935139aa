"""How attempts end, by class: no two kinds of failure count as one."""

from datetime import datetime
from typing import Protocol

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.codec import Frozen


class AttemptClass(Frozen):
    """How many attempts stand so.

    Attributes:
        error_type: the error that ended them, by its structure; None where none did.
        turns, tokens: what they have taken together.
    """

    status: AttemptStatus
    error_type: str | None
    attempts: int
    turns: int
    tokens: int


class ErrorClass(Frozen):
    """How often calls of tools ended with one error.

    Attributes:
        attempts: in how many attempts.
    """

    capability: str
    error_type: str
    calls: int
    attempts: int


class AttemptMetrics(Frozen):
    """The attempts that began since a moment, by class, most of them first; None is the beginning.

    Attributes:
        no_progress: how often a run was noticed to go in circles, by signal.
    """

    since: datetime | None
    total: int
    classes: list[AttemptClass]
    errors: list[ErrorClass]
    no_progress: dict[str, int]


class AttemptReports(Protocol):
    """Reads; changes nothing."""

    async def metrics(
        self,
        *,
        since: datetime | None = None,
        ago_s: float | None = None,
        tenant: str | None = None,
    ) -> AttemptMetrics:
        """What began since a moment, or in the last `ago_s` seconds by the database's clock."""
        ...
