"""What a model call and a tool call draw on: the worst case before it, and what it came to."""

from collections.abc import Mapping
from typing import NamedTuple

from checkrein.contracts.action import SideEffect
from checkrein.contracts.budget import OF_MODEL_CALLS, OF_TOOL_CALLS, Budget
from checkrein.contracts.event import BudgetReserved, BudgetSettled, Payload
from checkrein.contracts.proposal import Usage
from checkrein.contracts.task import TaskContract
from checkrein.ports.capability import CapabilitySpec
from checkrein.ports.records import Position


def of_model(
    contract: TaskContract, position: Position, model: str, usage: Usage
) -> dict[Budget, int]:
    """What a call of a model with so many tokens comes to, in the budgets that limit this attempt.

    `model`: its name in the contract, by which it has its price.
    """
    prices = contract.prices
    amounts = {
        Budget.STEPS: 1,
        Budget.MODEL_TOKENS: usage.total,
        Budget.INPUT_TOKENS: usage.input_tokens,
        Budget.OUTPUT_TOKENS: usage.output_tokens,
        Budget.MONEY: 0
        if prices is None
        else prices.price(model, usage.input_tokens, usage.output_tokens),
    }
    return _limited(position, amounts)


def of_advice(
    contract: TaskContract, position: Position, model: str, usage: Usage
) -> dict[Budget, int]:
    """What a call of a reviewer or judge comes to: all that a turn's call does, but no step."""
    amounts = of_model(contract, position, model, usage)
    return {budget: amount for budget, amount in amounts.items() if budget is not Budget.STEPS}


def lost(turn: int, held: Mapping[Budget, int]) -> list[Payload]:
    """Settle a call whose answer was never stored: it may have been paid, so at the worst case.

    It was no step: the turn has its call still before it.
    """
    mine = {budget: held[budget] for budget in OF_MODEL_CALLS if held.get(budget)}
    spent = {budget: 0 if budget is Budget.STEPS else amount for budget, amount in mine.items()}
    return [BudgetSettled(turn=turn, released=mine, spent=spent)] if mine else []


class CallCost(NamedTuple):
    """What one tool call draws on: with every send of it, and once."""

    each: dict[Budget, int]
    once: dict[Budget, int]

    def first(self, turn: int) -> BudgetReserved:
        """Set aside what the first send needs."""
        return BudgetReserved(turn=turn, amounts=self._of(1))

    def again(self, turn: int) -> BudgetReserved:
        """Set aside what one more send needs."""
        return BudgetReserved(turn=turn, amounts=self.each)

    def settled(self, turn: int, sends: int) -> BudgetSettled:
        """Book a call that took so many sends: each of them was made."""
        amounts = self._of(sends)
        return BudgetSettled(turn=turn, released=amounts, spent=amounts)

    def repeats(self, turn: int, sends: int) -> BudgetSettled:
        """Book so many sends of a former owner, and keep what was set aside once."""
        amounts = {budget: amount * sends for budget, amount in self.each.items()}
        return BudgetSettled(turn=turn, released=amounts, spent=amounts)

    def _of(self, sends: int) -> dict[Budget, int]:
        return {budget: amount * sends for budget, amount in self.each.items()} | self.once


def of_call(position: Position, spec: CapabilitySpec) -> CallCost:
    """What a call of this capability draws on, in the budgets that limit this attempt."""
    risky = int(spec.side_effect is SideEffect.IRREVERSIBLE)
    each = {Budget.TOOL_CALLS: 1, Budget.MONEY: spec.cost}
    return CallCost(_limited(position, each), _limited(position, {Budget.HIGH_RISK_ACTIONS: risky}))


def booked(position: Position, turn: int) -> list[Payload]:
    """Book tool calls that were reserved and not settled, at their worst case: they were made."""
    held = {budget: position.held[budget] for budget in OF_TOOL_CALLS if position.held.get(budget)}
    return [BudgetSettled(turn=turn, released=held, spent=held)] if held else []


def _limited(position: Position, amounts: Mapping[Budget, int]) -> dict[Budget, int]:
    return {name: n for name, n in amounts.items() if n and name in position.budgets}
