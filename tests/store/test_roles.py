"""The application role reads, and writes through functions alone; what is stored stays."""

from typing import Any, LiteralString

import psycopg
import pytest
from langgraph.checkpoint.base import CheckpointMetadata, empty_checkpoint
from open_store import OpenStore
from psycopg import sql

from checkrein.checkpointer import pool
from checkrein.testing.conformance.story import asked

CALLABLE = {
    "append",
    "approval_json",
    "beat",
    "books_of",
    "claim_deliveries",
    "effect_json",
    "grant_json",
    "issue_token",
    "now",
    "owns",
    "position_of",
    "record_delivery",
    "release",
    "revoke_token",
    "say",
    "start",
    "take_lease",
    "use_token",
}
"""The functions that the application role may call."""

TABLES: LiteralString = """
SELECT c.relname::text AS name, min(a.attname::text) AS first_column
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relkind = 'r' AND c.relnamespace = 'checkrein'::regnamespace GROUP BY c.relname
"""

WRITES: list[LiteralString] = [
    "INSERT INTO {table} DEFAULT VALUES",
    "UPDATE {table} SET {column} = NULL",
    "DELETE FROM {table}",
    "TRUNCATE {table} CASCADE",
    "DROP TABLE {table}",
    "ALTER TABLE {table} DISABLE TRIGGER ALL",
]


async def attempted(store: OpenStore, write: LiteralString, table: str, column: str) -> None:
    statement = sql.SQL(write).format(
        table=sql.Identifier("checkrein", table), column=sql.Identifier(column)
    )
    async with store.pool.connection() as connection:
        await connection.execute(statement)


async def test_the_application_acts_as_its_own_role(store: OpenStore) -> None:
    assert await store.value("SELECT current_user::text") == "checkrein_app"
    rights = "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls FROM pg_roles"
    assert await store.value(rights + " WHERE rolname = 'checkrein_app'") is False


@pytest.mark.shows(224)
@pytest.mark.parametrize("write", WRITES)
async def test_no_table_can_be_written_past_the_functions(
    write: LiteralString, store: OpenStore
) -> None:
    tables = {row["name"]: row["first_column"] for row in await store.rows(TABLES)}
    assert {"events", "effects", "approvals", "grants", "migrations"} <= tables.keys()
    for table, column in tables.items():
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await attempted(store, write, table, column)


@pytest.mark.shows(224)
async def test_events_can_be_neither_changed_nor_deleted(store: OpenStore) -> None:
    attempt_id = await store.begun()
    before = await store.events.read(attempt_id)
    for column in ("payload", "seq", "hash", "at"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await attempted(store, "UPDATE {table} SET {column} = NULL", "events", column)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await store.rows("DELETE FROM checkrein.events WHERE attempt_id = %s", attempt_id)
    assert await store.events.read(attempt_id) == before


async def test_only_the_functions_of_the_write_path_may_be_called(store: OpenStore) -> None:
    rows = await store.rows(
        "SELECT proname::text AS name, has_function_privilege(oid, 'EXECUTE') AS may"
        " FROM pg_proc WHERE pronamespace = 'checkrein'::regnamespace"
    )
    assert {row["name"] for row in rows if row["may"]} == CALLABLE
    assert {"project", "step_attempt", "store_event", "refuse"} <= {row["name"] for row in rows}
    calls: list[LiteralString] = [
        "SELECT checkrein.step_attempt('x', 'verified')",
        "SELECT checkrein.project(NULL, 'cancelled', '{}', 1)",
    ]
    for call in calls:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await store.rows(call)


async def test_nothing_new_can_be_put_beside_the_functions(store: OpenStore) -> None:
    statements: list[LiteralString] = [
        "CREATE FUNCTION checkrein.now(boolean) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE TABLE checkrein.mine (n int)",
        "CREATE OR REPLACE FUNCTION checkrein.now() RETURNS timestamptz LANGUAGE sql"
        " AS 'SELECT NULL::timestamptz'",
    ]
    for statement in statements:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await store.rows(statement)


async def test_functions_of_the_owner_look_at_temporary_tables_last(store: OpenStore) -> None:
    rows = await store.rows(
        "SELECT proname::text AS name, proconfig AS settings FROM pg_proc"
        " WHERE pronamespace = 'checkrein'::regnamespace AND prosecdef"
    )
    paths = {row["name"]: row["settings"] for row in rows}
    assert set(paths) == CALLABLE - {"now", "approval_json", "effect_json", "grant_json"}
    for name, settings in paths.items():
        assert settings == ["search_path=checkrein, pg_catalog, pg_temp"], name


async def test_a_temporary_table_cannot_stand_in_for_a_real_one(store: OpenStore) -> None:
    """Whoever may connect may make a table `attempts` of its own, with a lease as it likes it."""
    attempt_id = await store.begun()
    async with store.pool.connection() as connection:
        await connection.execute("CREATE TEMP TABLE attempts AS TABLE checkrein.attempts")
        await connection.execute(
            "UPDATE pg_temp.attempts SET lease_owner = 'me', lease_fence = 7,"
            " lease_until = now() + '1 hour'"
        )
        forged = [str(kind.type) for kind in asked()], [p.model_dump_json() for p in asked()]
        with pytest.raises(psycopg.Error, match="fence 7 no longer owns"):
            await connection.execute(
                "SELECT checkrein.append(%s, 7, %s, %s, '{}', true)", (attempt_id, *forged)
            )
        await connection.execute("DROP TABLE pg_temp.attempts")
    assert len(await store.events.read(attempt_id)) == 2


async def test_langgraph_keeps_its_own_schema(store: OpenStore) -> None:
    """LangGraph's saver writes there as the application role, and cannot touch ours."""
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with pool.saver(store.database) as saver:
        metadata: CheckpointMetadata = {"source": "input", "step": -1, "parents": {}}
        await saver.aput(config, empty_checkpoint(), metadata, {})
        found = [item async for item in saver.alist(config)]
        await saver.adelete_thread("t")
    assert len(found) == 1
    tables = await store.rows(
        "SELECT relname::text AS name FROM pg_class WHERE relkind = 'r'"
        " AND relnamespace = 'langgraph'::regnamespace"
    )
    assert {"checkpoints", "checkpoint_writes", "checkpoint_blobs"} <= {t["name"] for t in tables}
