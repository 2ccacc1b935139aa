"""A payment through the whole loop, over a real socket: what happens when answers get lost."""

from pathlib import Path
from typing import Any

import pytest
from loops import DONE, call, contract, opened, payloads, says
from payment_account import FAST, Account

from checkrein.adapters.http_target import HttpTarget
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget, BudgetLimits
from checkrein.contracts.effect import EffectStatus, OutcomeSource
from checkrein.contracts.event import EffectReconciled, EffectRetried, Observed
from checkrein.contracts.task import TaskContract
from checkrein.settings import Settings

ARGS: dict[str, Any] = {"amount": 1250, "currency": "EUR", "to": "acme"}
PAY = says("I pay.", call("payments.charge", **ARGS))


def paying(folder: Path, *turns: dict[str, Any], **fields: Any) -> TaskContract:
    """A task that pays."""
    granted = ["payments.charge", "payments.refund"]
    fields.setdefault("capabilities", granted[:1])
    return contract(folder, turns or (PAY, DONE), **fields)


def charge(bank: Account, **terms: Any) -> HttpTarget:
    """payments.charge with quick repeats."""
    return bank.charge(**{"retry": FAST, "timeout_s": 2.0, **terms})


def charge_once(bank: Account, lookup: Lookup = Lookup.NONE) -> HttpTarget:
    """payments.charge without any guarantee."""
    return charge(bank, guarantee=Guarantee.NONE, lookup=lookup, verified=False)


@pytest.mark.shows(3, 118, 146)
@pytest.mark.parametrize(
    "fault", ["commit_then_drop", "500_after_commit", "500_before", "drop_before", "slow_drip"]
)
async def test_a_lost_answer_is_asked_for_again_under_the_same_key(
    fault: str, bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """One action, several tries, one key, one payment; each repeat is on the record."""
    await bank.faults(next=[fault])
    async with opened(settings, charge(bank)) as (harness, parts):
        report = await harness.run(paying(tmp_path))
        (record,) = await parts.records.ledger(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert await bank.paid() == 1
    assert record.effect.status is EffectStatus.COMMITTED
    assert record.effect.verified is True
    assert [tried.n for tried in record.tries] == [1, 2]
    assert record.tries[1].outcome == "committed"
    retried = [p for p in told if isinstance(p, EffectRetried)]
    assert [p.n for p in retried] == [2]
    assert report.budgets[Budget.TOOL_CALLS].spent == 2
    assert report.budgets[Budget.TOOL_CALLS].reserved == 0


@pytest.mark.shows(146)
async def test_what_the_target_states_to_be_without_effect_is_sent_again(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Even where nothing is promised: the target said that nothing had happened."""
    await bank.faults(next=["503_before", "429"])
    async with opened(settings, charge_once(bank)) as (harness, parts):
        report = await harness.run(paying(tmp_path))
        (record,) = await parts.records.ledger(report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert await bank.paid() == 1
    assert len(record.tries) == 3


@pytest.mark.shows(3, 146)
async def test_repeats_end_with_the_budget(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Each send is a call: a target that never answers cannot use up more than was allowed."""
    await bank.faults(next=["drop_before"] * 3, lookup=["500"] * 3)
    limits = BudgetLimits(tool_calls=2)
    async with opened(settings, charge(bank)) as (harness, parts):
        report = await harness.run(paying(tmp_path, budgets=limits))
        (record,) = await parts.records.ledger(report.attempt_id)
    assert report.status is AttemptStatus.RECONCILE_REQUIRED
    assert len(record.tries) == 2
    assert report.budgets[Budget.TOOL_CALLS].left == 0


@pytest.mark.shows(111, 114, 116, 147)
async def test_without_a_promise_a_lost_answer_waits_for_a_person(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Sent once, whatever happens; nobody guesses."""
    await bank.faults(next=["commit_then_drop"])
    async with opened(settings, charge_once(bank)) as (harness, parts):
        report = await harness.run(paying(tmp_path))
        for _ in range(2):
            assert report.status is AttemptStatus.RECONCILE_REQUIRED
            report = await harness.resume(report.attempt_id)
        (record,) = await parts.records.ledger()
    assert await bank.paid() == 1
    assert record.effect.effect_id in report.unsettled
    assert len(record.tries) == 1


@pytest.mark.shows(110, 128)
async def test_an_authoritative_lookup_settles_a_lost_answer_at_once(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """The target is asked right after the doubt is on record; its yes is believed."""
    await bank.faults(next=["commit_then_drop"])
    async with opened(settings, charge_once(bank, Lookup.AUTHORITATIVE)) as (harness, parts):
        report = await harness.run(paying(tmp_path))
        told = await payloads(parts, report.attempt_id)
        (record,) = await parts.records.ledger(report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert await bank.paid() == 1
    assert record.effect.source is OutcomeSource.RECONCILED
    kinds = [p.type for p in told]
    assert kinds.index("effect_unknown") < kinds.index("effect_reconciled")
    assert kinds.count("action_deduplicated") == 1
    assert any(isinstance(p, EffectReconciled) and p.by is None for p in told)


@pytest.mark.shows(111, 119)
async def test_a_lookup_that_finds_nothing_proves_nothing(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """The request may still be on its way: absence is never turned into "did not happen"."""
    await bank.faults(next=["drop_before"])
    async with opened(settings, charge_once(bank, Lookup.AUTHORITATIVE)) as (harness, parts):
        report = await harness.run(paying(tmp_path))
        report = await harness.resume(report.attempt_id)
        (effect,) = await parts.records.effects(report.attempt_id)
    assert report.status is AttemptStatus.RECONCILE_REQUIRED
    assert effect.status is EffectStatus.UNKNOWN_EFFECT
    assert await bank.paid() == 0


async def test_a_target_that_lies_is_not_believed(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """Committed under another hash is not our effect."""
    await bank.faults(next=["lie_hash"] * 3, lookup=["500"] * 3)
    async with opened(settings, charge(bank)) as (harness, parts):
        report = await harness.run(paying(tmp_path))
        (effect,) = await parts.records.effects(report.attempt_id)
    assert report.status is AttemptStatus.RECONCILE_REQUIRED
    assert effect.outcome is not None
    assert effect.outcome.error_type == "bound_to_other_args"


async def test_a_refusal_is_the_models_to_mend(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """A definite no leaves nothing open: the run goes on, and the model knows."""
    too_much = says("I pay.", call("payments.charge", **{**ARGS, "amount": 10**9}))
    async with opened(settings, charge(bank)) as (harness, parts):
        report = await harness.run(paying(tmp_path, too_much, DONE))
        told = await payloads(parts, report.attempt_id)
    assert report.effects == {"REFUSED": 1}
    assert await bank.paid() == 0
    (result,) = [p.observation for p in told if isinstance(p, Observed)]
    assert result.status == "failed"


@pytest.mark.shows(125)
async def test_a_compensation_is_an_act_of_its_own(
    bank: Account, tmp_path: Path, settings: Settings
) -> None:
    """The payment stays on the record; it is given back once, however often that is asked for."""
    ask = says("", call("ask_user", question="Which one?"))
    task = paying(tmp_path, PAY, ask, DONE, capabilities=["payments.charge", "payments.refund"])
    async with opened(settings, charge(bank), bank.refund()) as (harness, parts):
        report = await harness.run(task)
        (payment,) = await parts.records.effects(report.attempt_id)
        back = says("", call("payments.refund", effect_id=payment.effect_id))
        wrong = says("", call("payments.refund", effect_id="eff_" + "0" * 24))
        loops_script(tmp_path, [PAY, ask, wrong, back, back, DONE])
        await parts.front_door.answer(report.attempt_id, "give it back", by="alice")
        report = await harness.resume(report.attempt_id)
        told = await payloads(parts, report.attempt_id)
        found = await parts.records.ledger(report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert [(r.capability, r.effect.status) for r in found] == [
        ("payments.charge@1", EffectStatus.COMMITTED),
        ("payments.refund@1", EffectStatus.COMMITTED),
    ]
    counts = await bank.counted()
    assert (counts["payments"], counts["refunds"]) == (1, 1)
    results = [p.observation for p in told if isinstance(p, Observed)]
    assert [r.status for r in results] == ["ok", "invalid", "ok", "ok"]
    assert results[1].diagnostics is not None
    assert results[1].diagnostics.error_type == "nothing_to_compensate"
    assert [p.type for p in told].count("action_deduplicated") == 1


def loops_script(folder: Path, turns: list[dict[str, Any]]) -> None:
    """Write the script anew, for what is only known while the task runs."""
    contract(folder, turns)
