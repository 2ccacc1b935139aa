"""Single ownership of an attempt, on a connection of its own that holds the advisory lock."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import psycopg
from psycopg import AsyncConnection

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Pool
from checkrein.checkpointer.server import Database
from checkrein.contracts.ids import new_owner_id
from checkrein.errors import BusyError, CheckreinError

TTL_S = 15.0
"""How long a lease lives without a heartbeat, seconds. The heart beats three times as often."""

_EXPIRED = """
SELECT lease_backend FROM checkrein.attempts
WHERE attempt_id = %s AND lease_owner IS NOT NULL AND lease_until <= checkrein.now()
"""


class PostgresLease:
    """ports.leases.Lease: a fence and the row that proves it."""

    def __init__(self, pool: Pool, attempt_id: str, fence: int) -> None:
        self._pool = pool
        self.attempt_id = attempt_id
        self.fence = fence

    async def still_owner(self) -> bool:
        """See the port."""
        async with translating("lease.still_owner"), self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT checkrein.owns(%s, %s) AS mine", (self.attempt_id, self.fence)
                )
            ).fetchone()
        return bool(row and row["mine"])


class PostgresLeases:
    """ports.leases.Leases. `ttl_s` is given in seconds; tests shorten it."""

    def __init__(self, database: Database, pool: Pool, ttl_s: float = TTL_S) -> None:
        self._database = database
        self._pool = pool
        self._ttl = timedelta(seconds=ttl_s)

    @asynccontextmanager
    async def hold(self, attempt_id: str, *, wait_s: float = 0.0) -> AsyncIterator[PostgresLease]:
        """See the port."""
        async with translating("lease.hold"):
            connection = await AsyncConnection.connect(self._database.app, autocommit=True)
        async with connection:
            fence = await self._taken(connection, attempt_id, wait_s)
            heart = asyncio.create_task(self._beat(connection, attempt_id, fence))
            try:
                yield PostgresLease(self._pool, attempt_id, fence)
            finally:
                heart.cancel()
                await asyncio.gather(heart, return_exceptions=True)
                # A connection that was cut holds nothing any more: there is nothing to give back.
                with suppress(psycopg.OperationalError):
                    await connection.execute(
                        "SELECT checkrein.release(%s, %s)", (attempt_id, fence)
                    )

    async def _taken(self, connection: AsyncConnection, attempt_id: str, wait_s: float) -> int:
        deadline = asyncio.get_running_loop().time() + wait_s
        while True:
            async with translating("lease.take"):
                row = await (
                    await connection.execute(
                        "SELECT checkrein.take_lease(%s, %s, %s)",
                        (attempt_id, new_owner_id(), self._ttl),
                    )
                ).fetchone()
            if row is not None and row[0] is not None:
                return int(row[0])
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

    async def _beat(self, connection: AsyncConnection, attempt_id: str, fence: int) -> None:
        """Keep the lease alive. When it is lost this ends; the next write says so by itself."""
        while True:
            await asyncio.sleep(self._ttl.total_seconds() / 3)
            try:
                row = await (
                    await connection.execute(
                        "SELECT checkrein.beat(%s, %s, %s)", (attempt_id, fence, self._ttl)
                    )
                ).fetchone()
            except (psycopg.Error, CheckreinError):
                return
            if row is None or not row[0]:
                return
