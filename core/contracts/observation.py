"""An observation: what the model is told about one of its calls."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.codec import Frozen
from checkrein.contracts.context import Trust


class ObservationStatus(StrEnum):
    """How a call ended, as the model sees it. NO_CHANGE: it is so already; nothing was sent."""

    OK = "ok"
    NO_CHANGE = "no_change"
    FAILED = "failed"
    INVALID = "invalid"
    DENIED = "denied"
    REJECTED = "rejected"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class Diagnostics(Frozen):
    """Why a call did not do what was asked. Code decides by these fields, never by wording.

    Attributes:
        alternatives: after a denial, what is granted besides and nobody took back.
    """

    error_type: str
    retryable: bool = False
    effect_possible: bool = False
    advice: str = ""
    alternatives: list[str] | None = None


class Observation(Frozen):
    """The one result of one call. Bounded; the whole result stays readable by original_ref.

    Attributes:
        action_id: the call's derived id, also where no action came of it.
        effect_id: the committed effect, by which a compensating capability names it.
        private: whether the result is private data.
        environment_revision: version of what the capability names, right after it ran.
        trust: how far the text in the result may be believed.
        edited_by, edited_args: who changed the call before it ran, and what was called instead, so
            that the model does not take the result for that of its own call.
    """

    schema_version: Literal[1] = 1
    action_id: str
    turn: int
    position: int
    call_id: str
    name: str
    status: ObservationStatus
    structured_result: dict[str, Any] = Field(default_factory=dict[str, Any])
    artifact_refs: list[str] = Field(default_factory=list[str])
    diagnostics: Diagnostics | None = None
    effect_id: str | None = None
    private: Literal[True] | None = None
    environment_revision: str = ""
    trust: Trust = Trust.TOOL
    edited_by: str | None = None
    edited_args: dict[str, Any] | None = None
    truncated: bool = False
    original_ref: str | None = None
