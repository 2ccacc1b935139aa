"""Reads of the projected tables. Nothing here writes."""

from typing import Any

from psycopg.rows import DictRow

from checkrein.checkpointer.faults import translating
from checkrein.checkpointer.pool import Connections
from checkrein.checkpointer.query_files import queries
from checkrein.contracts.action import Action
from checkrein.contracts.approval import ApprovalGrant, ApprovalRequest
from checkrein.contracts.attempt import Attempt
from checkrein.contracts.budget import BookLine
from checkrein.contracts.decision import PolicyDecision
from checkrein.contracts.effect import Effect
from checkrein.contracts.environment import ChosenEnvironment
from checkrein.contracts.event import PAYLOADS
from checkrein.contracts.observation import Observation
from checkrein.contracts.task import Task
from checkrein.contracts.verification import CheckResult, VerificationResult
from checkrein.errors import InputError
from checkrein.ports.records import (
    ActionState,
    AttemptSummary,
    EffectRecord,
    Milestone,
    Position,
    SentEffect,
    TurnRecord,
    Word,
)


class PostgresRecords:
    """ports.records.Records over a pool, or over an owner's session."""

    def __init__(self, connections: Connections) -> None:
        self._pool = connections

    async def position(self, attempt_id: str) -> Position:
        """See the port."""
        async with translating("records.position"), self._pool.connection() as connection:
            row = await (
                await connection.execute("SELECT checkrein.position_of(%s) AS p", (attempt_id,))
            ).fetchone()
        if row is None or row["p"] is None:
            raise _no_attempt(attempt_id, "records.position")
        return position_from(row["p"])

    async def history(self, attempt_id: str, *, before: int, limit: int) -> list[TurnRecord]:
        """See the port."""
        rows = await self._rows("history", attempt=attempt_id, before=before, limit=limit)
        return [
            TurnRecord(
                turn=row["turn"],
                raw=bytes(row["raw"]),
                observations=[Observation.model_validate(o) for o in row["observations"]],
                question=row["text"] if row["waits_for"] == "question" else None,
                question_call=row["waits_call"],
                answer=row["answer"],
                feedback=None
                if row["feedback"] is None
                else VerificationResult.model_validate(row["feedback"]),
            )
            for row in reversed(rows)
        ]

    async def task(self, task_id: str) -> Task:
        """See the port."""
        rows = await self._rows("task", task=task_id)
        if not rows:
            raise InputError(
                f"There is no task {task_id}. `checkrein status` lists them.",
                op="records.task",
                code="unknown_task",
            )
        return Task.model_validate(rows[0])

    async def attempts(
        self, task_id: str | None = None, *, limit: int = 50
    ) -> list[AttemptSummary]:
        """See the port."""
        rows = await self._rows("attempts", task=task_id, limit=limit)
        return [AttemptSummary.model_validate(row) for row in rows]

    async def unfinished(self) -> list[AttemptSummary]:
        """See the port."""
        return [AttemptSummary.model_validate(row) for row in await self._rows("unfinished")]

    async def approvals(
        self, attempt_id: str | None = None, *, open_only: bool = True
    ) -> list[ApprovalRequest]:
        """See the port."""
        rows = await self._rows("approvals", attempt=attempt_id, open_only=open_only)
        return [ApprovalRequest.model_validate(row["approval"]) for row in rows]

    async def approval(self, approval_id: str) -> tuple[ApprovalRequest, list[ApprovalGrant]]:
        """See the port."""
        rows = await self._rows("approval", approval=approval_id)
        if not rows:
            raise InputError(
                f"There is no approval {approval_id}. `checkrein approvals` lists the open ones.",
                op="records.approval",
                code="unknown_approval",
            )
        return (
            ApprovalRequest.model_validate(rows[0]["approval"]),
            [ApprovalGrant.model_validate(grant) for grant in rows[0]["grants"]],
        )

    async def overdue(self) -> list[ApprovalRequest]:
        """See the port."""
        rows = await self._rows("overdue")
        return [ApprovalRequest.model_validate(row["approval"]) for row in rows]

    async def effects(self, attempt_id: str) -> list[Effect]:
        """See the port."""
        rows = await self._rows("effects", attempt=attempt_id)
        return [Effect.model_validate(row["effect"]) for row in rows]

    async def ledger(self, attempt_id: str | None = None) -> list[EffectRecord]:
        """See the port."""
        rows = await self._rows("ledger", attempt=attempt_id, effect=None)
        return [EffectRecord.model_validate(row) for row in rows]

    async def sent(self, attempt_id: str) -> list[SentEffect]:
        """See the port."""
        rows = await self._rows("sent", attempt=attempt_id)
        return [SentEffect.model_validate(row) for row in rows]

    async def effect(self, effect_id: str) -> EffectRecord:
        """See the port."""
        rows = await self._rows("ledger", attempt=None, effect=effect_id)
        if not rows:
            raise InputError(
                f"There is no effect {effect_id}. `checkrein effects` lists them.",
                op="records.effect",
                code="unknown_effect",
            )
        return EffectRecord.model_validate(rows[0])

    async def authority(self, tenant: str | None = None) -> list[Word]:
        """See the port."""
        return [Word.model_validate(row) for row in await self._rows("authority", tenant=tenant)]

    async def repeats(self, attempt_id: str, action: Action) -> bool:
        """See the port."""
        rows = await self._rows(
            "repeats",
            attempt=attempt_id,
            type=action.type,
            resource=action.resource,
            args_hash=action.args_hash,
        )
        return bool(rows)

    async def books(self, attempt_id: str) -> list[BookLine]:
        """See the port."""
        rows = await self._rows("books", attempt=attempt_id)
        if not rows:
            raise _no_attempt(attempt_id, "records.books")
        return [BookLine.model_validate(row) for row in rows]

    async def environment(self, attempt_id: str) -> ChosenEnvironment | None:
        """See the port."""
        rows = await self._rows("environment", attempt=attempt_id)
        return ChosenEnvironment.model_validate(rows[0]["environment"]) if rows else None

    async def opinions(self, attempt_id: str, state_digest: str) -> dict[str, CheckResult]:
        """See the port."""
        rows = await self._rows("opinions", attempt=attempt_id, sealed=state_digest)
        return {row["check_id"]: CheckResult.model_validate(row["result"]) for row in rows}

    async def milestones(self, attempt_id: str) -> list[Milestone]:
        """See the port."""
        rows = await self._rows("milestones", attempt=attempt_id)
        return [
            Milestone(
                type=row["type"], at=row["at"], payload=PAYLOADS.validate_json(row["payload"])
            )
            for row in rows
        ]

    async def dossier(self, attempt_id: str) -> dict[str, Any]:
        """See the port."""
        rows = await self._rows("dossier", attempt=attempt_id)
        if not rows:
            raise _no_attempt(attempt_id, "records.dossier")
        dossier: dict[str, Any] = rows[0]["dossier"]
        return dossier

    async def resolve(self, prefix: str) -> str:
        """See the port."""
        rows = await self._rows("resolve", prefix=prefix)
        if len(rows) == 1:
            return str(rows[0]["attempt_id"])
        if rows and len(prefix) < 36:
            raise InputError(
                f"Several attempts begin with {prefix}. Give more of the id.",
                op="records.resolve",
                code="ambiguous_attempt",
            )
        raise _no_attempt(prefix, "records.resolve")

    async def _rows(self, query: str, **values: object) -> list[DictRow]:
        async with translating(f"records.{query}"), self._pool.connection() as connection:
            return await (
                await connection.execute(queries("records.sql")[query], values)
            ).fetchall()


def position_from(p: dict[str, Any]) -> Position:
    """Read what checkrein.position_of returns."""
    attempt = p["body"] | {"status": p["status"], "started_at": p["started_at"]}
    return Position.model_validate(
        {key: value for key, value in p.items() if key not in {"body", "status", "started_at"}}
        | {
            "attempt": Attempt.model_validate(attempt),
            "actions": [_action(x) for x in p["actions"]],
        }
    )


def _action(x: dict[str, Any]) -> ActionState:
    return ActionState(
        action=Action.model_validate(x["action"] | {"status": x["status"]}),
        operation_hash=x["operation_hash"],
        permission=x["permission"],
        decision=x["decision"] and PolicyDecision.model_validate(x["decision"]),
        approval=x["approval"] and ApprovalRequest.model_validate(x["approval"]),
        grants=[ApprovalGrant.model_validate(grant) for grant in x["grants"]],
        effect=x["effect"] and Effect.model_validate(x["effect"]),
        effect_age_s=x["effect_age_s"],
        observed=x["observed"],
    )


def _no_attempt(attempt_id: str, op: str) -> InputError:
    return InputError(
        f"There is no attempt {attempt_id}. `checkrein status` lists them.",
        op=op,
        code="unknown_attempt",
    )
