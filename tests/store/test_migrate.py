"""Migrating: once, by whoever comes first, and never a database that is not ours to change."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import LiteralString

import psycopg
import pytest
from databases import fresh_database

from checkrein.checkpointer import migrate, server
from checkrein.checkpointer.server import Database
from checkrein.errors import InputError, StoreError

CHILD = """
import asyncio, json, sys
from checkrein.checkpointer import migrate, server
state = asyncio.run(migrate.migrate(server.by_url(sys.argv[1])))
print(json.dumps([state.applied, state.pending]))
"""


@pytest.fixture
def empty_url(server_url: str) -> Iterator[str]:
    """A database in which nothing was ever made."""
    with fresh_database(server_url, "template1") as url:
        yield url


def everything() -> list[int]:
    return [migration.number for migration in migrate.migrations()]


def changed(url: str, statement: LiteralString) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


async def test_four_processes_at_once_migrate_an_empty_database(empty_url: str) -> None:
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            CHILD,
            empty_url,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONWARNINGS": "error"},
        )
        for _ in range(4)
    ]
    for process in processes:
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        assert json.loads(out) == [everything(), []]
    with psycopg.connect(empty_url) as connection:
        rows = connection.execute("SELECT number FROM checkrein.migrations ORDER BY 1").fetchall()
        assert [number for (number,) in rows] == everything()
        found = connection.execute("SELECT to_regclass('langgraph.checkpoints')").fetchone()
        assert found is not None and found[0] is not None


async def test_migrating_again_changes_nothing(database_url: str) -> None:
    database = server.by_url(database_url)
    with psycopg.connect(database_url) as connection:
        query = "SELECT number, digest, applied_at FROM checkrein.migrations ORDER BY 1"
        before = connection.execute(query).fetchall()
        again = await migrate.migrate(database)
        assert (again.applied, again.pending) == (everything(), [])
        assert connection.execute(query).fetchall() == before
    assert await migrate.state(database) == again
    await migrate.ensure(database)


async def test_an_empty_database_is_only_looked_at(empty_url: str) -> None:
    """Of yours nothing is migrated without being asked; the embedded one is."""
    database = server.by_url(empty_url)
    assert (await migrate.state(database)).pending == everything()
    with pytest.raises(StoreError, match="Run `checkrein db migrate`") as pending:
        await migrate.ensure(database)
    assert pending.value.code == "store_not_migrated"
    with psycopg.connect(empty_url) as connection:
        found = connection.execute("SELECT to_regnamespace('checkrein')").fetchone()
    assert found == (None,)
    await migrate.ensure(replace(database, embedded=True))
    assert (await migrate.state(database)).pending == []


async def test_a_migration_that_fails_leaves_nothing_and_is_taken_up_again(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between two migrations, or in one: the next goes on from there."""
    whole = migrate.migrations()
    broken = replace(whole[2], text="CREATE TABLE half (n int); SELECT 1/0;")
    monkeypatch.setattr(migrate, "migrations", lambda: [*whole[:2], broken, *whole[3:]])
    database = server.by_url(empty_url)
    with pytest.raises(StoreError, match="22012"):
        await migrate.migrate(database)
    with psycopg.connect(empty_url) as connection:
        assert connection.execute("SELECT to_regclass('checkrein.half')").fetchone() == (None,)
    monkeypatch.undo()
    assert (await migrate.state(database)).applied == [1, 2]
    assert (await migrate.migrate(database)).pending == []
    with psycopg.connect(empty_url) as connection:
        found = connection.execute("SELECT to_regclass('langgraph.checkpoints')").fetchone()
    assert found is not None and found[0] is not None


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (
            "INSERT INTO checkrein.migrations VALUES (9999, 'x', 'y', now())",
            "store_newer",
            "migration 9999",
        ),
        (
            "UPDATE checkrein.migrations SET digest = 'x' WHERE number = 3",
            "store_altered",
            "Migration 3 was applied with another text",
        ),
    ],
)
async def test_a_database_of_another_version_is_left_alone(
    change: LiteralString, code: str, told: str, database_url: str
) -> None:
    changed(database_url, change)
    database = server.by_url(database_url)
    for attempt in (migrate.state, migrate.migrate, migrate.ensure):
        with pytest.raises(StoreError, match=told) as refused:
            await attempt(database)
        assert refused.value.code == code


async def test_a_server_that_is_too_old_is_named(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "OLDEST", 990000)
    for attempt in (migrate.state, migrate.migrate, server.server_version):
        with pytest.raises(StoreError, match=r"This Postgres is \d\d; Checkrein needs 99") as old:
            await attempt(server.by_url(shared_url))
        assert old.value.code == "store_too_old"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://nobody@127.0.0.1:1/none?connect_timeout=3",
        "postgresql://postgres@/none?host=/nowhere/at/all",
    ],
)
async def test_a_server_that_cannot_be_reached_is_told_with_advice(url: str) -> None:
    for attempt in (migrate.state, migrate.migrate, migrate.ensure):
        with pytest.raises(StoreError, match="Check that it runs") as unreachable:
            await attempt(server.by_url(url))
        assert unreachable.value.retryable
        assert "CHECKREIN_DATABASE_URL" in str(unreachable.value)


async def test_a_database_that_is_not_there_is_told(server_url: str) -> None:
    with pytest.raises(StoreError, match='database "absent" does not exist'):
        await migrate.state(server.by_url(server_url.format(name="absent")))


@pytest.mark.parametrize("url", ["http://[", "postgresql://[host/x", "nonsense"])
def test_what_is_no_address_of_a_database_is_unusable_input(url: str) -> None:
    with pytest.raises(InputError, match="CHECKREIN_DATABASE_URL is no Postgres URL"):
        server.by_url(url)


async def test_a_login_that_may_not_migrate_is_told_so(empty_url: str) -> None:
    changed(empty_url, "DROP ROLE IF EXISTS a_guest")
    changed(empty_url, "CREATE ROLE a_guest LOGIN")
    guest: Database = server.by_url(empty_url.replace("postgres@", "a_guest@"))
    with pytest.raises(StoreError, match="with a role that may") as refused:
        await migrate.migrate(guest)
    assert refused.value.code == "store_refuses"
    changed(empty_url, "DROP ROLE a_guest")


async def test_the_password_of_a_url_is_in_no_message() -> None:
    url = "postgresql://bob:s3cret@127.0.0.1:1/none?connect_timeout=3"
    with pytest.raises(StoreError) as unreachable:
        await migrate.state(server.by_url(url))
    assert "s3cret" not in str(unreachable.value)
    assert "s3cret" not in repr(unreachable.value.context)
