"""The Postgres store, opened as the application opens it, with shortcuts for tests of it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import AsyncConnection, sql
from psycopg.rows import DictRow

from checkrein.checkpointer import pool, server
from checkrein.checkpointer.leases import PostgresLeases
from checkrein.checkpointer.pool import Pool
from checkrein.checkpointer.records import PostgresRecords
from checkrein.checkpointer.server import Database
from checkrein.checkpointer.store import PostgresEventStore
from checkrein.contracts import ids
from checkrein.contracts.event import Payload
from checkrein.contracts.task import TaskContract
from checkrein.testing.conformance.story import opening


@dataclass(frozen=True)
class OpenStore:
    """Store, records and leases over one pool, as the application role."""

    database: Database
    pool: Pool
    events: PostgresEventStore
    records: PostgresRecords
    leases: PostgresLeases

    async def begun(
        self,
        contract: TaskContract | None = None,
        task_id: str | None = None,
        number: int = 1,
        parent: str | None = None,
    ) -> str:
        """A new attempt that nobody owns."""
        attempt_id = ids.new_attempt_id()
        await self.events.start(
            opening(attempt_id, contract=contract, task_id=task_id, number=number, parent=parent)
        )
        return attempt_id

    async def fence(self, attempt_id: str, ttl: str = "1 hour") -> int:
        """The fence of an owner that took the attempt, and whose process is gone since."""
        async with await AsyncConnection.connect(self.database.app, autocommit=True) as connection:
            taken = await connection.execute(
                "SELECT checkrein.take_lease(%s, %s, %s::interval)",
                (attempt_id, ids.new_owner_id(), ttl),
            )
            row = await taken.fetchone()
            await connection.execute("SELECT pg_advisory_unlock_all()")
        assert row is not None and row[0] is not None, "somebody else owns the attempt"
        return int(row[0])

    async def append(self, attempt_id: str, payloads: Sequence[Payload], fence: int) -> None:
        """Append under a fence."""
        await self.events.append(attempt_id, payloads, fence=fence)

    async def rows(self, query: LiteralString | sql.Composed, *values: object) -> list[DictRow]:
        """What the application role may read."""
        async with self.pool.connection() as connection:
            return await (await connection.execute(query, values)).fetchall()

    async def value(self, query: LiteralString, *values: object) -> Any:
        """The first column of the only row."""
        (row,) = await self.rows(query, *values)
        return next(iter(row.values()))

    async def by_owner(self, query: LiteralString | sql.Composed, *values: object) -> None:
        """Run a statement that only the database's superuser may: how a tamperer works."""
        async with await AsyncConnection.connect(self.database.login, autocommit=True) as login:
            await login.execute(query, values)


@asynccontextmanager
async def opened_store(
    url: str, *, size: int = 4, ttl_s: float = 15.0
) -> AsyncGenerator[OpenStore]:
    """Open everything on a migrated database."""
    database = server.by_url(url)
    async with pool.opened(database.app, size=size, op="tests.pool") as connections:
        yield OpenStore(
            database,
            connections,
            PostgresEventStore(connections),
            PostgresRecords(connections),
            PostgresLeases(database, ttl_s),
        )
