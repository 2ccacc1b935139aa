"""What a person or program is told about an attempt: one shape for every command."""

from collections import Counter
from typing import Any

from pydantic import Field

from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget, BudgetLine
from checkrein.contracts.codec import Frozen
from checkrein.contracts.effect import FINAL
from checkrein.contracts.evidence import Acceptance, Finishes
from checkrein.contracts.judgement import Judgement
from checkrein.contracts.task import TaskStatus
from checkrein.contracts.verification import VerificationResult
from checkrein.graph.finishes import finishes_told
from checkrein.nodes.waiting import waiting_for
from checkrein.ports.records import Records


class Report(Frozen):
    """Where an attempt stands.

    Attributes:
        waiting_for: why it is suspended, in one sentence; None where it is not.
        approvals: the requests of the attempt that are open.
        judgements: what people are asked about the sealed candidate.
        effects: how many effects there are, by status.
        unsettled: ids of the effects whose fate is not known.
        task_status: where its task stands.
        purpose: `work`, or `commit` for the final commit of what was verified.
        finishes: the model stopped, the verifier accepted, a person signed; None where not.
        evidence: digest of the event chain's head, once the attempt has ended.
        workspace: the folder that the attempt works in.
        unfinished: what was undone when a budget ran out.
        warnings: what a person should know besides.
    """

    task_id: str
    attempt_id: str
    status: AttemptStatus
    task_status: TaskStatus | None = None
    purpose: str = "work"
    finishes: Finishes = Finishes()
    detail: str = ""
    waiting_for: str | None = None
    approvals: list[ApprovalRequest] = Field(default_factory=list[ApprovalRequest])
    judgements: list[Judgement] = Field(default_factory=list[Judgement])
    effects: dict[str, int] = Field(default_factory=dict[str, int])
    unsettled: list[str] = Field(default_factory=list[str])
    verification: VerificationResult | None = None
    evidence: str | None = None
    workspace: str
    budgets: dict[Budget, BudgetLine] = Field(default_factory=dict[Budget, BudgetLine])
    turns: int = 0
    unfinished: list[str] = Field(default_factory=list[str])
    lease_alive: bool = False
    warnings: list[str] = Field(default_factory=list[str])

    @property
    def signatures(self) -> list[Acceptance]:
        """Who signed what was verified."""
        return self.finishes.user_accepted

    @property
    def verified(self) -> bool:
        """Whether an independent verifier accepted the result."""
        return self.status is AttemptStatus.CANDIDATE_VERIFIED


async def report(records: Records, attempt_id: str, **more: Any) -> Report:
    """Read where an attempt stands.

    Raises:
        InputError: no such attempt.
    """
    position = await records.position(attempt_id)
    attempt = position.attempt
    effects = await records.effects(attempt_id)
    waiting = waiting_for(position)
    ended = attempt.status.is_terminal
    return Report(
        task_id=attempt.task_id,
        attempt_id=attempt_id,
        status=attempt.status,
        task_status=(await records.task(attempt.task_id)).status,
        purpose=attempt.purpose,
        finishes=finishes_told(await records.milestones(attempt_id)),
        detail=position.detail,
        waiting_for=waiting.reason if waiting and attempt.status.is_suspended else None,
        approvals=[] if ended else await records.approvals(attempt_id),
        judgements=[] if ended else position.asks_people,
        effects=dict(Counter(str(effect.status) for effect in effects)),
        unsettled=[effect.effect_id for effect in effects if effect.status not in FINAL],
        verification=position.verification,
        evidence=position.head_hash if ended else None,
        workspace=attempt.workspace_ref.root,
        budgets=position.budgets,
        turns=0 if position.turn is None else position.turn.turn,
        unfinished=position.unfinished,
        lease_alive=position.lease_alive,
        **more,
    )
