"""A payment by HTTP: one effect for a key, whatever happens to the answer."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from payment_account import (
    ARGS,
    COMMITTED,
    HASH,
    REFUSED,
    UNKNOWN,
    Account,
    effect_of,
    new_permit,
    owner,
    sent,
)

from checkrein.adapters.payment_target import payments, refunds
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.errors import CapabilityError
from checkrein.ports.capability import Capability, Verifies
from checkrein.testing.payment_server.process import running, started


@pytest.mark.shows(118)
async def test_fifty_sends_of_one_key_make_one_payment(account: Account) -> None:
    """Protects from paying twice: the key goes into the system that owns the effect."""
    async with account.charge(timeout_s=60) as target:
        permit = new_permit()
        outcomes = await asyncio.gather(*(sent(target, permit) for _ in range(50)))
        assert {outcome.status for outcome in outcomes} == {COMMITTED}
        assert len({outcome.result["id"] for outcome in outcomes}) == 1
        assert await account.paid() == 1
        assert await account.calls() == {"calls": 50, "with_key": 50, "lookups": 0}
        found = await target.lookup(effect_of(permit))
        assert found is not None
        assert (found.status, found.result) == (COMMITTED, outcomes[0].result)


async def test_without_a_guarantee_no_key_is_sent(account: Account) -> None:
    """Protects the declaration none: nothing hints at a promise that the target does not make."""
    async with account.charge(guarantee=Guarantee.NONE, lookup=Lookup.NONE) as target:
        permit = new_permit()
        assert [(await sent(target, permit)).status for _ in range(2)] == [COMMITTED, COMMITTED]
        assert await account.paid() == 2
        assert await target.lookup(effect_of(permit)) is None
        assert await account.calls() == {"calls": 2, "with_key": 0, "lookups": 0}


async def test_a_reference_can_be_looked_up_and_protects_nothing(account: Account) -> None:
    """Protects the case of a target that can be asked, and still pays twice."""
    async with account.charge(guarantee=Guarantee.NONE) as target:
        permit = new_permit()
        assert await target.lookup(effect_of(permit)) is None
        await sent(target, permit)
        found = await target.lookup(effect_of(permit))
        assert found is not None
        assert found.status is COMMITTED
        await sent(target, permit)
        assert await account.paid() == 2


async def test_a_payment_whose_answer_was_lost_is_found_and_not_repeated(account: Account) -> None:
    """Protects from the classic: time-out, and the money is gone all the same."""
    await account.faults(next=["late:5"])
    async with account.charge(timeout_s=0.6) as target:
        permit = new_permit()
        assert (await sent(target, permit)).error_type == "timed_out"
        found = await target.lookup(effect_of(permit))
        assert found is not None
        assert found.status is COMMITTED
        assert (await sent(target, permit)).result == found.result
    assert await account.paid() == 1


async def test_absence_proves_nothing_of_a_request_on_its_way(account: Account) -> None:
    """Protects the reading of None: the payment arrives after the lookup that missed it."""
    await account.faults(next=["delayed_commit:0.8"])
    async with account.charge(timeout_s=0.4) as target:
        permit = new_permit()
        assert (await sent(target, permit)).status is UNKNOWN
        assert await target.lookup(effect_of(permit)) is None
        await asyncio.sleep(0.9)
        found = await target.lookup(effect_of(permit))
    assert found is not None
    assert found.status is COMMITTED


@pytest.mark.parametrize(
    ("args", "operation_hash"), [({**ARGS, "amount": 501}, HASH), (ARGS, "sha256:other")]
)
async def test_a_key_with_other_arguments_is_refused(
    args: dict[str, Any], operation_hash: str, account: Account
) -> None:
    """Protects the binding of a key to its operation."""
    async with account.charge() as target:
        permit = new_permit()
        await sent(target, permit)
        other = new_permit(permit.effect_id, operation_hash)
        outcome = await sent(target, other, args)
        assert outcome.status is REFUSED
        assert outcome.error_type == "key_reused_with_other_args"
        if operation_hash != HASH:
            found = await target.lookup(effect_of(other))
            assert found is not None
            assert (found.status, found.error_type) == (UNKNOWN, "bound_to_other_args")
    assert await account.paid() == 1


async def test_a_definite_no_is_refused_with_the_targets_words(account: Account) -> None:
    """Protects the model and people from an unknown where the target was clear."""
    async with account.charge() as target:
        outcome = await sent(target, args={**ARGS, "amount": 2_000_000})
    assert (outcome.status, outcome.error_type) == (REFUSED, "http_402")
    assert outcome.result == {"status": 402}
    assert outcome.message == "The target refused it with 402: over_limit"
    assert await account.paid() == 0


@pytest.mark.parametrize("fault", ["500", "drop", "nan", "wrong_type", "huge", "late:5", "429"])
async def test_a_lookup_that_fails_proves_nothing_and_says_so(fault: str, account: Account) -> None:
    """Protects recovery: a question without an answer is neither a yes nor a no."""
    await account.faults(lookup=[fault])
    async with account.charge(timeout_s=0.6) as target:
        permit = new_permit()
        await sent(target, permit)
        with pytest.raises(CapabilityError) as told:
            await target.lookup(effect_of(permit))
        assert (told.value.code, told.value.retryable) == ("target_unreachable", True)
        assert await target.lookup(effect_of(permit)) is not None


async def test_a_lying_lookup_is_not_believed(account: Account) -> None:
    """Protects reconciliation from a record of somebody else's act."""
    await account.faults(lookup=["lie_hash"])
    async with account.charge() as target:
        permit = new_permit()
        await sent(target, permit)
        found = await target.lookup(effect_of(permit))
    assert found is not None
    assert (found.status, found.error_type) == (UNKNOWN, "bound_to_other_args")


async def test_an_eventual_lookup_finds_it_later(account: Account) -> None:
    """Protects the word eventual: None first, and the proof after a while."""
    await account.set(lookup="eventual", eventual_after_s=0.3)
    async with account.charge(lookup=Lookup.EVENTUAL) as target:
        permit = new_permit()
        await sent(target, permit)
        assert await target.lookup(effect_of(permit)) is None
        await asyncio.sleep(0.4)
        assert await target.lookup(effect_of(permit)) is not None


async def test_a_key_outlives_no_retention(account: Account) -> None:
    """Protects the declared retention: past it a repeat is a second payment."""
    await account.set(key_retention_s=0.2)
    async with account.charge(key_retention_s=0.2) as target:
        assert target.spec.key_retention_s == 0.2
        permit = new_permit()
        await sent(target, permit)
        await asyncio.sleep(0.3)
        await sent(target, permit)
    assert await account.paid() == 2


async def test_nothing_is_sent_by_a_former_owner_or_past_a_limit(account: Account) -> None:
    """Protects fences, keys and policy limits right before the first byte."""

    async def replaced() -> bool:
        return False

    async with account.charge() as target:
        prepared = await target.prepare(ARGS)
        for permit, still, code in (
            (new_permit(), replaced, "not_owner"),
            (new_permit("k" * 65), owner, "key_too_long"),
            (new_permit(constraints={"max_amount": 5}), owner, "constraint_unavailable"),
        ):
            with pytest.raises(CapabilityError) as told:
                await target.send(prepared, permit, still)
            assert (told.value.code, told.value.effect_possible) == (code, False)
    assert (await account.calls())["calls"] == 0


async def test_describing_and_preparing_ask_nobody(account: Account) -> None:
    """Protects the preview: people see the request, and nothing has been sent."""
    target: Capability = account.charge()
    described = await target.describe(ARGS)
    prepared = await target.prepare(ARGS)
    assert (described.resource, described.resource_version) == ("account:alice", "")
    assert (prepared.resource, prepared.from_version) == ("account:alice", "")
    assert prepared.preview.splitlines()[:3] == [
        "Pay 5.00 EUR (500 in the smallest unit) to alice. It cannot be taken back, only refunded.",
        "amount: 5.00 EUR (500 in the smallest unit)",
        f"POST {account.url}/{account.namespace}/payments",
    ]
    assert '"amount": 500' in prepared.preview
    assert (await target.version("account:alice"), target.idempotency_key("act_1", ARGS)) == (
        "",
        "act_1",
    )
    with pytest.raises(CapabilityError, match="no READ"):
        await target.read(ARGS, {})
    with pytest.raises(CapabilityError, match="more than"):
        await target.prepare({**ARGS, "memo": "x" * 70_000})
    assert await account.calls() == {"calls": 0, "with_key": 0, "lookups": 0}


async def test_verifying_reads_the_real_record(account: Account) -> None:
    """Protects success from a receipt that the target no longer stands by."""
    async with account.charge() as target:
        assert target.spec.verifies
        assert isinstance(target, Verifies)
        permit = new_permit()
        effect = effect_of(permit, await sent(target, permit))
        assert (await target.verify(effect)).holds
        assert effect.outcome is not None
        there = f"/{account.namespace}/payments/{effect.outcome.result['id']}"
        for change in ({"amount": 5}, {"status": "reversed"}, {"operation_hash": "sha256:x"}):
            await account.client.put(there, json=change)
            assert not (await target.verify(effect)).holds
        assert not (await target.verify(effect_of(permit))).holds
    assert not isinstance(account.charge(verified=False), Verifies)


async def test_a_refund_is_an_effect_of_its_own(account: Account) -> None:
    """Protects the record: the payment stays, and its refund stands beside it."""
    async with account.charge() as target, refunds(account.url, account.namespace) as back:
        assert back.spec.compensates == target.spec.name
        permit, refund = new_permit(), new_permit()
        await sent(target, permit)
        args = {"effect_id": permit.effect_id}
        given = [await sent(back, refund, args) for _ in range(2)]
        assert [outcome.status for outcome in given] == [COMMITTED, COMMITTED]
        assert (await sent(back, new_permit(), args)).error_type == "http_402"
        found = await back.lookup(effect_of(refund))
    assert found is not None
    assert found.result["amount"] == 500
    counted = (await account.client.get(f"/{account.namespace}/count")).json()
    assert (counted["payments"], counted["refunds"]) == (1, 1)


async def test_a_killed_target_leaves_a_doubt_that_its_successor_answers(tmp_path: Path) -> None:
    """Protects recovery when the target itself crashes after its commit."""
    permit = new_permit()
    async with started(tmp_path) as server, httpx.AsyncClient(base_url=server.url) as client:
        await client.put("/n/faults", json={"next": ["late:20"]})
        async with payments(server.url, "n") as target:
            sending = asyncio.create_task(sent(target, permit))
            for _ in range(500):
                if (await client.get("/n/count")).json()["payments"]:
                    break
                await asyncio.sleep(0.02)
            killed = await asyncio.create_subprocess_exec("kill", "-9", str(server.pid))
            await killed.wait()
            assert (await sending).status is UNKNOWN
    async with running(tmp_path) as url, payments(url, "n") as target:
        found = await target.lookup(effect_of(permit))
    assert found is not None
    assert found.status is COMMITTED


def test_one_target_serves_several_event_loops(service: str) -> None:
    """Protects programs that run the harness twice, as `asyncio.run` does."""
    target = payments(service, uuid.uuid4().hex)
    permit = new_permit()
    assert [asyncio.run(sent(target, permit)).status for _ in range(2)] == [COMMITTED, COMMITTED]
