"""The outbox in Postgres: each claim and each record is one function call, one transaction."""

from psycopg.rows import DictRow

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Connections
from checkrein.checkpointer.query_files import queries
from checkrein.contracts.codec import visible
from checkrein.ports.outbox import Claim, DeliveryState, OutboxEntry, Outcome

MAX_NOTE = 300
"""Most characters of a note that are kept."""

_EVERY_TENANT = "*"


class PostgresOutbox:
    """ports.outbox.Outbox over a pool."""

    def __init__(self, connections: Connections) -> None:
        self._pool = connections

    async def claim(
        self, deliverer: str, tenant: str | None, *, most: int, hold_s: float
    ) -> list[Claim]:
        """See the port."""
        rows = await self._rows(
            "claim",
            deliverer=deliverer,
            tenant=tenant or _EVERY_TENANT,
            most=most,
            hold_s=float(hold_s),
        )
        return [Claim.model_validate(row["claim"]) for row in rows]

    async def record(
        self,
        claim: Claim,
        deliverer: str,
        outcome: Outcome,
        *,
        note: str,
        again_s: float,
        give_up_s: float,
    ) -> DeliveryState | None:
        """See the port."""
        (row,) = await self._rows(
            "record",
            n=claim.n,
            deliverer=deliverer,
            **{"try": claim.tries},
            outcome=outcome,
            note=visible(note)[:MAX_NOTE],
            again_s=float(again_s),
            give_up_s=float(give_up_s),
        )
        return None if row["state"] is None else DeliveryState(row["state"])

    async def entries(self, *, limit: int) -> list[OutboxEntry]:
        """See the port."""
        return [OutboxEntry.model_validate(row) for row in await self._rows("entries", limit=limit)]

    async def _rows(self, query: str, **values: object) -> list[DictRow]:
        async with translating(f"outbox.{query}"), self._pool.connection() as connection:
            return await (await connection.execute(queries("outbox.sql")[query], values)).fetchall()
