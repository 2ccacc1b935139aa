"""Migrations: numbered .sql files, applied once, in order, under a lock, by the owner role."""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import LiteralString

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.server import APP_ROLE, OWNER_ROLE, Database, server_version
from checkrein.errors import StoreError

_LOCK = 5_117_330_021
"""Advisory lock key of migrations; any constant that nobody else uses."""


@dataclass(frozen=True)
class Migration:
    """One file: its number, its name and its text."""

    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text, hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class SchemaState:
    """How far a database is: numbers applied, and numbers still to apply."""

    applied: list[int]
    pending: list[int]


def migrations() -> list[Migration]:
    """All migrations that this version ships, in order."""
    folder = resources.files("checkrein.checkpointer") / "migrations"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return [
        Migration(int(name[:4]), name[:-4], (folder / name).read_text(encoding="utf-8"))
        for name in files
    ]


async def state(database: Database) -> SchemaState:
    """Compare the database with this version.

    Raises:
        StoreError: unreachable, too old, migrated by a newer version, or by an altered file.
    """
    await server_version(database)
    async with (
        translating("migrate.state"),
        await psycopg.AsyncConnection.connect(database.login) as connection,
    ):
        return await _state(connection)


async def migrate(database: Database) -> SchemaState:
    """Bring the database to this version; safe when several processes do it at once.

    Raises:
        StoreError: as `state`, or the login may not create roles or schemas.
    """
    await server_version(database)
    async with (
        translating("migrate.migrate"),
        await psycopg.AsyncConnection.connect(database.login, autocommit=True) as connection,
    ):
        await _lock(connection)
        found = await _state(connection)
        if found.pending:
            await _roles(connection)
            # First, since whoever dies in between leaves ours pending and begins here again.
            await _langgraph(database)
            for migration in migrations():
                if migration.number in found.pending:
                    await _apply(connection, migration)
        return await _state(connection)


async def ensure(database: Database) -> None:
    """Migrate the embedded database; of yours, only check that it is up to date."""
    found = await state(database)
    if not found.pending:
        return
    if not database.embedded:
        raise StoreError(
            f"The database lacks {len(found.pending)} migration(s). Run `checkrein db migrate`.",
            op="migrate.ensure",
            code="store_not_migrated",
        )
    await migrate(database)


async def _lock(connection: psycopg.AsyncConnection) -> None:
    """Wait for the lock, with no statement running meanwhile.

    Whoever holds it builds LangGraph's indexes CONCURRENTLY, and that waits for every statement of
    the database: also for one that waits for the lock.
    """
    while True:
        tried = await connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,))
        row = await tried.fetchone()
        if row is not None and row[0]:
            return
        await asyncio.sleep(0.1)


async def _state(connection: psycopg.AsyncConnection) -> SchemaState:
    shipped = {migration.number: migration for migration in migrations()}
    applied: dict[int, str] = {}
    known = await connection.execute("SELECT to_regclass('checkrein.migrations')")
    row = await known.fetchone()
    if row is not None and row[0] is not None:
        rows = await connection.execute("SELECT number, digest FROM checkrein.migrations")
        applied = dict(await rows.fetchall())
    newer = sorted(set(applied) - set(shipped))
    if newer:
        raise StoreError(
            f"The database was migrated by a newer version of Checkrein (migration {newer[-1]}, "
            f"this one ends with {max(shipped)}). Upgrade Checkrein, or use another database.",
            op="migrate.state",
            code="store_newer",
        )
    altered = [n for n, digest in applied.items() if shipped[n].digest != digest]
    if altered:
        raise StoreError(
            f"Migration {altered[0]} was applied with another text than this version ships. "
            "Use the version that made this database, or a fresh database.",
            op="migrate.state",
            code="store_altered",
        )
    return SchemaState(sorted(applied), sorted(set(shipped) - set(applied)))


async def _roles(connection: psycopg.AsyncConnection) -> None:
    """Make the two roles (they belong to the whole server) and let this login act as them."""
    roles: dict[str, LiteralString] = {OWNER_ROLE: "NOLOGIN", APP_ROLE: "LOGIN"}
    for role, form in roles.items():
        found = await connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,))
        if await found.fetchone() is None:
            statement = sql.SQL("CREATE ROLE {} {}").format(sql.Identifier(role), sql.SQL(form))
            # Another database of this server may be migrated at this moment.
            with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
                await connection.execute(statement)
        await connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))
    owner = sql.Identifier(OWNER_ROLE)
    await connection.execute(
        sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(
            sql.Identifier(connection.info.dbname), owner
        )
    )
    for schema in ("checkrein", "langgraph"):
        await connection.execute(
            sql.SQL("CREATE SCHEMA IF NOT EXISTS {} AUTHORIZATION {}").format(
                sql.Identifier(schema), owner
            )
        )
    await connection.execute(
        "CREATE TABLE IF NOT EXISTS checkrein.migrations (number integer PRIMARY KEY, "
        "name text NOT NULL, digest text NOT NULL, applied_at timestamptz NOT NULL)"
    )
    await connection.execute(sql.SQL("ALTER TABLE checkrein.migrations OWNER TO {}").format(owner))


async def _apply(connection: psycopg.AsyncConnection, migration: Migration) -> None:
    async with connection.transaction():
        await connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(OWNER_ROLE)))
        await connection.execute("SET LOCAL search_path = checkrein")
        await connection.execute(migration.text.encode())
        await connection.execute(
            "INSERT INTO checkrein.migrations VALUES (%s, %s, %s, clock_timestamp())",
            (migration.number, migration.name, migration.digest),
        )


async def _langgraph(database: Database) -> None:
    """LangGraph's own tables, in a schema of their own; the application writes their rows."""
    async with await psycopg.AsyncConnection[DictRow].connect(
        database.login,
        options=f"-c role={OWNER_ROLE} -c search_path=langgraph",
        autocommit=True,
        row_factory=dict_row,
    ) as connection:
        await AsyncPostgresSaver(connection).setup()
        app = sql.Identifier(APP_ROLE)
        await connection.execute(sql.SQL("GRANT USAGE ON SCHEMA langgraph TO {}").format(app))
        await connection.execute(
            sql.SQL(
                "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA langgraph TO {}"
            ).format(app)
        )
