"""Rows of Postgres as effects: swapped once, under a lock, never on top of another change."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection
from shop_table import (
    DECLARED,
    ONE,
    OTHER,
    PLAIN,
    Sql,
    effect_of,
    in_tokyo,
    new_permit,
    opened_shop,
    owner,
)

from checkrein.adapters.sql_target import RowDeclaration, SqlRow
from checkrein.checkpointer import server
from checkrein.contracts.effect import EffectStatus
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.capability import Prepared
from checkrein.testing.conformance import compare_and_set_suite
from checkrein.testing.conformance.target import Target


@pytest.fixture
async def by_hand(database_url: str) -> AsyncIterator[Sql]:
    """Somebody else at the table, who may do anything."""
    async with opened_shop(database_url) as run:
        yield run


@pytest.fixture
def target(database_url: str, by_hand: Sql) -> SqlRow:
    """The table's target, as the application's role."""
    return SqlRow(DECLARED, server.by_url(database_url).app)


@pytest.mark.parametrize("declared", [DECLARED, PLAIN], ids=["counted", "plain"])
@pytest.mark.parametrize("check", compare_and_set_suite.CHECKS)
async def test_rows_keep_the_promises_of_compare_and_set(
    check: str, declared: RowDeclaration, database_url: str, by_hand: Sql
) -> None:
    """Protects the ledger, which repeats a send because of this guarantee."""
    row = SqlRow(declared, server.by_url(database_url).app)
    await compare_and_set_suite.CHECKS[check](Target(row, ONE, OTHER))


async def test_a_change_is_shown_made_and_counted(target: SqlRow, by_hand: Sql) -> None:
    """Protects the preview: people see the exact values, and those are what is written."""
    prepared = await target.prepare({"key": "007", "set": {"price": "12.5", "stock": 3}})
    assert prepared.resource == "row:shop.articles:7"
    assert prepared.preview.splitlines() == [
        "UPDATE shop.articles SET price = $1, revision = $2 WHERE id = $3",
        "  $1 price: 12345678901234567890.10 -> 12.50",
        "  $2 revision: 1 -> 2",
        '  $3 id: "7"',
        "rows: 1, counted now under this key; it changes only while it is as shown here",
    ]
    outcome = await target.send(prepared, new_permit(), owner)
    assert (outcome.status, outcome.version) == (EffectStatus.COMMITTED, prepared.to_version)
    (row,) = await by_hand(
        "SELECT price::text, stock, note, revision FROM shop.articles WHERE id = 7"
    )
    assert row == {"price": "12.50", "stock": 3, "note": "old", "revision": 2}
    again = await target.prepare({"key": "7", "set": {"price": "12.50"}})
    assert again.no_change


async def test_any_change_by_anybody_makes_another_version(target: SqlRow, by_hand: Sql) -> None:
    """Protects from digests that round: the last digit of a long number counts."""
    before = await target.version("row:shop.articles:7")
    await by_hand("UPDATE shop.articles SET price = price + 0.01 WHERE id = 7")
    assert await target.version("row:shop.articles:7") != before
    await by_hand("DELETE FROM shop.articles WHERE id = 7")
    assert await target.version("row:shop.articles:7") == "absent"
    described = await target.describe(ONE)
    assert (described.resource, described.resource_version) == ("row:shop.articles:7", "absent")


async def test_sessions_with_other_settings_see_the_same_version(
    target: SqlRow, by_hand: Sql, database_url: str
) -> None:
    """Protects two workers from calling one row by two versions."""
    url = server.by_url(database_url).app
    elsewhere = SqlRow(DECLARED, in_tokyo(url))
    assert await elsewhere.describe(ONE) == await target.describe(ONE)


async def test_a_row_that_changed_or_went_is_left(target: SqlRow, by_hand: Sql) -> None:
    """Protects somebody else's change from being overwritten."""
    prepared = await target.prepare(ONE)
    await by_hand("UPDATE shop.articles SET stock = 2 WHERE id = 7")
    outcome = await target.send(prepared, new_permit(), owner)
    assert (outcome.status, outcome.error_type) == (EffectStatus.REFUSED, "version_changed")
    assert outcome.version == await target.version(prepared.resource)
    await by_hand("DELETE FROM shop.articles WHERE id = 7")
    assert (await target.send(prepared, new_permit(), owner)).version == "absent"
    assert await target.lookup(effect_of(prepared)) is None


async def test_a_counted_row_that_was_changed_back_is_another(target: SqlRow) -> None:
    """Protects from taking a later state that looks the same for our effect."""
    there = await target.prepare(ONE)
    await target.send(there, new_permit(), owner)
    back = await target.prepare({"key": "7", "set": {"price": "1.00", "note": "old"}})
    await target.send(back, new_permit(), owner)
    outcome = await target.send(there, new_permit(), owner)
    assert outcome.error_type == "version_changed"


async def test_ownership_is_asked_under_the_rows_lock(target: SqlRow, by_hand: Sql) -> None:
    """Protects from a former owner: nobody else can be in between question and change."""
    locked: list[bool] = []

    async def asked() -> bool:
        query = "SELECT 1 FROM shop.articles WHERE id = 7 FOR UPDATE SKIP LOCKED"
        locked.append(await by_hand(query) == [])
        return True

    await target.send(await target.prepare(ONE), new_permit(), asked)
    assert locked == [True]


async def test_a_connection_that_is_cut_before_commit_changed_nothing(
    target: SqlRow, by_hand: Sql
) -> None:
    """Protects from a doubt where there is none: what was not committed did not happen."""
    prepared = await target.prepare(ONE)

    async def cut() -> bool:
        await by_hand(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE state = 'idle in transaction' AND query LIKE '%FOR UPDATE%'"
        )
        return True

    with pytest.raises(CapabilityError) as told:
        await target.send(prepared, new_permit(), cut)
    assert (told.value.code, told.value.retryable) == ("target_unreachable", True)
    assert not told.value.effect_possible
    assert await target.version(prepared.resource) == prepared.from_version


async def test_a_lost_answer_to_commit_is_a_doubt_that_lookup_settles(
    target: SqlRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects from both guesses where the connection breaks with COMMIT under way."""
    execute = AsyncConnection.execute
    breaks_after = [True]

    async def breaking(self: AsyncConnection[Any], query: Any, *rest: Any, **more: Any) -> Any:
        if query != "COMMIT":
            return await execute(self, query, *rest, **more)
        if breaks_after[0]:
            await execute(self, query)
        await self.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(AsyncConnection, "execute", breaking)
    for args, happened in ((ONE, True), (OTHER, False)):
        breaks_after[0] = happened
        prepared = await target.prepare(args)
        outcome = await target.send(prepared, new_permit(), owner)
        assert (outcome.status, outcome.error_type) == (EffectStatus.UNKNOWN_EFFECT, "commit_lost")
        found = await target.lookup(effect_of(prepared))
        assert (found is not None and found.status is EffectStatus.COMMITTED) == happened


async def test_a_refusal_at_commit_is_a_refusal(target: SqlRow, by_hand: Sql) -> None:
    """Protects from an unknown where the database itself says no, however late."""
    await by_hand(
        "ALTER TABLE shop.articles ADD CONSTRAINT one_price UNIQUE (price) "
        "DEFERRABLE INITIALLY DEFERRED"
    )
    prepared = await target.prepare({"key": "7", "set": {"price": "5.00"}})
    outcome = await target.send(prepared, new_permit(), owner)
    assert (outcome.status, outcome.error_type) == (EffectStatus.REFUSED, "values_refused")
    assert await target.version(prepared.resource) == prepared.from_version


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"price": "many"}, "values_refused"),
        ({"note": "longer than ten"}, "values_refused"),
        ({"seen": "2025-01-01"}, "column_refused"),
        ({"note": "x" * 70_000}, "too_large"),
    ],
)
async def test_unusable_values_are_told_before_anything_is_sent(
    change: dict[str, Any], code: str, target: SqlRow
) -> None:
    """Protects the model's turn: it can mend the call, and nothing has changed."""
    with pytest.raises(CapabilityError) as told:
        await target.prepare({"key": "7", "set": change})
    assert (told.value.code, told.value.effect_possible) == (code, False)


async def test_a_check_of_the_table_refuses_the_send(target: SqlRow) -> None:
    """Protects the table's own rules, which only an UPDATE meets."""
    prepared = await target.prepare({"key": "7", "set": {"price": "-1"}})
    with pytest.raises(CapabilityError) as told:
        await target.send(prepared, new_permit(), owner)
    assert (told.value.code, told.value.effect_possible) == ("values_refused", False)
    assert await target.version(prepared.resource) == prepared.from_version


async def test_a_trigger_that_changes_more_is_taken_back(target: SqlRow, by_hand: Sql) -> None:
    """Protects what was approved: the row becomes exactly that, or stays."""
    await by_hand(
        "CREATE FUNCTION shop.more() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.stock := 0; RETURN NEW; END $$;"
        "CREATE TRIGGER more BEFORE UPDATE ON shop.articles "
        "FOR EACH ROW EXECUTE FUNCTION shop.more()"
    )
    prepared = await target.prepare(ONE)
    with pytest.raises(CapabilityError) as told:
        await target.send(prepared, new_permit(), owner)
    assert told.value.code == "not_as_prepared"
    assert await target.version(prepared.resource) == prepared.from_version


async def test_values_never_become_statements(target: SqlRow, by_hand: Sql) -> None:
    """Protects the table from a model that writes SQL."""
    evil = "'); DROP TABLE shop.articles; --"
    with pytest.raises(CapabilityError, match="does not take these values"):
        await target.prepare({"key": evil, "set": {"note": "x"}})
    prepared = await target.prepare({"key": "7", "set": {"note": "'; --%s"}})
    await target.send(prepared, new_permit(), owner)
    (row,) = await by_hand("SELECT note FROM shop.articles WHERE id = 7")
    assert row == {"note": "'; --%s"}


async def test_a_held_row_is_waited_for_within_bounds(database_url: str, by_hand: Sql) -> None:
    """Protects the run from a row that somebody keeps."""
    declared = DECLARED.model_copy(update={"timeout_s": 0.3})
    slow = SqlRow(declared, server.by_url(database_url).app)
    prepared = await slow.prepare(ONE)
    await by_hand("BEGIN")
    await by_hand("SELECT 1 FROM shop.articles WHERE id = 7 FOR UPDATE")
    with pytest.raises(CapabilityError) as told:
        await slow.send(prepared, new_permit(), owner)
    await by_hand("ROLLBACK")
    assert (told.value.code, told.value.retryable) == ("target_busy", True)


async def test_a_database_that_is_gone_was_sent_nothing(by_hand: Sql) -> None:
    """Protects recovery: it cannot be asked, which says nothing."""
    gone = SqlRow(DECLARED, "postgresql://nobody@127.0.0.1:1/none")
    effect = effect_of(Prepared(resource="row:x:1", from_version="a", to_version="b", preview=""))
    for ask in (gone.prepare(ONE), gone.lookup(effect)):
        with pytest.raises(CapabilityError) as told:
            await ask
        assert (told.value.code, told.value.retryable) == ("target_unreachable", True)


@pytest.mark.parametrize(
    "change",
    [
        {"table": "articles"},
        {"table": 'shop.a"; DROP'},
        {"key_column": "id; --"},
        {"columns": {}},
        {"columns": {"id": {}}},
        {"columns": {"revision": {}}},
        {"columns": {"a%sb": {}}},
    ],
)
def test_names_are_checked_when_declared(change: dict[str, Any]) -> None:
    """Protects statements from names that are none."""
    with pytest.raises(InputError, match="cannot be declared"):
        SqlRow(DECLARED.model_copy(update=change), "")


async def test_eight_workers_change_a_row_one_after_the_other(target: SqlRow, by_hand: Sql) -> None:
    """Protects from lost updates: each change is seen by the next, or refused."""

    async def worker(n: int) -> bool:
        prepared = await target.prepare({"key": "8", "set": {"stock": n + 100}})
        outcome = await target.send(prepared, new_permit(), owner)
        return outcome.status is EffectStatus.COMMITTED

    made = sum(await asyncio.gather(*(worker(n) for n in range(8))))
    (row,) = await by_hand("SELECT revision FROM shop.articles WHERE id = 8")
    assert row == {"revision": 1 + made}
    assert made >= 1
