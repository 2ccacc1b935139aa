"""How far a person's yes reaches: one action, the same again in this task, or a bounded class."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from checkrein.contracts.codec import Frozen

MAX_USES = 1_000
"""Most actions that one permission is good for."""


class Scope(StrEnum):
    """What a yes is for.

    Attributes:
        ONCE: this action alone.
        TASK: this action, and the same again while the task lasts.
        CLASS: actions of the same capability whose arguments lie within stated bounds.
    """

    ONCE = "once"
    TASK = "task"
    CLASS = "class"


class Bound(Frozen):
    """What one argument may be, in one of three ways. Checked by the policy, in Rego.

    Attributes:
        at_least, at_most: a range of numbers, both ends included.
        one_of: the values that it may have.
        below: the segments of a workspace path that it must lie below, once every link is followed.
    """

    at_least: int | None = None
    at_most: int | None = None
    one_of: list[str | int | bool] | None = Field(default=None, min_length=1, max_length=64)
    below: list[str] | None = Field(default=None, min_length=1, max_length=64)

    @model_validator(mode="after")
    def _one_way(self) -> "Bound":
        ranged = (self.at_least is not None) + (self.at_most is not None)
        ways = [ranged > 0, self.one_of is not None, self.below is not None]
        if sum(ways) != 1 or ranged == 1:
            raise ValueError("a bound is a range with both ends, one_of, or below, and one of them")
        if ranged and self.at_least > self.at_most:  # type: ignore[operator] # both are there
            raise ValueError("at_least is larger than at_most")
        return self


class Reach(Frozen):
    """How far a yes reaches beyond the action that was asked about.

    Attributes:
        bounds: with CLASS, by argument; an argument without one must be as it was approved.
        uses: how many actions it is good for, besides the one that was asked about.
        lasts_s: for how long, in seconds from the yes on; at most 30 days.
    """

    scope: Scope = Scope.ONCE
    bounds: dict[str, Bound] = Field(default_factory=dict[str, Bound], max_length=64)
    uses: int = Field(default=10, ge=1, le=MAX_USES)
    lasts_s: int = Field(default=28_800, ge=60, le=2_592_000)

    @model_validator(mode="after")
    def _consistent(self) -> "Reach":
        if bool(self.bounds) != (self.scope is Scope.CLASS):
            raise ValueError("bounds go with the scope class, and it needs at least one")
        return self


class Permission(Frozen):
    """A yes that stands: for more than the one action. Its id is that of the approval.

    Attributes:
        capability: with its version; another version is another capability.
        args, bounds: what was approved, and how far the arguments may differ from it.
        constraints: the limits under which it was approved; under others it does not hold.
        uses_left, expires_at: what is left of it.
    """

    permission_id: str
    capability: str
    args: dict[str, Any]
    bounds: dict[str, Bound] = Field(default_factory=dict[str, Bound])
    constraints: dict[str, Any] = Field(default_factory=dict[str, Any])
    scope: Scope
    given_by: str
    authenticated: bool = False
    uses_left: int = Field(ge=0)
    expires_at: datetime
