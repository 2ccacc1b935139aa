"""Budgets: each is reserved before use and settled after it, in the store."""

from enum import StrEnum

from pydantic import Field

from checkrein.contracts.codec import Frozen


class Budget(StrEnum):
    """The budgets of an attempt. wall_time_s counts only while an owner holds the attempt."""

    STEPS = "steps"
    MODEL_TOKENS = "model_tokens"
    WALL_TIME_S = "wall_time_s"
    TOOL_CALLS = "tool_calls"
    REPAIRS = "repairs"


class BudgetLimits(Frozen):
    """The most that one attempt may use. Turns, tokens, seconds, calls, repair rounds."""

    steps: int = Field(default=30, gt=0, le=1_000_000, strict=True)
    model_tokens: int = Field(default=120_000, gt=0, le=10**12, strict=True)
    wall_time_s: int = Field(default=900, gt=0, le=10**9, strict=True)
    tool_calls: int = Field(default=60, gt=0, le=1_000_000, strict=True)
    repairs: int = Field(default=2, ge=0, le=1_000, strict=True)


class BudgetLine(Frozen):
    """One budget as it stands: limit, spent and reserved, in the budget's own unit."""

    limit: int
    spent: int = 0
    reserved: int = 0

    @property
    def left(self) -> int:
        """What may still be reserved."""
        return max(0, self.limit - self.spent - self.reserved)
