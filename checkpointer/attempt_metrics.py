"""Counting attempts by class, from what the database holds already. Nothing here writes."""

from datetime import datetime

from psycopg.rows import DictRow

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Connections
from checkrein.checkpointer.query_files import queries
from checkrein.ports.attempt_metrics import AttemptClass, AttemptMetrics, ErrorClass


class PostgresAttemptReports:
    """ports.attempt_metrics.AttemptReports over a pool."""

    def __init__(self, connections: Connections) -> None:
        self._pool = connections

    async def metrics(
        self,
        *,
        since: datetime | None = None,
        ago_s: float | None = None,
        tenant: str | None = None,
    ) -> AttemptMetrics:
        """See the port."""
        (moment,) = await self._rows("moment", since=since, ago_s=ago_s)
        chosen = {"since": moment["since"], "tenant": tenant}
        classes = [
            AttemptClass.model_validate(row) for row in await self._rows("classes", **chosen)
        ]
        errors = [ErrorClass.model_validate(row) for row in await self._rows("errors", **chosen)]
        signals = await self._rows("no_progress", **chosen)
        return AttemptMetrics(
            since=moment["since"],
            total=sum(one.attempts for one in classes),
            classes=classes,
            errors=errors,
            no_progress={row["signal"]: row["times"] for row in signals},
        )

    async def _rows(self, query: str, **values: object) -> list[DictRow]:
        async with translating(f"attempt_metrics.{query}"), self._pool.connection() as connection:
            return await (
                await connection.execute(queries("attempt_metrics.sql")[query], values)
            ).fetchall()
