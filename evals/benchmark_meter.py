"""What the database was asked for: transactions that wrote, log bytes, and bytes in rows."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from psycopg import AsyncConnection, sql

from checkrein.evals.benchmark_runs import Usage

# The next id is looked at, not taken, so that looking writes nothing.
_COUNTERS = """
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
"""
_COLUMNS = """
SELECT c.relname, array_agg(a.attname::text)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind = 'r' AND c.relnamespace = to_regnamespace(%s)
GROUP BY c.relname
"""
_ROW_BYTES = 28
"""A row's header (24 bytes) and its pointer in the page (4)."""


class Meter:
    """Reads the counters of one server, and the rows of the schemas that it is told of."""

    def __init__(self, connection: AsyncConnection, store: str | None, checkpoints: str) -> None:
        self._connection = connection
        self._store = store
        self._checkpoints = checkpoints

    async def read(self) -> Usage:
        """The counters now."""
        store = 0 if self._store is None else await self._bytes(self._store)
        checkpoints = await self._bytes(self._checkpoints)
        row = await (await self._connection.execute(_COUNTERS)).fetchone()
        assert row is not None
        return Usage(int(row[0]), int(row[1]), store, checkpoints)

    async def _bytes(self, schema: str) -> int:
        """Stored bytes of all rows of a schema: values as they lie there, compressed or not."""
        tables = await (await self._connection.execute(_COLUMNS, (schema,))).fetchall()
        total = 0
        for table, columns in tables:
            sizes = sql.SQL(" + ").join(
                sql.SQL("coalesce(pg_column_size({}), 0)").format(sql.Identifier(column))
                for column in columns
            )
            query = sql.SQL("SELECT coalesce(sum({} + {}), 0)::bigint FROM {}").format(
                sizes, sql.Literal(_ROW_BYTES), sql.Identifier(schema, table)
            )
            row = await (await self._connection.execute(query)).fetchone()
            assert row is not None
            total += int(row[0])
        return total


@asynccontextmanager
async def metered(login: str, store: str | None, checkpoints: str) -> AsyncGenerator[Meter]:
    """A meter on a connection of its own."""
    async with await AsyncConnection.connect(login, autocommit=True) as connection:
        yield Meter(connection, store, checkpoints)
