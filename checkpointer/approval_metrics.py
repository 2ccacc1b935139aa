"""Counting approvals, from what the database holds already. Nothing here writes."""

from datetime import datetime

from psycopg.rows import DictRow

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Connections
from checkrein.checkpointer.query_files import queries
from checkrein.ports.approval_metrics import BLIND_S, ApprovalMetrics, RuleMetrics


class PostgresApprovalReports:
    """ports.approval_metrics.ApprovalReports over a pool."""

    def __init__(self, connections: Connections) -> None:
        self._pool = connections

    async def metrics(
        self,
        *,
        since: datetime | None = None,
        ago_s: float | None = None,
        tenant: str | None = None,
    ) -> ApprovalMetrics:
        """See the port."""
        (moment,) = await self._rows("moment", since=since, ago_s=ago_s)
        chosen = {"since": moment["since"], "tenant": tenant}
        (decided,) = await self._rows("decided", **chosen)
        found = await self._rows("by_rule", **chosen, blind_s=BLIND_S)
        rules = {row.pop("reason_code"): RuleMetrics.model_validate(row) for row in found}
        return ApprovalMetrics(since=moment["since"], total=rules.pop(None), rules=rules, **decided)

    async def _rows(self, query: str, **values: object) -> list[DictRow]:
        async with translating(f"approval_metrics.{query}"), self._pool.connection() as connection:
            return await (
                await connection.execute(queries("approval_metrics.sql")[query], values)
            ).fetchall()
