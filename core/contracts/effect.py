"""An effect: what really changed outside. One row of the ledger, final once its fate is known."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.codec import Frozen


class EffectStatus(StrEnum):
    """Where an effect stands. UNKNOWN_EFFECT is never turned into "did not happen" by guessing."""

    INTENT = "INTENT"
    EXECUTING = "EXECUTING"
    COMMITTED = "COMMITTED"
    REFUSED = "REFUSED"
    DENIED = "DENIED"
    UNKNOWN_EFFECT = "UNKNOWN_EFFECT"
    NOT_APPLIED = "NOT_APPLIED"


FINAL = frozenset(
    {
        EffectStatus.COMMITTED,
        EffectStatus.REFUSED,
        EffectStatus.DENIED,
        EffectStatus.NOT_APPLIED,
    }
)


class OutcomeSource(StrEnum):
    """How the outcome became known."""

    EXECUTED = "executed"
    RECONCILED = "reconciled"
    MANUAL = "manual"


class Outcome(Frozen):
    """What a target said, or what is known without its word.

    Attributes:
        status: COMMITTED and REFUSED are definite answers; NOT_APPLIED is proof, found later, that
            nothing happened and nothing can any more; UNKNOWN_EFFECT is everything else.
        version: the resource's version after the effect, where there is one.
        result: structured result, bounded.
    """

    status: Literal[
        EffectStatus.COMMITTED,
        EffectStatus.REFUSED,
        EffectStatus.UNKNOWN_EFFECT,
        EffectStatus.NOT_APPLIED,
    ]
    version: str = ""
    result: dict[str, Any] = Field(default_factory=dict[str, Any])
    error_type: str | None = None
    message: str = ""


class Effect(Frozen):
    """One row of the ledger, unique on (tenant, resource, key).

    Attributes:
        operation_hash: what was bound under the key; another hash is refused.
        fence: the lease number under which it was last marked EXECUTING.
        from_version, to_version: for compare_and_set, the swap.
        pending: sent, and its target could not be asked what became of it; asked again later.
        verified: what reading the real system back said after the receipt; None: not asked.
    """

    schema_version: Literal[1] = 1
    effect_id: str
    tenant: str
    resource: str
    key: str
    operation_hash: str
    attempt_id: str = ""
    action_id: str
    status: EffectStatus
    fence: int = 0
    from_version: str = ""
    to_version: str = ""
    outcome: Outcome | None = None
    source: OutcomeSource | None = None
    pending: bool = False
    verified: bool | None = None


class ToolTry(Frozen):
    """One send of one action; network retries of an action share its key."""

    schema_version: Literal[1] = 1
    action_id: str
    effect_id: str | None = None
    n: int
    started_at: datetime
    ended_at: datetime | None = None
    outcome: str
