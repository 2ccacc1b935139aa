"""The kit passes targets that are honest, and names the guarantee that a broken one breaks."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import targets_honest
import targets_services
import targets_store
from databases import fresh_database

from checkrein.adapters.plug_in import load_object
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.errors import InputError
from checkrein.ports.capability import Permit, Prepared, StillOwner, Verification
from checkrein.testing.conformance.target import NotChecked, Target
from checkrein.testing.conformance.target_suite import Planned, Verdict, plan_of, verdict
from checkrein.testing.payment_server.process import running

COUNTLESS = "it must be counted, and the Target has no count()"


async def found(name: str, *, named: bool = True) -> list[Verdict]:
    """What every check of one target says."""
    source = load_object(name)
    _, plan = await plan_of(source, name if named else None)
    return [await verdict(source, one) for one in plan]


def wrong(verdicts: list[Verdict]) -> list[Verdict]:
    """Those that do not hold, or could not be checked."""
    return [one for one in verdicts if not one.ok]


HONEST = {
    "charge": {"atomic_key", "key binding", "key retention", "lookup authoritative"},
    "charge_later": {"atomic_key", "key binding", "key retention", "lookup eventual"},
    "filed": {"atomic_key", "key binding", "key retention", "lookup none"},
    "fixed": {"atomic_key", "verification"},
    "note": {"none", "lookup none"},
    "page": {"compare_and_set", "lookup authoritative"},
    "book": {"same_transaction"},
}


@pytest.mark.shows(105)
@pytest.mark.parametrize("name", HONEST)
async def test_honest_target_passes_every_check_of_what_it_declares(name: str) -> None:
    """Protects authors: a target that keeps its word is told so, each promise of it."""
    verdicts = await found(f"targets_honest:{name}")
    assert wrong(verdicts) == []
    assert HONEST[name] < {one.guarantee for one in verdicts}
    assert {"declaration", "resource", "business key", "preview"} < {
        one.guarantee for one in verdicts
    }


BROKEN = {
    "races": ("atomic_key", "there are "),
    "binds_nothing": ("key binding", "it said COMMITTED, not REFUSED"),
    "claims": ("lookup authoritative", "before its send it said COMMITTED, not None"),
    "lags": ("lookup authoritative", "right after the answer it said None of what it had done"),
}


@pytest.mark.shows(105)
@pytest.mark.parametrize("name", BROKEN)
async def test_broken_target_fails_by_the_guarantee_that_it_breaks(name: str) -> None:
    """Protects the ledger from a promise that is not kept: that one is named, and no other."""
    guarantee, problem = BROKEN[name]
    # Only a look-up that claims is one that a crash shows, too.
    verdicts = await found(f"targets_broken:{name}", named=name == "claims")
    failed = [one for one in verdicts if one.ok is False]
    assert {one.guarantee for one in failed} == {guarantee}
    assert any(problem in one.problem for one in failed)


async def test_what_nobody_counts_is_not_said_to_hold() -> None:
    """Protects against a pass by silence: answers alone do not show how often it happened."""
    verdicts = await found("targets_honest:uncounted")
    assert not [one for one in verdicts if one.ok is False]
    unchecked = {one.check for one in verdicts if one.ok is None}
    assert {one.problem for one in wrong(verdicts)} == {COUNTLESS}
    assert {"sends at once make one effect", "other arguments make no effect"} < unchecked
    assert "sends at once have one answer" not in unchecked


async def test_crash_is_not_checked_without_a_name_or_the_same_store() -> None:
    """Protects against a pass by two stores: the killed sender must have reached this one."""
    nameless = wrong(await found("targets_honest:charge", named=False))
    assert {one.ok for one in nameless} == {None}
    assert {one.check.split(" ")[0] for one in nameless} == {"a", "after"}
    assert {one.problem for one in nameless} == {
        "a child process can load only what is named MODULE:OBJECT"
    }
    (apart,) = wrong(await found("targets_honest:unreachable"))
    assert apart.ok is None
    assert "reaches another store; give Target.environment" in apart.problem


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "A value of type int is no Target"),
        ("reading", "is a READ: it has no effect to check"),
        ("fixed_page", "Give a function that makes a fresh Target instead"),
    ],
)
async def test_what_cannot_be_checked_is_refused(name: str, message: str) -> None:
    """Protects authors from checks that would fail for no fault of their target."""
    with pytest.raises(InputError) as caught:
        await plan_of(getattr(targets_honest, name))
    assert message in str(caught.value)
    assert caught.value.code == "target_unusable"


async def test_whatever_a_target_raises_is_a_verdict() -> None:
    """Protects the rest of the run: one check that breaks does not end the others."""

    async def fails(target: Target) -> None:
        raise ValueError("odd")

    async def slow(target: Target) -> None:
        raise TimeoutError("the target's own")

    async def skips(target: Target) -> None:
        raise NotChecked("no reason")

    said = [
        await verdict(targets_honest.charge, Planned("g", "c", check))
        for check in (fails, slow, skips)
    ]
    assert [(one.ok, one.problem) for one in said] == [
        (False, "ValueError: odd"),
        (False, "TimeoutError: the target's own"),
        (None, "no reason"),
    ]


class Hasty(targets_honest.Page):
    """Shows nothing, sends for anybody, finds and verifies what never was."""

    spec = targets_honest.noting.spec.model_copy(update={"verifies": True})

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        made = await super().prepare(args)
        return made.model_copy(update={"preview": " ", "from_version": "another"})

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        await targets_honest.noting(account="hasty", cents=1)
        return Outcome(status=EffectStatus.COMMITTED)

    async def verify(self, effect: Effect) -> Verification:
        return Verification(holds=True)

    async def lookup(self, effect: Effect) -> Outcome | None:
        return Outcome(status=EffectStatus.COMMITTED)


async def test_promises_of_every_write_are_checked_too() -> None:
    """Protects people and owners: preview, ownership and verification are no formality."""

    def hasty() -> Target:
        made = targets_honest.on_account(targets_honest.noting, "notes")
        args = {"account": "hasty", "cents": 1}

        async def count() -> int:
            query = "SELECT count(*) FROM notes WHERE account = 'hasty'"
            return int((await targets_store.rows(query))[0][0])

        return dataclasses.replace(made, capability=Hasty(), one=args, other=args, count=count)

    _, plan = await plan_of(hasty)
    failed = wrong([await verdict(hasty, one) for one in plan])
    assert {(one.guarantee, one.check) for one in failed} == {
        ("resource", "calls name one resource"),
        ("preview", "there is a preview"),
        ("ownership", "a former owner is told so"),
        ("ownership", "a former owner sends nothing"),
        ("verification", "what was not done does not verify"),
        ("lookup none", "nothing is claimed"),
    }


SERVICES = {
    "keyed": {"atomic_key", "key binding", "lookup authoritative", "verification"},
    "keyed_eventual": {"atomic_key", "key binding", "lookup eventual"},
    "unkeyed": {"none", "lookup authoritative"},
    "row": {"compare_and_set", "lookup authoritative"},
    "row_with_receipt": {"same_transaction"},
}


@pytest.fixture(scope="module")
def rows_url(server_url: str) -> Iterator[str]:
    """One database for all rows."""
    with fresh_database(server_url) as url:
        yield url


@pytest.mark.shows(105)
@pytest.mark.parametrize("name", SERVICES)
async def test_shipped_targets_keep_what_they_declare(
    name: str, rows_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects everybody who runs them: over a real service process and a real Postgres."""
    async with running(tmp_path) as payments_url:
        monkeypatch.setenv(targets_services.PAYMENTS_URL, payments_url)
        monkeypatch.setenv(targets_services.ROWS_URL, rows_url)
        verdicts = await found(f"targets_services:{name}")
    assert wrong(verdicts) == []
    assert SERVICES[name] < {one.guarantee for one in verdicts}
