"""One business act that two runs ask for: the second waits for the first one's effect."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ledger_owners import BEFORE_SEND, LOST, Gated, Owner
from loops import DONE, call, contract, opened, payloads, says
from payment_account import FAST, Account

from checkrein import capability
from checkrein.compose import Parts
from checkrein.contracts.action import Guarantee
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ActionProposed, Observed
from checkrein.contracts.task import TaskContract
from checkrein.graph.reconciliation import reconcile_by_person
from checkrein.settings import Settings

S = AttemptStatus


def paying(folder: Path, amount: int = 500, **fields: Any) -> TaskContract:
    """A task that pays the invoice of acme."""
    pay = says("I pay.", call("payments.charge", amount=amount, currency="EUR", to="acme"))
    return contract(folder, [pay, DONE], capabilities=["payments.charge"], **fields)


def invoice(bank: Account, owner: Owner, **terms: Any) -> Gated:
    """payments.charge, whose act is the payee's invoice, whoever pays it; sends stand still."""
    return Gated(bank.charge(retry=FAST, verified=False, **terms), owner, "to", Counter())


async def went_on(owner: Owner, *fates: str) -> None:
    """Let an owner go on to its end."""
    for fate in fates:
        await owner.step(fate)
    while owner.place is not None:
        await owner.step()


def results(told: list[Any]) -> list[dict[str, Any]]:
    """What the model was told of its calls."""
    return [p.observation.structured_result for p in told if isinstance(p, Observed)]


@pytest.mark.shows(108, 109)
async def test_the_second_waits_and_gets_the_first_ones_receipt(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects: while one is EXECUTING the other sends nothing, and then is told the outcome."""
    paying_one, waiting_one = Owner(1), Owner(2)
    async with (
        opened(settings, invoice(bank, paying_one)) as (first, parts),
        opened(settings, invoice(bank, waiting_one)) as (second, _),
    ):
        work = asyncio.create_task(first.run(paying(tmp_path / "first")))
        await paying_one.begin(work)
        assert paying_one.place == BEFORE_SEND
        report = await second.run(paying(tmp_path / "second"))
        for _ in range(2):
            assert report.status is S.WAITING_FOR_EFFECT
            assert report.waiting_for == "another run is doing the same payments.charge"
            assert (report.effects, await bank.paid()) == ({}, 0)
            report = await second.resume(report.attempt_id)
        await went_on(paying_one)
        paid = await work
        report = await second.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
        told_first = await payloads(parts, paid.attempt_id)
    assert paid.status is report.status is S.CANDIDATE_VERIFIED
    assert (await bank.paid(), (await bank.calls())["calls"]) == (1, 1)
    assert (paid.effects, report.effects) == ({"COMMITTED": 1}, {})
    assert results(told) == results(told_first)
    kinds = Counter(p.type for p in told)
    assert (kinds["effect_pending"], kinds["action_deduplicated"]) == (1, 1)
    assert kinds["effect_executing"] == 0


@pytest.mark.shows(107)
@pytest.mark.parametrize("settled", [False, True], ids=["executing", "settled"])
async def test_other_arguments_under_the_key_are_refused(
    settled: bool, bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects: an act that is bound is never overwritten, and nothing is sent."""
    owner = Owner(1)
    async with (
        opened(settings, invoice(bank, owner)) as (first, parts),
        opened(settings, invoice(bank, Owner(2))) as (second, _),
    ):
        work = asyncio.create_task(first.run(paying(tmp_path / "first")))
        await owner.begin(work)
        if settled:
            await went_on(owner)
        report = await second.run(paying(tmp_path / "second", amount=700))
        (seen,) = [
            p.observation
            for p in await payloads(parts, report.attempt_id)
            if isinstance(p, Observed)
        ]
        assert (seen.status, await bank.paid()) == ("failed", int(settled))
        assert seen.diagnostics is not None
        assert seen.diagnostics.error_type == "key_reused_with_other_args"
        assert report.effects == {}
        await went_on(owner)
        assert (await work).effects == {"COMMITTED": 1}
    assert (await bank.paid(), (await bank.calls())["calls"]) == (1, 1)


@pytest.mark.shows(106)
async def test_two_tenants_with_one_key_make_two_effects(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects tenants from each other: the key is theirs, and so is the effect."""
    owner, other = Owner(1), Owner(2)
    async with (
        opened(settings, invoice(bank, owner)) as (first, _),
        opened(settings, invoice(bank, other)) as (second, _),
    ):
        works = [
            asyncio.create_task(first.run(paying(tmp_path / "acme", tenant="acme"))),
            asyncio.create_task(second.run(paying(tmp_path / "globex", tenant="globex"))),
        ]
        await owner.begin(works[0])
        await other.begin(works[1])
        assert owner.place == other.place == BEFORE_SEND
        await went_on(owner)
        await went_on(other)
        reports = [await work for work in works]
    assert [report.effects for report in reports] == [{"COMMITTED": 1}] * 2
    assert await bank.paid() == 2


@pytest.mark.shows(111, 119)
@pytest.mark.parametrize("outcome", ["committed", "not-applied"])
async def test_it_waits_for_as_long_as_nobody_knows(
    outcome: Any, bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects at most once: the second never sends what the first may have sent."""
    owner = Owner(1)
    once = {"guarantee": Guarantee.NONE}
    async with (
        opened(settings, invoice(bank, owner, **once)) as (first, parts),
        opened(settings, invoice(bank, Owner(2), **once)) as (second, _),
    ):
        work = asyncio.create_task(first.run(paying(tmp_path / "first")))
        await owner.begin(work)
        await went_on(owner, LOST)
        unclear = await work
        assert unclear.status is S.RECONCILE_REQUIRED
        report = await second.run(paying(tmp_path / "second"))
        for _ in range(2):
            assert report.status is S.WAITING_FOR_EFFECT
            report = await second.resume(report.attempt_id)
        await reconcile_by_person(
            parts.front_door, unclear.unsettled[0], outcome, by="bob", evidence="the bank says"
        )
        report = await second.resume(report.attempt_id)
        kinds = Counter(p.type for p in await payloads(parts, report.attempt_id))
    assert report.status is S.CANDIDATE_VERIFIED
    assert report.effects == {}
    assert kinds["effect_executing"] == 0
    assert kinds["action_deduplicated"] == (outcome == "committed")
    assert (await bank.calls())["calls"] == 0


@pytest.mark.shows(38)
@pytest.mark.parametrize("lost", [False, True], ids=["pending", "unknown"])
async def test_nothing_runs_past_an_open_effect_and_keys_stay(
    lost: bool, bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Protects: what builds on a payment waits for it, and no wait makes it another payment."""
    owner, shipped = Owner(1), list[str]()

    @capability("orders.ship")
    async def ship(order: str) -> None:
        """Ship an order."""
        shipped.append(order)

    once = {"guarantee": Guarantee.NONE}
    pay = call("payments.charge", amount=500, currency="EUR", to="acme")
    task = contract(
        tmp_path / "second",
        [says("", pay, call("orders.ship", order="o1")), DONE],
        capabilities=["payments.charge", "orders.ship"],
    )
    async with (
        opened(settings, invoice(bank, owner, **once)) as (first, parts),
        opened(settings, invoice(bank, Owner(2), **once), ship) as (second, _),
    ):
        work = asyncio.create_task(first.run(paying(tmp_path / "first")))
        await owner.begin(work)
        report = await second.run(task)
        keys = await keys_of(parts, report.attempt_id)
        if lost:
            await went_on(owner, LOST)
            unclear = await work
            assert unclear.status is S.RECONCILE_REQUIRED
        for _ in range(2):
            assert (report.status, shipped) == (S.WAITING_FOR_EFFECT, [])
            report = await second.resume(report.attempt_id)
        attempt_id = await only_owner(parts, report.attempt_id)
        (before,) = await parts.records.effects(attempt_id)
        if lost:
            await reconcile_by_person(
                parts.front_door, before.effect_id, "committed", by="bob", evidence="the bank says"
            )
        else:
            await went_on(owner)
            await work
        report = await second.resume(report.attempt_id)
        (after,) = await parts.records.effects(attempt_id)
        assert await keys_of(parts, report.attempt_id) == keys
    assert (report.status, shipped) == (S.CANDIDATE_VERIFIED, ["o1"])
    assert (before.effect_id, before.key) == (after.effect_id, after.key)
    assert keys[0] == before.key
    assert (await bank.calls())["calls"] == (0 if lost else 1)


async def keys_of(parts: Parts, attempt_id: str) -> list[str]:
    """The keys of the actions that an attempt proposed, each once, in order."""
    told = await payloads(parts, attempt_id)
    return [p.action.idempotency_key for p in told if isinstance(p, ActionProposed)]


async def only_owner(parts: Parts, other: str) -> str:
    """The one attempt beside another one."""
    (found,) = {one.attempt_id for one in await parts.records.attempts()} - {other}
    return found
