"""What a capability declares is what the loop does: previews, versions, read-back, time, order."""

import asyncio
from pathlib import Path
from typing import Any

import psycopg
import pytest
from loops import ASK_ALL, DONE, call, contract, opened, payloads, says

from checkrein import capability
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import Effect, EffectStatus
from checkrein.contracts.event import Observed, RetryScheduled
from checkrein.contracts.observation import Observation
from checkrein.errors import CapabilityError, InputError
from checkrein.graph.reconciliation import reconcile_by_person
from checkrein.harness import Harness
from checkrein.ports.capability import RetryPolicy
from checkrein.settings import Settings

FAST = RetryPolicy(tries=2, first_s=0.01, window_s=5)


async def results(parts: Any, attempt_id: str) -> list[Observation]:
    """What the model was told, in order."""
    return [p.observation for p in await payloads(parts, attempt_id) if isinstance(p, Observed)]


@pytest.mark.parametrize("shown", ["raises", "empty"])
async def test_what_cannot_be_shown_is_not_asked_for(
    shown: str, tmp_path: Path, settings: Settings
) -> None:
    """Nobody can approve what nobody can see: it is denied, and nothing is offered or sent."""
    sent: list[str] = []

    def preview(args: dict[str, Any]) -> str:
        if shown == "raises":
            raise KeyError("secret")
        return "  "

    @capability("mail.send", preview=preview)
    async def mail(to: str) -> None:
        """Send a mail."""
        sent.append(to)

    turns = [says("", call("mail.send", to="x")), DONE]
    task = contract(tmp_path, turns, policy=ASK_ALL, capabilities=["mail.send"])
    async with opened(settings, mail) as (harness, parts):
        report = await harness.run(task)
        (told,) = await results(parts, report.attempt_id)
        asked = await parts.records.approvals(report.attempt_id, open_only=False)
    assert (asked, sent, report.effects) == ([], [], {})
    assert told.status == "denied"
    assert told.diagnostics is not None
    assert told.diagnostics.error_type == "preview_unavailable"
    assert "secret" not in told.model_dump_json()


async def test_an_approval_binds_the_version_that_was_read(
    tmp_path: Path, settings: Settings
) -> None:
    """A declared version reader makes the approval of a function stale when its object changed."""
    state = {"version": "v1"}

    async def read_version(args: dict[str, Any]) -> str:
        return state["version"]

    @capability("orders.ship", read_version=read_version)
    async def ship(order: str) -> None:
        """Ship an order."""

    task = contract(
        tmp_path,
        [says("", call("orders.ship", order="o1")), DONE],
        policy=ASK_ALL,
        capabilities=["orders.ship"],
    )
    async with opened(settings, ship) as (harness, _):
        report = await harness.run(task)
        await harness.approve(report.approvals[0].approval_id, by="bob")
        state["version"] = "v2"
        report = await harness.resume(report.attempt_id)
        assert report.status is AttemptStatus.APPROVAL_STALE
        assert report.effects == {}
        await harness.approve(report.approvals[0].approval_id, by="bob")
        report = await harness.resume(report.attempt_id)
    assert report.effects == {"COMMITTED": 1}


@pytest.mark.parametrize("says_no", ["false", "raises"])
async def test_a_receipt_that_reading_back_does_not_show_is_no_success(
    says_no: str, tmp_path: Path, settings: Settings
) -> None:
    """Neither the model nor the verdict may count it as done."""

    async def verify(effect: Effect) -> bool:
        if says_no == "raises":
            raise ConnectionError
        return False

    @capability("orders.ship", verify=verify)
    async def ship(order: str) -> dict[str, str]:
        """Ship an order."""
        return {"shipped": order}

    task = contract(
        tmp_path,
        [says("", call("orders.ship", order="o1")), DONE],
        capabilities=["orders.ship"],
        budgets={"repairs": 0},
    )
    async with opened(settings, ship) as (harness, parts):
        report = await harness.run(task)
        (told,) = await results(parts, report.attempt_id)
        (effect,) = await parts.records.effects(report.attempt_id)
    assert (effect.status, effect.verified) == (EffectStatus.COMMITTED, False)
    assert told.status == "failed"
    assert told.diagnostics is not None
    assert told.diagnostics.error_type == "effect_not_verified"
    assert told.effect_id == effect.effect_id
    assert report.status is AttemptStatus.FAILED_VERIFICATION


async def test_only_what_depends_on_an_open_effect_waits(
    tmp_path: Path, settings: Settings
) -> None:
    """Declared independent, an action runs all the same; the others come after, and once."""
    done: list[str] = []

    @capability("orders.pay", resource=lambda a: f"order:{a['order']}")
    async def pay(order: str) -> None:
        """Pay an order."""
        done.append(f"pay {order}")
        raise TimeoutError

    @capability("notes.add", independent=True)
    async def note(text: str) -> None:
        """Add a note."""
        done.append(f"note {text}")

    @capability("orders.ship")
    async def ship(order: str) -> None:
        """Ship an order."""
        done.append(f"ship {order}")

    turn = says(
        "",
        call("orders.pay", order="o1"),
        call("orders.ship", order="o1"),
        call("notes.add", text="paid"),
    )
    task = contract(tmp_path, [turn, DONE], capabilities=["orders.pay", "orders.ship", "notes.add"])
    async with opened(settings, pay, note, ship) as (harness, parts):
        report = await harness.run(task)
        assert report.status is AttemptStatus.RECONCILE_REQUIRED
        assert done == ["pay o1", "note paid"]
        await reconcile_by_person(
            parts.front_door, report.unsettled[0], "committed", by="bob", evidence="receipt"
        )
        report = await harness.resume(report.attempt_id)
        told = await results(parts, report.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert done == ["pay o1", "note paid", "ship o1"]
    assert sorted(o.position for o in told) == [0, 1, 2]


@pytest.mark.shows(145, 147)
async def test_a_write_that_takes_too_long_is_unknown_and_a_read_has_failed(
    tmp_path: Path, settings: Settings
) -> None:
    """A time-out of a write never means "did not happen"; one of a read is tried again."""
    calls: list[str] = []

    @capability("slow.read", side_effect="READ", timeout_s=0.05, retry=FAST)
    async def read() -> None:
        """Read slowly."""
        calls.append("read")
        await asyncio.sleep(30)

    @capability("slow.write", timeout_s=0.05, retry=FAST)
    async def write() -> None:
        """Write slowly."""
        calls.append("write")
        await asyncio.sleep(30)

    turns = [says("", call("slow.read")), says("", call("slow.write")), DONE]
    task = contract(tmp_path, turns, capabilities=["slow.read", "slow.write"])
    async with opened(settings, read, write) as (harness, parts):
        report = await harness.run(task)
        told = await payloads(parts, report.attempt_id)
    assert report.status is AttemptStatus.RECONCILE_REQUIRED
    assert calls == ["read", "read", "write"]
    (first,) = [p.observation for p in told if isinstance(p, Observed)]
    assert first.diagnostics is not None
    assert (first.status, first.diagnostics.error_type) == ("failed", "not_in_time")
    assert len([p for p in told if isinstance(p, RetryScheduled)]) == 1


@pytest.mark.shows(105, 116)
async def test_a_key_is_sent_again_only_while_the_target_keeps_it(
    tmp_path: Path, settings: Settings, database_url: str
) -> None:
    """Inside the declared retention the same key does no harm; after it nobody sends it again."""
    keys: list[str] = []
    up = False

    @capability("bank.pay", guarantee="atomic_key", key_retention_s=600, retry=FAST)
    async def pay(amount: int, *, idempotency_key: str) -> None:
        """Pay."""
        keys.append(idempotency_key)
        if not up:
            raise ConnectionResetError

    async def attempt(name: str, *, an_hour_later: bool) -> AttemptStatus:
        nonlocal up
        up = False
        turns = [says("", call("bank.pay", amount=5)), DONE]
        async with opened(settings, pay) as (harness, _):
            report = await harness.run(contract(tmp_path / name, turns, capabilities=["bank.pay"]))
            assert report.status is AttemptStatus.RECONCILE_REQUIRED
            up = True
            if an_hour_later:
                clock_ahead(database_url)
            return (await harness.resume(report.attempt_id)).status

    assert await attempt("soon", an_hour_later=False) == "CANDIDATE_VERIFIED"
    assert (len(keys), len(set(keys))) == (3, 1)
    late = await attempt("late", an_hour_later=True)
    assert (late, len(keys), len(set(keys))) == ("RECONCILE_REQUIRED", 5, 2)


def clock_ahead(database_url: str) -> None:
    """The database's clock jumps by an hour."""
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION checkrein.now() RETURNS timestamptz LANGUAGE sql VOLATILE "
            "AS 'SELECT clock_timestamp() + interval ''1 hour'''"
        )


async def test_a_lookup_that_fails_makes_the_run_wait(tmp_path: Path, settings: Settings) -> None:
    """What cannot be asked now is asked later; until then nothing is sent or concluded."""
    asked: list[str] = []

    async def find(effect: Effect) -> None:
        asked.append(effect.effect_id)
        raise CapabilityError("gone", op="find", retryable=True)

    @capability("bank.pay", lookup="authoritative", find=find)
    async def pay(amount: int) -> None:
        """Pay."""
        raise ConnectionResetError

    turns = [says("", call("bank.pay", amount=5)), DONE]
    async with opened(settings, pay) as (harness, _):
        report = await harness.run(contract(tmp_path, turns, capabilities=["bank.pay"]))
        assert report.status is AttemptStatus.RECONCILE_REQUIRED
        report = await harness.resume(report.attempt_id)
    assert report.status is AttemptStatus.RECONCILE_REQUIRED
    assert len(asked) == 2


@pytest.mark.shows(105)
async def test_a_declaration_that_contradicts_itself_is_refused_at_the_door(
    settings: Settings,
) -> None:
    """A class of one's own is checked like a function: before anything is opened."""

    @capability("bank.pay", guarantee="atomic_key", key_retention_s=600)
    async def pay(amount: int, *, idempotency_key: str) -> None:
        """Pay."""

    object.__setattr__(pay, "_spec", pay.spec.model_copy(update={"key_retention_s": None}))
    with pytest.raises(InputError, match="key_retention_s") as refused:
        async with Harness.open(capabilities=[pay], settings=settings):
            raise AssertionError("it was let in")
    assert refused.value.code == "capability_unusable"


@pytest.mark.parametrize("broken", ["describe", "prepare", "describe_late"])
async def test_a_capability_that_is_broken_in_itself_ends_no_run(
    broken: str, tmp_path: Path, settings: Settings
) -> None:
    """Foreign code may raise anything, or hang: the call has failed, and the run goes on."""

    @capability("notes.add", timeout_s=0.2)
    async def note(text: str) -> None:
        """Add a note."""

    async def breaks(*_: Any, **__: Any) -> None:
        if broken == "describe_late":
            await asyncio.sleep(30)
        raise KeyError("secret")

    object.__setattr__(note, broken.partition("_")[0], breaks)
    task = contract(
        tmp_path, [says("", call("notes.add", text="x")), DONE], capabilities=["notes.add"]
    )
    async with opened(settings, note) as (harness, parts):
        report = await harness.run(task)
        (told,) = await results(parts, report.attempt_id)
    assert (report.status, report.effects) == (AttemptStatus.CANDIDATE_VERIFIED, {})
    assert told.diagnostics is not None
    late = broken == "describe_late"
    assert told.diagnostics.error_type == ("not_in_time" if late else "capability_failed")
    assert "secret" not in told.model_dump_json()
