"""Single ownership of an attempt, on a connection of its own that holds the advisory lock."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import LiteralString

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Session
from checkrein.checkpointer.records import PostgresRecords
from checkrein.checkpointer.server import Database
from checkrein.checkpointer.store import Observer, PostgresEventStore
from checkrein.contracts.ids import new_owner_id
from checkrein.errors import BusyError, CheckreinError, StoreError

TTL_S = 15.0
"""How long a lease lives without a heartbeat, seconds. The heart beats three times as often."""

_EXPIRED = """
SELECT lease_backend FROM checkrein.attempts
WHERE attempt_id = %s AND lease_owner IS NOT NULL AND lease_until <= checkrein.now()
  AND EXISTS (SELECT FROM pg_locks WHERE pid = lease_backend AND locktype = 'advisory')
"""


class PostgresLease:
    """ports.leases.Lease: a fence, and the session whose advisory lock stands behind it."""

    def __init__(
        self,
        connection: AsyncConnection[DictRow],
        attempt_id: str,
        fence: int,
        observer: Observer | None,
    ) -> None:
        self._connection = connection
        self.attempt_id = attempt_id
        self.fence = fence
        session = Session(connection)
        self.events = PostgresEventStore(session, observer)
        self.records = PostgresRecords(session)

    async def still_owner(self) -> bool:
        """See the port. A session that is lost owns nothing."""
        try:
            return bool(await self.asks("SELECT checkrein.owns(%s, %s) AS said"))
        except StoreError:
            if self._connection.closed:
                return False
            raise

    async def beat(self, ttl: timedelta) -> bool:
        """Live on for another `ttl`; False where another owner has taken over."""
        return bool(await self.asks("SELECT checkrein.beat(%s, %s, %s) AS said", ttl))

    async def release(self) -> None:
        """Give the attempt back. A session that is lost has given it back already."""
        try:
            await self.asks("SELECT checkrein.release(%s, %s) AS said")
        except StoreError:
            if not self._connection.closed:
                raise

    async def asks(self, question: LiteralString, *more: object) -> object:
        """One value about this attempt and fence."""
        async with translating("lease.ask"):
            cursor = await self._connection.execute(question, (self.attempt_id, self.fence, *more))
            row = await cursor.fetchone()
        return None if row is None else row["said"]


class PostgresLeases:
    """ports.leases.Leases. `ttl_s` is given in seconds; tests shorten it."""

    def __init__(
        self, database: Database, ttl_s: float = TTL_S, observer: Observer | None = None
    ) -> None:
        self._database = database
        self._ttl = timedelta(seconds=ttl_s)
        self._observer = observer

    @asynccontextmanager
    async def hold(self, attempt_id: str, *, wait_s: float = 0.0) -> AsyncGenerator[PostgresLease]:
        """See the port."""
        async with translating("lease.hold"):
            connection = await AsyncConnection[DictRow].connect(
                self._database.app, autocommit=True, prepare_threshold=0, row_factory=dict_row
            )
        async with connection:
            async with translating("lease.hold"):
                # Every statement finds its rows by key: no value calls for a plan of its own.
                await connection.execute("SET plan_cache_mode = force_generic_plan")
            fence = await self._taken(connection, attempt_id, wait_s)
            lease = PostgresLease(connection, attempt_id, fence, self._observer)
            heart = asyncio.create_task(self._beat(lease))
            try:
                yield lease
            finally:
                heart.cancel()
                await asyncio.gather(heart, return_exceptions=True)
                await lease.release()

    async def _taken(
        self, connection: AsyncConnection[DictRow], attempt_id: str, wait_s: float
    ) -> int:
        deadline = asyncio.get_running_loop().time() + wait_s
        while True:
            async with translating("lease.take"):
                row = await (
                    await connection.execute(
                        "SELECT checkrein.take_lease(%s, %s, %s) AS fence",
                        (attempt_id, new_owner_id(), self._ttl),
                    )
                ).fetchone()
            if row is not None and row["fence"] is not None:
                return int(row["fence"])
            if await self._ended_frozen_owner(attempt_id):
                continue
            if asyncio.get_running_loop().time() >= deadline:
                raise BusyError(
                    f"Another process holds attempt {attempt_id}. Wait for it, or ask it to stop "
                    "with `checkrein pause` or `checkrein cancel`.",
                    op="lease.hold",
                    context={"attempt_id": attempt_id},
                )
            await asyncio.sleep(0.1)

    async def _ended_frozen_owner(self, attempt_id: str) -> bool:
        """End the backend of an owner whose lease expired while it still holds the lock."""
        async with (
            translating("lease.takeover"),
            await AsyncConnection.connect(self._database.login, autocommit=True) as connection,
        ):
            row = await (await connection.execute(_EXPIRED, (attempt_id,))).fetchone()
            if row is None or row[0] is None:
                return False
            await connection.execute("SELECT pg_terminate_backend(%s, 5000)", (row[0],))
        return True

    async def _beat(self, lease: PostgresLease) -> None:
        """Keep the lease alive. When it is lost this ends; the next write says so by itself."""
        while True:
            await asyncio.sleep(self._ttl.total_seconds() / 3)
            try:
                if not await lease.beat(self._ttl):
                    return
            except CheckreinError:
                return
