"""Budgets: each is reserved before use and settled after it, in the store."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from checkrein.contracts.codec import Frozen

MOST = 10**12
"""The largest limit: more than anybody spends, and far from the end of a 64-bit number."""

PER_MILLION = 1_000_000

ModelName = Annotated[str, Field(min_length=1, max_length=512)]
"""A model string, as the contract names a model."""


class Budget(StrEnum):
    """The budgets of an attempt. wall_time_s counts only while an owner holds the attempt.

    approvals_outstanding and children count what is open at one time: they are reserved while it
    is, and nothing of them is ever spent.
    """

    STEPS = "steps"
    MODEL_TOKENS = "model_tokens"
    WALL_TIME_S = "wall_time_s"
    TOOL_CALLS = "tool_calls"
    REPAIRS = "repairs"
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    MONEY = "money"
    HIGH_RISK_ACTIONS = "high_risk_actions"
    APPROVALS_OUTSTANDING = "approvals_outstanding"
    CHILDREN = "children"


OPEN_AT_ONCE = frozenset({Budget.APPROVALS_OUTSTANDING, Budget.CHILDREN})
"""Budgets of what is open at one time; the store itself keeps them, from what is opened."""

OF_MODEL_CALLS = (
    Budget.STEPS,
    Budget.MODEL_TOKENS,
    Budget.INPUT_TOKENS,
    Budget.OUTPUT_TOKENS,
    Budget.MONEY,
)
"""Budgets that a model call draws on."""

OF_TOOL_CALLS = (Budget.TOOL_CALLS, Budget.HIGH_RISK_ACTIONS, Budget.MONEY)
"""Budgets that a tool call draws on."""


class Price(Frozen):
    """What one model's tokens cost, in minor units, where it differs from the common price."""

    input_per_million: int = Field(ge=0, le=10**9, strict=True)
    output_per_million: int = Field(ge=0, le=10**9, strict=True)


class Money(Frozen):
    """Money: a limit, and what a model's tokens cost, all in minor units (cents) of one currency.

    What a call of a capability costs is declared with the capability.

    Attributes:
        currency: three letters, by ISO 4217.
        input_per_million, output_per_million: the price of a million tokens. Of each call the sum
            is rounded up to a whole unit.
        models: prices of models that have their own, by the name that the contract gives the model
            (a fallback, a reviewer, a judge); every other one is charged at the common price.
    """

    limit: int = Field(gt=0, le=MOST, strict=True)
    currency: str = Field(pattern=r"^[A-Z]{3}$")
    input_per_million: int = Field(ge=0, le=10**9, strict=True)
    output_per_million: int = Field(ge=0, le=10**9, strict=True)
    models: dict[ModelName, Price] = Field(default_factory=dict[ModelName, Price], max_length=64)

    def price(self, model: str, input_tokens: int, output_tokens: int) -> int:
        """What one call of a model costs, in minor units, rounded up."""
        of: Money | Price = self.models.get(model, self)
        micro = input_tokens * of.input_per_million + output_tokens * of.output_per_million
        return -(-micro // PER_MILLION)


class _Limits(Frozen):
    """Limits that hold only where they are given."""

    input_tokens: int | None = Field(default=None, gt=0, le=MOST, strict=True)
    output_tokens: int | None = Field(default=None, gt=0, le=MOST, strict=True)
    money: Money | None = None
    high_risk_actions: int | None = Field(default=None, ge=0, le=1_000_000, strict=True)
    approvals_outstanding: int | None = Field(default=None, gt=0, le=10_000, strict=True)
    children: int | None = Field(default=None, ge=0, le=10_000, strict=True)

    def amounts(self) -> dict[Budget, int]:
        """The limits that are given, as amounts."""
        given: dict[Budget, int] = {}
        for budget in Budget:
            limit: int | Money | None = getattr(self, budget)
            if limit is not None:
                given[budget] = limit.limit if isinstance(limit, Money) else limit
        return given


class BudgetLimits(_Limits):
    """The most that one attempt may use. Turns, tokens, seconds, calls, repair rounds.

    high_risk_actions counts sends of what cannot be undone. approvals_outstanding is the most
    requests that may wait for people at one time, and children the most child tasks that may run
    at one time. What has no limit is not counted.
    """

    steps: int = Field(default=30, gt=0, le=1_000_000, strict=True)
    model_tokens: int = Field(default=120_000, gt=0, le=MOST, strict=True)
    wall_time_s: int = Field(default=900, gt=0, le=10**9, strict=True)
    tool_calls: int = Field(default=60, gt=0, le=1_000_000, strict=True)
    repairs: int = Field(default=2, ge=0, le=1_000, strict=True)


class SharedLimits(_Limits):
    """The most that all attempts of a task may use together, those of its children included."""

    steps: int | None = Field(default=None, gt=0, le=1_000_000, strict=True)
    model_tokens: int | None = Field(default=None, gt=0, le=MOST, strict=True)
    wall_time_s: int | None = Field(default=None, gt=0, le=10**9, strict=True)
    tool_calls: int | None = Field(default=None, gt=0, le=1_000_000, strict=True)
    repairs: int | None = Field(default=None, ge=0, le=1_000, strict=True)


class BudgetLine(Frozen):
    """One budget as it stands: limit, spent and reserved, in the budget's own unit.

    Attributes:
        pool: whose budget it is, where it is not the attempt's own: that of its task, or of the
            attempt that it is a child of.
    """

    limit: int
    spent: int = 0
    reserved: int = 0
    pool: str | None = None

    @property
    def left(self) -> int:
        """What may still be reserved."""
        return max(0, self.limit - self.spent - self.reserved)

    @property
    def used(self) -> int:
        """What is spent or set aside."""
        return self.spent + self.reserved


class NearLimit(Frozen):
    """A budget of which little is left: at least four fifths are spent or set aside.

    Attributes:
        warned: whether that is on record since the limit was last raised.
    """

    budget: Budget
    pool: str
    limit: int
    used: int
    warned: bool = False


class BookLine(Frozen):
    """One budget of one pool, with what the attempts that draw on it have used.

    Attributes:
        drawn, held: what those attempts have spent and hold reserved by their own records.
    """

    pool: str
    kind: str
    budget: Budget
    limit: int
    spent: int
    reserved: int
    warned: bool
    drawn: int
    held: int

    @property
    def balances(self) -> bool:
        """Whether the pool's books say what the records of its attempts add up to."""
        return (self.spent, self.reserved) == (self.drawn, self.held)


def priced(*limits: _Limits | None) -> Money | None:
    """The prices that model calls are charged by: the first that is given."""
    return next((one.money for one in limits if one is not None and one.money is not None), None)


def written(amounts: Mapping[Budget, int]) -> str:
    """Amounts for people: 3 steps, 1200 model_tokens."""
    return ", ".join(f"{amount} {name}" for name, amount in amounts.items() if amount)
