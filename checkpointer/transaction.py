"""The owner's transaction, as an effect of kind same_transaction is given it."""

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from checkrein.checkpointer.faults import translating


class PostgresTransaction:
    """ports.transaction.Transaction on one connection, inside a transaction that is open."""

    def __init__(self, connection: AsyncConnection[DictRow]) -> None:
        self._connection = connection

    async def rows(
        self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[dict[str, Any]]:
        """See the port."""
        async with translating("transaction.rows"):
            # As bytes, since the text is the effect's and no literal of ours.
            cursor = await self._connection.execute(query.encode(), parameters)
            return await cursor.fetchall() if cursor.description is not None else []
