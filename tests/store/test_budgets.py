"""Budgets: reserved before use, settled after it, and never below nothing or past their limit."""

import asyncio

import pytest
from open_store import OpenStore

from checkrein.contracts.budget import Budget, BudgetLimits, BudgetLine
from checkrein.contracts.event import BudgetReserved, BudgetSettled, PauseRequested, Payload
from checkrein.errors import BudgetExceededError, CheckreinError
from checkrein.testing.conformance.story import contract_of

CALLS = Budget.TOOL_CALLS
TOKENS = Budget.MODEL_TOKENS
LIMITS = BudgetLimits(tool_calls=10, model_tokens=1000, steps=5, wall_time_s=7, repairs=0)


def reserve(**amounts: int) -> BudgetReserved:
    return BudgetReserved(turn=1, amounts={Budget(name): n for name, n in amounts.items()})


def settle(released: dict[Budget, int], spent: dict[Budget, int]) -> BudgetSettled:
    return BudgetSettled(turn=1, released=released, spent=spent)


async def line(store: OpenStore, attempt_id: str, budget: Budget = CALLS) -> BudgetLine:
    return (await store.records.position(attempt_id)).budgets[budget]


async def limited(store: OpenStore) -> tuple[str, int]:
    attempt_id = await store.begun(contract_of(budgets=LIMITS))
    return attempt_id, await store.fence(attempt_id)


async def test_limits_are_those_of_the_contract(store: OpenStore) -> None:
    attempt_id, _ = await limited(store)
    found = (await store.records.position(attempt_id)).budgets
    assert {name: entry.limit for name, entry in found.items()} == LIMITS.amounts()


async def test_reserving_and_settling_add_up(store: OpenStore) -> None:
    attempt_id, fence = await limited(store)
    await store.append(attempt_id, [reserve(tool_calls=4)], fence)
    assert await line(store, attempt_id) == BudgetLine(limit=10, spent=0, reserved=4)
    await store.append(attempt_id, [settle({CALLS: 3}, {CALLS: 2})], fence)
    assert await line(store, attempt_id) == BudgetLine(limit=10, spent=2, reserved=1)
    await store.append(attempt_id, [settle({CALLS: 1}, {}), settle({}, {CALLS: 1})], fence)
    found = await line(store, attempt_id)
    assert (found, found.left) == (BudgetLine(limit=10, spent=3, reserved=0), 7)
    await store.append(attempt_id, [reserve(tool_calls=7)], fence)
    assert (await line(store, attempt_id)).left == 0


async def test_a_reservation_that_does_not_fit_takes_everything_along(store: OpenStore) -> None:
    attempt_id, fence = await limited(store)
    await store.append(attempt_id, [settle({}, {CALLS: 8})], fence)
    refusals: list[list[Payload]] = [
        [reserve(tool_calls=3)],
        [reserve(model_tokens=10, tool_calls=3)],
        [reserve(tool_calls=2), PauseRequested(by="me"), reserve(tool_calls=1)],
        [reserve(repairs=1)],
    ]
    for bad in refusals:
        with pytest.raises(BudgetExceededError) as refused:
            await store.append(attempt_id, bad, fence)
        assert refused.value.context["detail"] in {"tool_calls", "repairs"}
    assert await line(store, attempt_id) == BudgetLine(limit=10, spent=8, reserved=0)
    assert (await line(store, attempt_id, TOKENS)).reserved == 0
    assert len(await store.events.read(attempt_id)) == 3
    await store.append(attempt_id, [reserve(tool_calls=2)], fence)


async def test_what_was_used_is_booked_even_past_the_limit(store: OpenStore) -> None:
    """A model may use more than was set aside; that is a fact, and nothing is left after it."""
    attempt_id, fence = await limited(store)
    await store.append(attempt_id, [reserve(model_tokens=900)], fence)
    await store.append(attempt_id, [settle({TOKENS: 900}, {TOKENS: 1200})], fence)
    found = await line(store, attempt_id, TOKENS)
    assert (found, found.left) == (BudgetLine(limit=1000, spent=1200, reserved=0), 0)
    with pytest.raises(BudgetExceededError):
        await store.append(attempt_id, [reserve(model_tokens=1)], fence)


async def test_no_column_ever_falls_below_nothing(store: OpenStore) -> None:
    attempt_id, fence = await limited(store)
    await store.append(attempt_id, [reserve(tool_calls=2)], fence)
    for bad in (
        settle({CALLS: 3}, {}),
        settle({}, {CALLS: -1}),
        reserve(tool_calls=-3),
    ):
        with pytest.raises(CheckreinError):
            await store.append(attempt_id, [bad], fence)
    assert await line(store, attempt_id) == BudgetLine(limit=10, spent=0, reserved=2)


@pytest.mark.parametrize("size", [2, 5])
async def test_of_many_reservations_at_once_only_those_that_fit_are_made(
    size: int, store: OpenStore
) -> None:
    attempt_id, fence = await limited(store)

    async def reserved() -> bool:
        try:
            await store.append(attempt_id, [reserve(tool_calls=size)], fence)
        except BudgetExceededError:
            return False
        return True

    made = await asyncio.gather(*(reserved() for _ in range(12)))
    assert made.count(True) == 10 // size
    assert (await line(store, attempt_id)).reserved == 10


async def test_attempts_do_not_share_their_budgets(store: OpenStore) -> None:
    first, fence = await limited(store)
    second, _ = await limited(store)
    await store.append(first, [reserve(tool_calls=10)], fence)
    assert (await line(store, second)).left == 10
