"""The database's schema is what the code says it is, table for table and rule for rule."""

import re
from collections.abc import Iterator

import psycopg
import pytest
import schema_dump
from databases import fresh_database
from filled import filled
from golden_events import payload_types
from open_store import OpenStore

from checkrein.checkpointer import migrate
from checkrein.contracts.transitions import TABLES
from checkrein.errors import CheckreinError

WITHOUT_TENANT = {"migrations", "transitions"}
"""Tables about the schema itself, which belong to no tenant."""

BEGINNINGS = {"task_created", "attempt_started"}
"""Event types that only checkrein.start takes."""


@pytest.fixture(scope="module")
def connection(shared_url: str) -> Iterator[schema_dump.Connection]:
    with psycopg.connect(shared_url, autocommit=True) as opened:
        yield opened


@pytest.mark.shows(52, 122)
def test_transitions_of_the_database_are_those_of_the_code(
    connection: schema_dump.Connection,
) -> None:
    found = set(connection.execute("SELECT * FROM checkrein.transitions").fetchall())
    expected = {
        (str(machine), str(current), event, str(after))
        for machine, table in TABLES.items()
        for (current, event), after in table.items()
    }
    assert found == expected, "run scripts/transitions.py"


def test_migrations_together_make_the_schema_file(connection: schema_dump.Connection) -> None:
    made = schema_dump.dump(connection)
    assert made == schema_dump.FILE.read_text(encoding="utf-8"), "run scripts/schema_dump.py"


def test_schema_file_alone_makes_the_same_schema(server_url: str) -> None:
    with (
        fresh_database(server_url, "template1") as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        connection.execute("CREATE SCHEMA checkrein AUTHORIZATION checkrein_owner")
        connection.execute("SET ROLE checkrein_owner")
        connection.execute(schema_dump.FILE.read_bytes())
        connection.execute("RESET ROLE")
        assert schema_dump.dump(connection) == schema_dump.FILE.read_text(encoding="utf-8")


def test_every_table_says_whose_its_rows_are(connection: schema_dump.Connection) -> None:
    rows = connection.execute(
        "SELECT t.relname, a.attnotnull FROM pg_class t LEFT JOIN pg_attribute a"
        " ON a.attrelid = t.oid AND a.attname = 'tenant'"
        " WHERE t.relkind = 'r' AND t.relnamespace = 'checkrein'::regnamespace"
    ).fetchall()
    assert {name for name, tenant in rows if not tenant} == WITHOUT_TENANT


def test_everything_belongs_to_the_owner_role(connection: schema_dump.Connection) -> None:
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'checkrein'::regnamespace"
        " AND relowner <> 'checkrein_owner'::regrole UNION ALL"
        " SELECT proname FROM pg_proc WHERE pronamespace = 'checkrein'::regnamespace"
        " AND proowner <> 'checkrein_owner'::regrole"
    ).fetchall()
    assert rows == []


def test_migrations_are_numbered_without_gaps() -> None:
    found = migrate.migrations()
    assert [migration.number for migration in found] == list(range(1, len(found) + 1))
    assert all(re.fullmatch(r"\d{4}_[a-z_]+", migration.name) for migration in found)


async def test_every_event_type_has_its_place_in_the_projection(store: OpenStore) -> None:
    """Whatever the projection says to it, it does not say that it has never heard of it."""
    unknown: set[str] = set()
    for name, kind in payload_types().items():
        attempt_id = await store.begun()
        try:
            await store.append(attempt_id, [filled(kind)], await store.fence(attempt_id))
        except CheckreinError as error:  # most are refused on an attempt that has just begun
            if "nknown event type" in str(error):
                unknown.add(name)
    assert unknown == BEGINNINGS


async def test_event_types_that_nobody_knows_are_refused(store: OpenStore) -> None:
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    with pytest.raises(psycopg.Error, match="unknown event type prophecy"):
        await store.rows(
            "SELECT checkrein.append(%s, %s, '{prophecy}', '{\"{}\"}', '{}', false)",
            attempt_id,
            fence,
        )
    with pytest.raises(psycopg.Error, match="cannot start with"):
        await store.rows("SELECT checkrein.start('{cancelled}', '{\"{}\"}')")
    assert len(await store.events.read(attempt_id)) == 2
