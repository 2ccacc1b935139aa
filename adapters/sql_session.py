"""A connection of a row target's own: what goes wrong on it, and when that leaves a doubt."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg.rows import DictRow, dict_row

from checkrein.errors import CapabilityError

_CONNECT_S = 10
_WAITING = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.QueryCanceled,
    psycopg.errors.SerializationFailure,
    psycopg.errors.DeadlockDetected,
)
REFUSALS = (psycopg.IntegrityError, psycopg.DataError)
"""Errors by which the database says that the values themselves cannot stand."""


class OwnTransaction:
    """ports.transaction.Transaction on a connection of ours; errors stay the driver's."""

    def __init__(self, connection: AsyncConnection[DictRow]) -> None:
        self._connection = connection

    async def rows(
        self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[dict[str, Any]]:
        """See the port, but for the errors."""
        # As bytes: it is composed of checked names, and no literal.
        cursor = await self._connection.execute(query.encode(), parameters)
        return await cursor.fetchall() if cursor.description is not None else []


@asynccontextmanager
async def connected(url: str, op: str) -> AsyncGenerator[AsyncConnection[DictRow]]:
    """A connection; what is not committed when the block ends never happened.

    Raises:
        CapabilityError: whatever the database says against it, with effect_possible false.
    """
    try:
        connection = await AsyncConnection[DictRow].connect(
            url, row_factory=dict_row, connect_timeout=_CONNECT_S
        )
    except psycopg.Error as error:
        raise unreachable(error, op) from error
    try:
        await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
        yield connection
    except psycopg.Error as error:
        raise undone(error, op) from error
    finally:
        await connection.close()


def undone(error: psycopg.Error, op: str) -> CapabilityError:
    """The driver's error before COMMIT was asked for, in our words: nothing happened."""
    if isinstance(error, _WAITING):
        return CapabilityError(
            "Others hold the row. Nothing was changed.",
            op=op,
            code="target_busy",
            advice="Try the same call again.",
            retryable=True,
        )
    if isinstance(error, REFUSALS):
        return CapabilityError(
            f"The database does not take these values: {said(error)}. Nothing was changed.",
            op=op,
            code="values_refused",
            advice="Send values that the columns take.",
        )
    # A session that is cut mid-way carries a code of class 57 or none at all.
    lost = isinstance(error, psycopg.OperationalError) or (error.sqlstate or "").startswith("57")
    if lost:
        return unreachable(error, op)
    return CapabilityError(
        f"The table cannot be used: {said(error)}. Nothing was changed. Check its name, its "
        "columns, and what the role of this connection may do.",
        op=op,
        code="table_unusable",
    )


def unreachable(error: psycopg.Error, op: str) -> CapabilityError:
    """The database cannot be asked now; nothing was changed."""
    return CapabilityError(
        f"The database of the row cannot be reached: {said(error)}. Nothing was changed.",
        op=op,
        code="target_unreachable",
        advice="Try the same call again later.",
        retryable=True,
    )


def said(error: psycopg.Error) -> str:
    """The first line of what the database or the driver said."""
    lines = (error.diag.message_primary or str(error)).strip().splitlines()
    return lines[0].rstrip(".")[:300] if lines else type(error).__name__
