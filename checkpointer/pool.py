"""Connections: one pool for the store, and LangGraph's saver over one of its own."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, cast

import psycopg
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.server import Database
from checkrein.errors import LeaseLostError

Pool = AsyncConnectionPool[AsyncConnection[DictRow]]


class Connections(Protocol):
    """Where a store gets its connection from: a pool, or one session."""

    def connection(self) -> AbstractAsyncContextManager[AsyncConnection[DictRow]]:
        """A connection for one statement."""
        ...


class Session:
    """One connection that one owner keeps; concurrent statements wait for each other."""

    def __init__(self, connection: AsyncConnection[DictRow]) -> None:
        self._connection = connection

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[AsyncConnection[DictRow]]:
        """The connection itself.

        Raises:
            LeaseLostError: it was cut, and the owner's advisory lock with it.
        """
        try:
            yield self._connection
        except psycopg.OperationalError as error:
            if not self._connection.closed:
                raise
            raise LeaseLostError(
                "This process has lost its session with the database, and the attempt with it: "
                "another process took it over, or the server went away. What was stored stands; "
                "`checkrein recover` goes on from there.",
                op="pool.session",
                retryable=True,
            ) from error


class _SaverPool(AsyncConnectionPool[AsyncConnection[DictRow]]):
    """A pool for LangGraph's saver, whose faults are ours and not the driver's."""

    @asynccontextmanager
    async def connection(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - the pool's own signature
    ) -> AsyncGenerator[AsyncConnection[DictRow]]:
        """See psycopg_pool; raises StoreError."""
        async with translating("pool.saver"), super().connection(timeout) as connection:
            yield connection


async def _alive(connection: AsyncConnection[DictRow]) -> None:
    """Prove that a connection still reaches the server; the pool replaces one that does not."""
    await AsyncConnectionPool.check_connection(cast(AsyncConnection, connection))


@asynccontextmanager
async def opened(
    conninfo: str, *, size: int, op: str, kind: type[Pool] = Pool
) -> AsyncGenerator[Pool]:
    """Open a pool whose connections are checked before use, and close it at the end."""
    pool = kind(
        conninfo,
        connection_class=AsyncConnection[DictRow],
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        min_size=1,
        max_size=size,
        timeout=30,
        max_idle=300,
        check=_alive,
        open=False,
    )
    try:
        async with translating(op):
            await pool.open(wait=True, timeout=30)
        yield pool
    finally:
        await pool.close()


@asynccontextmanager
async def saver(database: Database) -> AsyncGenerator[AsyncPostgresSaver]:
    """LangGraph's checkpointer on its own schema. Only plain JSON types are revived from it."""
    conninfo = database.schema("langgraph")
    async with opened(conninfo, size=4, op="pool.saver", kind=_SaverPool) as pool:
        yield AsyncPostgresSaver(pool, serde=JsonPlusSerializer(allowed_msgpack_modules=[]))
