"""Pools: what several attempts draw on together is never overspent, whoever is faster."""

import asyncio
import random
from collections import Counter

import pytest
from open_store import OpenStore, opened_store

from checkrein.contracts import ids
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget, BudgetLimits, Money, SharedLimits
from checkrein.contracts.event import (
    AttemptEnded,
    AttemptStarted,
    BudgetReserved,
    BudgetSettled,
    CancelRequested,
    Payload,
    TaskCreated,
)
from checkrein.contracts.task import Risk, TaskContract
from checkrein.errors import BudgetExceededError, CheckreinError, ConflictError, InputError
from checkrein.testing.conformance.story import contract_of, opening

CALLS, TOKENS, CHILDREN = Budget.TOOL_CALLS, Budget.MODEL_TOKENS, Budget.CHILDREN
EUROS = Money(limit=1_000, currency="EUR", input_per_million=300, output_per_million=1_500)
ENDED = AttemptEnded(status=AttemptStatus.FAILED)


def sharing(**limits: int) -> TaskContract:
    return contract_of().model_copy(update={"shared_budgets": SharedLimits.model_validate(limits)})


def reserve(**amounts: int) -> BudgetReserved:
    return BudgetReserved(turn=1, amounts={Budget(name): n for name, n in amounts.items()})


def settle(budget: Budget, released: int, spent: int) -> BudgetSettled:
    return BudgetSettled(turn=1, released={budget: released}, spent={budget: spent})


async def task_of(store: OpenStore, attempt_id: str) -> str:
    return (await store.records.position(attempt_id)).attempt.task_id


async def attempts(store: OpenStore, contract: TaskContract, count: int) -> list[str]:
    first = await store.begun(contract)
    task_id = await task_of(store, first)
    return [first] + [
        await store.begun(contract, task_id=task_id, number=n) for n in range(2, count + 1)
    ]


async def booked(store: OpenStore, attempt_id: str, pool: str, budget: Budget) -> tuple[int, int]:
    """Spent and reserved of one budget, once every line was found to balance."""
    lines = await store.records.books(attempt_id)
    assert all(line.balances for line in lines), lines
    (found,) = [line for line in lines if line.pool == pool and line.budget is budget]
    return found.spent, found.reserved


@pytest.mark.shows(191)
async def test_ten_attempts_at_once_never_spend_over_their_shared_budget(store: OpenStore) -> None:
    """Ten owners, each over a connection of its own, on 100 calls and 1000 tokens together."""
    ids = await attempts(store, sharing(tool_calls=100, model_tokens=1_000), 10)
    fences = [await store.fence(attempt_id) for attempt_id in ids]
    most = 0

    async def works(attempt_id: str, fence: int, seed: int) -> Counter[str]:
        nonlocal most
        dice, used = random.Random(seed), Counter[str]()
        async with opened_store(store.database.login, size=1) as own:
            for _ in range(30):
                calls, tokens = dice.randint(1, 3), dice.randint(1, 40)
                try:
                    # In two events of either order, so that two owners could wait in a ring.
                    both: list[Payload] = [reserve(tool_calls=calls), reserve(model_tokens=tokens)]
                    dice.shuffle(both)
                    await own.append(attempt_id, both, fence)
                except BudgetExceededError:
                    continue
                line = (await own.records.position(attempt_id)).budgets[CALLS]
                most = max(most, line.used)
                kept = dice.randint(0, calls)
                both = [settle(CALLS, calls, kept), settle(TOKENS, tokens, tokens)]
                await own.append(attempt_id, both, fence)
                used.update(tool_calls=kept, model_tokens=tokens)
        return used

    used = sum(await asyncio.gather(*map(works, ids, fences, range(10))), Counter[str]())
    task_id = await task_of(store, ids[0])
    assert await booked(store, ids[0], task_id, CALLS) == (used["tool_calls"], 0)
    assert await booked(store, ids[0], task_id, TOKENS) == (used["model_tokens"], 0)
    assert used["tool_calls"] <= most <= 100
    assert 900 < used["model_tokens"] <= 1_000, "the budget was the limit, and was used"


@pytest.mark.shows(202)
async def test_a_child_may_spend_no_more_than_its_parent_has_left(store: OpenStore) -> None:
    parent = await store.begun(contract_of(budgets=BudgetLimits(tool_calls=10)))
    owner = await store.fence(parent)
    child = await store.begun(contract_of(budgets=BudgetLimits(tool_calls=50)), parent=parent)
    fence = await store.fence(child)
    await store.append(parent, [reserve(tool_calls=4)], owner)
    with pytest.raises(BudgetExceededError) as refused:
        await store.append(child, [reserve(tool_calls=7)], fence)
    assert parent in str(refused.value)
    await store.append(child, [reserve(tool_calls=6)], fence)
    with pytest.raises(BudgetExceededError):
        await store.append(parent, [reserve(tool_calls=1)], owner)
    position = await store.records.position(parent)
    assert position.held == {CALLS: 4}, "the parent holds only what it reserved itself"
    assert position.budgets[CALLS].left == 0
    line = (await store.records.position(child)).budgets[CALLS]
    assert (line.pool, line.limit, line.left) == (parent, 10, 0), "the tightest one binds"
    assert await booked(store, child, child, CALLS) == (0, 6)
    assert await booked(store, child, parent, CALLS) == (0, 10)


async def test_nobody_releases_what_another_holds(store: OpenStore) -> None:
    first, second = await attempts(store, sharing(tool_calls=10), 2)
    await store.append(first, [reserve(tool_calls=5)], await store.fence(first))
    with pytest.raises(CheckreinError):
        await store.append(second, [settle(CALLS, 1, 0)], await store.fence(second))
    assert await booked(store, first, await task_of(store, first), CALLS) == (0, 5)


@pytest.mark.shows(192, 202)
async def test_children_at_one_time_are_limited_and_an_end_makes_room(store: OpenStore) -> None:
    parent = await store.begun(contract_of(budgets=BudgetLimits(children=2)))
    first, second = [await store.begun(parent=parent) for _ in range(2)]
    with pytest.raises(BudgetExceededError):
        await store.begun(parent=parent)
    assert await booked(store, parent, parent, CHILDREN) == (0, 2)
    await store.append(first, [ENDED], await store.fence(first))
    third = await store.begun(parent=parent)
    assert await booked(store, parent, parent, CHILDREN) == (0, 2)
    for child in (second, third):
        await store.append(child, [ENDED], await store.fence(child))
    assert await booked(store, parent, parent, CHILDREN) == (0, 0)
    assert (await store.records.task(await task_of(store, third))).parent == parent


async def test_a_grandchild_counts_in_every_pool_above_it(store: OpenStore) -> None:
    parent = await store.begun(sharing(tool_calls=10))
    child = await store.begun(parent=parent)
    grandchild = await store.begun(parent=child)
    await store.append(grandchild, [reserve(tool_calls=9)], await store.fence(grandchild))
    task_id = await task_of(store, parent)
    for pool in (grandchild, child, parent, task_id):
        assert await booked(store, grandchild, pool, CALLS) == (0, 9)
    with pytest.raises(BudgetExceededError):
        await store.append(parent, [reserve(tool_calls=2)], await store.fence(parent))


async def test_a_child_that_may_not_begin_leaves_no_rows(store: OpenStore) -> None:
    ended = await store.begun()
    await store.append(ended, [ENDED], await store.fence(ended))
    cancelled = await store.begun()
    await store.events.append(cancelled, [CancelRequested(by="bob", reason="enough")], fence=None)
    other = await store.begun(contract_of(tenant="other"))
    paid = await store.begun(contract_of(budgets=BudgetLimits(money=EUROS)))
    before = await store.value("SELECT count(*) FROM checkrein.attempts")
    for parent, fault in (
        (ended, ConflictError),
        (cancelled, ConflictError),
        (other, InputError),
        ("nobody", InputError),
        (paid, ConflictError),  # a child whose money would not be counted
    ):
        with pytest.raises(fault):
            await store.begun(parent=parent)
    dollars = EUROS.model_copy(update={"currency": "USD"})
    with pytest.raises(ConflictError):
        await store.begun(contract_of(budgets=BudgetLimits(money=dollars)), parent=paid)
    assert await store.value("SELECT count(*) FROM checkrein.attempts") == before
    await store.begun(contract_of(budgets=BudgetLimits(money=EUROS)), parent=paid)


async def test_the_end_of_an_attempt_spends_what_it_still_holds(store: OpenStore) -> None:
    """A crash between reserve and settle is never settled at nothing."""
    first, second = await attempts(store, sharing(tool_calls=10), 2)
    await store.append(first, [reserve(tool_calls=4), ENDED], await store.fence(first))
    task_id = await task_of(store, first)
    assert await booked(store, second, task_id, CALLS) == (4, 0)
    assert await booked(store, first, first, CALLS) == (4, 0)


async def test_what_is_open_at_one_time_is_the_stores_own_to_book(store: OpenStore) -> None:
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    for budget in ("children", "approvals_outstanding"):
        with pytest.raises(ConflictError):
            await store.append(attempt_id, [reserve(**{budget: 1})], fence)


async def test_the_time_of_a_pool_is_that_of_all_its_attempts(store: OpenStore) -> None:
    first, second = await attempts(store, sharing(wall_time_s=100), 2)
    for attempt_id, held in ((first, "70 seconds"), (second, "20 seconds")):
        await store.by_owner(
            "UPDATE checkrein.attempts SET held = %s::interval WHERE attempt_id = %s",
            held,
            attempt_id,
        )
    line = (await store.records.position(first)).budgets[Budget.WALL_TIME_S]
    assert (line.limit, line.spent) == (100, 90)
    (near,) = (await store.records.position(second)).near
    assert (near.budget, near.used) == (Budget.WALL_TIME_S, 90)


@pytest.mark.parametrize("what", ["contract", "budgets", "parent", "no parent"])
async def test_an_attempt_has_what_its_task_has(store: OpenStore, what: str) -> None:
    """Protects: no program begins an attempt under another contract or limit than its task's."""
    parent = await store.begun(sharing(tool_calls=10))
    contract = contract_of(budgets=BudgetLimits(steps=3))
    mine = parent if what == "no parent" else None
    attempt_id = ids.new_attempt_id()
    created, started = opening(attempt_id, contract=contract, parent=mine)
    assert isinstance(started, AttemptStarted)
    more = BudgetLimits(steps=4)
    changes: dict[str, dict[str, object]] = {
        "contract": {"contract": contract_of(budgets=more).model_dump(mode="json")},
        "budgets": {"budgets": more},
        "parent": {"attempt": started.attempt.model_copy(update={"parent": parent})},
        "no parent": {"attempt": started.attempt.model_copy(update={"parent": None})},
    }
    with pytest.raises(ConflictError) as refused:
        await store.events.start([created, started.model_copy(update=changes[what])])
    assert refused.value.code == "illegal_transition"
    await store.events.start([created, started])


async def test_a_task_has_what_its_contract_has(store: OpenStore) -> None:
    """Protects: who asked, who commits and what it may use cannot differ from the contract."""
    for field, value in {
        "requested_by": "eve",
        "commit_authority": "eve",
        "risk": Risk.HIGH,
        "tenant": "other",
        "budget": BudgetLimits(steps=99),
    }.items():
        created, started = opening(ids.new_attempt_id())
        assert isinstance(created, TaskCreated)
        forged = created.model_copy(update={"task": created.task.model_copy(update={field: value})})
        with pytest.raises(ConflictError, match="not that of its contract"):
            await store.events.start([forged, started])
