"""Any interleaving of attempts that share pools: the database refuses what a plain count refuses.

A parent with shared limits, two children and a grandchild reserve and settle by dice. The seed
repeats a walk.
"""

import random
from collections import Counter

import pytest
from databases import fresh_database
from open_store import OpenStore, opened_store

from checkrein.contracts.budget import Budget, BudgetLimits, SharedLimits
from checkrein.contracts.event import BudgetReserved, BudgetSettled
from checkrein.errors import BudgetExceededError
from checkrein.testing.conformance.story import contract_of

CALLS, TOKENS = Budget.TOOL_CALLS, Budget.MODEL_TOKENS
SEEDS, STEPS = 4, 120


class Family:
    """Four attempts, and what a plain count says of their pools."""

    def __init__(self, store: OpenStore, dice: random.Random) -> None:
        self.store, self.dice = store, dice
        self.pools: dict[str, list[str]] = {}
        self.limits: dict[tuple[str, Budget], int] = {}
        self.spent: Counter[tuple[str, Budget]] = Counter()
        self.held: Counter[tuple[str, Budget]] = Counter()
        self.own: Counter[tuple[str, Budget]] = Counter()
        self.fences: dict[str, int] = {}

    async def add(self, parent: str | None) -> str:
        """One more attempt, with limits by dice."""
        limits = {CALLS: self.dice.randint(3, 30), TOKENS: self.dice.randint(30, 300)}
        contract = contract_of(budgets=BudgetLimits.model_validate(limits))
        if parent is None:
            shared = SharedLimits(tool_calls=self.dice.randint(3, 40))
            contract = contract.model_copy(update={"shared_budgets": shared})
        attempt_id = await self.store.begun(contract, parent=parent)
        task_id = (await self.store.records.position(attempt_id)).attempt.task_id
        self.pools[attempt_id] = [attempt_id, *self.pools.get(parent or "", [])]
        self.limits |= {(attempt_id, budget): limit for budget, limit in limits.items()}
        if contract.shared_budgets is not None:
            self.pools[attempt_id].append(task_id)
            self.limits[task_id, CALLS] = contract.shared_budgets.amounts()[CALLS]
        self.fences[attempt_id] = await self.store.fence(attempt_id)
        return attempt_id

    async def step(self) -> None:
        """Reserve, or settle some of what is held, as one of them."""
        attempt_id = self.dice.choice(list(self.pools))
        budget, amount = self.dice.choice([(CALLS, 4), (TOKENS, 40)])
        mine = self.own[attempt_id, budget]
        if mine and self.dice.random() < 0.5:
            released = self.dice.randint(1, mine)
            await self._settle(attempt_id, budget, released, self.dice.randint(0, released))
        else:
            await self._reserve(attempt_id, budget, self.dice.randint(1, amount))

    async def _reserve(self, attempt_id: str, budget: Budget, amount: int) -> None:
        lines = [(pool, budget) for pool in self.pools[attempt_id]]
        fits = all(
            self.spent[line] + self.held[line] + amount <= self.limits[line]
            for line in lines
            if line in self.limits
        )
        event = BudgetReserved(turn=1, amounts={budget: amount})
        if not fits:
            with pytest.raises(BudgetExceededError):
                await self.store.append(attempt_id, [event], self.fences[attempt_id])
            return
        await self.store.append(attempt_id, [event], self.fences[attempt_id])
        self.own[attempt_id, budget] += amount
        self.held.update(dict.fromkeys(lines, amount))

    async def _settle(self, attempt_id: str, budget: Budget, released: int, spent: int) -> None:
        event = BudgetSettled(turn=1, released={budget: released}, spent={budget: spent})
        await self.store.append(attempt_id, [event], self.fences[attempt_id])
        self.own[attempt_id, budget] -= released
        for pool in self.pools[attempt_id]:
            self.held[pool, budget] -= released
            self.spent[pool, budget] += spent

    async def agrees(self) -> None:
        """Every pool, as every attempt sees it, is what the count says."""
        for attempt_id in self.pools:
            for line in await self.store.records.books(attempt_id):
                assert line.balances
                if line.budget in {CALLS, TOKENS}:
                    counted = (line.pool, line.budget)
                    assert (line.spent, line.reserved) == (
                        self.spent[counted],
                        self.held[counted],
                    )


@pytest.mark.shows(191, 202)
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_the_database_and_a_plain_count_agree(seed: int, server_url: str) -> None:
    with fresh_database(server_url) as url:
        async with opened_store(url, size=2) as store:
            family = Family(store, random.Random(seed))
            parent = await family.add(None)
            child, _ = await family.add(parent), await family.add(parent)
            await family.add(child)
            for _ in range(STEPS):
                await family.step()
            await family.agrees()
