"""Reads of recorded decisions with their exact inputs. Nothing here writes."""

from collections.abc import AsyncIterator
from datetime import datetime

from psycopg.rows import DictRow

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Connections
from checkrein.checkpointer.query_files import queries
from checkrein.contracts.codec import digest
from checkrein.contracts.decision import PolicyDecision
from checkrein.contracts.event import PAYLOADS
from checkrein.errors import InputError, IntegrityError
from checkrein.ports.decisions import RecordedChange, RecordedDecision

PAGE = 100
"""Decisions that are read at once, with their inputs."""

LISTED = 20
"""Decisions of an attempt that a message lists."""


class PostgresDecisions:
    """ports.decisions.Decisions over a pool."""

    def __init__(self, connections: Connections) -> None:
        self._pool = connections

    async def one(self, attempt_id: str, seq: int) -> RecordedDecision:
        """See the port."""
        rows = await self._rows("one", attempt=attempt_id, seq=seq)
        if rows:
            return _recorded(rows[0])
        known = await self._rows("of_attempt", attempt=attempt_id, limit=LISTED)
        listed = ", ".join(
            f"{row['seq']} ({row['decision']}, {row['reason_code']}, {row['phase']})"
            for row in known
        )
        raise InputError(
            f"Event {seq} of attempt {attempt_id} records no decision. "
            f"{f'These do: {listed}' if listed else 'No event of it does'}.",
            op="decisions.one",
            code="unknown_decision",
            context={"attempt_id": attempt_id, "seq": seq},
        )

    async def since(self, moment: datetime | None) -> AsyncIterator[RecordedDecision]:
        """See the port."""
        after_attempt, after_seq = "", 0
        while True:
            rows = await self._rows(
                "page",
                since=moment,
                after_attempt=after_attempt,
                after_seq=after_seq,
                limit=PAGE,
            )
            for row in rows:
                yield _recorded(row)
            if len(rows) < PAGE:
                return
            after_attempt, after_seq = rows[-1]["attempt_id"], rows[-1]["seq"]

    async def last_change(self) -> RecordedChange | None:
        """See the port."""
        rows = await self._rows("last_change")
        if not rows:
            return None
        return RecordedChange.model_validate(
            {**rows[0], "change": PAYLOADS.validate_json(rows[0]["change"])}
        )

    async def _rows(self, query: str, **values: object) -> list[DictRow]:
        async with translating(f"decisions.{query}"), self._pool.connection() as connection:
            return await (
                await connection.execute(queries("decisions.sql")[query], values)
            ).fetchall()


def _recorded(row: DictRow) -> RecordedDecision:
    decision = PolicyDecision.model_validate(row["decision"])
    data = None if row["input"] is None else bytes(row["input"])
    name = f"{row['attempt_id']}/{row['seq']}"
    if data is None and decision.input_ref:
        raise IntegrityError(
            f"The input of decision {name} is not stored any more ({decision.input_ref}).",
            op="decisions.read",
        )
    if data is not None and digest(data) != decision.input_ref:
        raise IntegrityError(
            f"The stored input of decision {name} has changed; it cannot be judged again.",
            op="decisions.read",
        )
    return RecordedDecision.model_validate({**row, "decision": decision, "input": data})
