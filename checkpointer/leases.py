"""Single ownership of an attempt, on a connection of its own that holds the advisory lock."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import LiteralString, NamedTuple

from psycopg import AsyncConnection
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Session
from checkrein.checkpointer.records import PostgresRecords
from checkrein.checkpointer.server import Database
from checkrein.checkpointer.store import Observer, PostgresEventStore
from checkrein.checkpointer.transaction import PostgresTransaction
from checkrein.contracts.ids import new_owner_id
from checkrein.errors import BusyError, CheckreinError, StoreError
from checkrein.ports.leases import Heard, Word

TTL_S = 15.0
"""How long a lease lives without a heartbeat, seconds. The heart beats three times as often."""

LOOK_S = 1.0
"""How often an owner looks what people ask of it, seconds: a read of one row, by its key."""

_BUSY_S = 0.01

# What the server itself last heard of the owner tells a frozen one from one that is alive.
_OWNER = """
SELECT a.lease_backend AS backend, extract(epoch FROM s.state_change)::float8 AS heard_at,
    a.lease_until <= checkrein.now() AND EXISTS (
        SELECT FROM pg_locks l WHERE l.pid = a.lease_backend AND l.locktype = 'advisory'
    ) AS expired
FROM checkrein.attempts a LEFT JOIN pg_stat_activity s ON s.pid = a.lease_backend
WHERE a.attempt_id = %s AND a.lease_owner IS NOT NULL
"""

_WORD = """
SELECT CASE WHEN a.lease_owner IS NULL OR a.lease_fence <> me.fence THEN 'taken'
            WHEN a.cancel_reason IS NOT NULL THEN 'cancel'
            WHEN a.pause_requested THEN 'pause' END AS said
FROM (SELECT %s::text AS attempt_id, %s::bigint AS fence) AS me
JOIN checkrein.attempts a USING (attempt_id)
"""


class _Owner(NamedTuple):
    """The session that holds an attempt, and when the server last heard of it."""

    backend: int
    heard_at: float | None
    expired: bool


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
        self._session = Session(connection)
        self.events = PostgresEventStore(self._session, observer)
        self.records = PostgresRecords(self._session)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[PostgresTransaction]:
        """See the port."""
        async with (
            translating("lease.transaction"),
            self._session.connection() as connection,
            connection.transaction(),
        ):
            yield PostgresTransaction(connection)

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

    async def word(self) -> Word | None:
        """What the owner should know now, if anything."""
        said = await self.asks(_WORD)
        return None if said is None else Word(str(said))

    @property
    def busy(self) -> bool:
        """Whether a statement or a transaction of the owner's is under way on its session."""
        open_now = (TransactionStatus.INTRANS, TransactionStatus.INERROR, TransactionStatus.ACTIVE)
        return self._connection.lock.locked() or (
            self._connection.info.transaction_status in open_now
        )

    @property
    def closed(self) -> bool:
        """Whether the session is gone, and the advisory lock with it."""
        return self._connection.closed

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
    async def hold(
        self,
        attempt_id: str,
        *,
        wait_s: float = 0.0,
        frozen_s: float = 0.0,
        heard: Heard | None = None,
    ) -> AsyncGenerator[PostgresLease]:
        """See the port."""
        async with translating("lease.hold"):
            connection = await AsyncConnection[DictRow].connect(
                self._database.app, autocommit=True, prepare_threshold=0, row_factory=dict_row
            )
        async with connection:
            async with translating("lease.hold"):
                # Every statement finds its rows by key: no value calls for a plan of its own.
                await connection.execute("SET plan_cache_mode = force_generic_plan")
            fence = await self._taken(connection, attempt_id, wait_s, frozen_s)
            lease = PostgresLease(connection, attempt_id, fence, self._observer)
            ended = asyncio.Event()
            heart = asyncio.create_task(self._beat(lease, heard or _nobody, ended))
            try:
                yield lease
            finally:
                ended.set()  # not cancelled: a statement cut off would leave the session in doubt
                await heart
                await lease.release()

    async def _taken(
        self,
        connection: AsyncConnection[DictRow],
        attempt_id: str,
        wait_s: float,
        frozen_s: float,
    ) -> int:
        began = asyncio.get_running_loop().time()
        first: _Owner | None = None
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
            owner = await self._owner_looked_at(attempt_id)
            if owner is not None and owner.expired:
                continue
            first = first or owner
            patience = wait_s if _alive(first, owner) else max(wait_s, frozen_s)
            if asyncio.get_running_loop().time() - began >= patience:
                raise BusyError(
                    f"Another process holds attempt {attempt_id}. Wait for it, or ask it to stop "
                    "with `checkrein pause` or `checkrein cancel`.",
                    op="lease.hold",
                    context={"attempt_id": attempt_id},
                )
            await asyncio.sleep(0.1)

    async def _owner_looked_at(self, attempt_id: str) -> _Owner | None:
        """Who holds the attempt. One whose lease has expired while it holds the lock is ended."""
        async with (
            translating("lease.takeover"),
            await AsyncConnection[DictRow].connect(
                self._database.login, autocommit=True, row_factory=dict_row
            ) as connection,
        ):
            row = await (await connection.execute(_OWNER, (attempt_id,))).fetchone()
            if row is None or row["backend"] is None:
                return None
            owner = _Owner(row["backend"], row["heard_at"], row["expired"])
            if owner.expired:
                await connection.execute("SELECT pg_terminate_backend(%s, 5000)", (owner.backend,))
        return owner

    async def _beat(self, lease: PostgresLease, heard: Heard, ended: asyncio.Event) -> None:
        """Keep the lease alive and tell its owner what it should know, until it is lost."""
        loop = asyncio.get_running_loop()
        every = self._ttl.total_seconds() / 3
        due = loop.time() + every
        pause = min(every, LOOK_S)
        while not await _set_within(ended, pause):
            # Never inside a transaction of the owner's: that one may fail, or be rolled back.
            pause = _BUSY_S if lease.busy else min(every, LOOK_S)
            if lease.busy:
                continue
            try:
                if loop.time() >= due:
                    due = loop.time() + every
                    await lease.beat(self._ttl)
                word = await lease.word()
            except CheckreinError:
                if lease.closed:
                    heard(Word.CUT)
                    return
                continue  # it has missed a beat, and tries again with the next
            if word is not None:
                heard(word)
            if word is Word.TAKEN:
                return


def _alive(first: _Owner | None, now: _Owner | None) -> bool:
    """Whether an owner has given a sign of life since the first look: it looks every LOOK_S."""
    return first is not None and now is not None and first.heard_at != now.heard_at


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _nobody(word: Word) -> None:
    """Nobody listens."""
