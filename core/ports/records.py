"""Reading what the events amount to: where an attempt stands, and what happened so far."""

from datetime import datetime
from typing import Any, Protocol

from pydantic import Field

from checkrein.contracts.action import Action
from checkrein.contracts.approval import Answer, ApprovalGrant, ApprovalRequest
from checkrein.contracts.attempt import Attempt
from checkrein.contracts.budget import BookLine, Budget, BudgetLine, NearLimit
from checkrein.contracts.codec import Frozen
from checkrein.contracts.decision import PolicyDecision, Verdict
from checkrein.contracts.effect import Effect, EffectStatus, ToolTry
from checkrein.contracts.environment import ChosenEnvironment
from checkrein.contracts.event import Payload
from checkrein.contracts.judgement import Judgement
from checkrein.contracts.observation import Observation
from checkrein.contracts.permission import Permission
from checkrein.contracts.progress import Notice
from checkrein.contracts.task import Task, TaskContract
from checkrein.contracts.verification import CheckResult, VerificationResult


class TurnState(Frozen):
    """The newest turn. status: REQUESTED (model called), RESPONDED (reply stored), CLOSED.

    `model`: by which name the model was asked; None before it was.
    """

    turn: int
    status: str
    raw_ref: str | None = None
    manifest_ref: str | None = None
    sent: str = ""
    lowest_trust: str = "platform"
    model_tries: int = 0
    model: str | None = None
    waits_for: str | None = None
    text: str = ""


class ActionState(Frozen):
    """One action of the newest turn, with everything that was recorded about it.

    Of a call whose arguments a person changed, only the newest action is among them.

    Attributes:
        permission: the one that it was sent under, where no approval of its own was asked for.
        approval, grants: the newest request about it, and what people said to that, oldest first.
        effect: the ledger's row under the action's scoped key, whichever action made it.
        effect_age_s: seconds since that row was bound, by the database's clock.
    """

    action: Action
    operation_hash: str | None = None
    permission: str | None = None
    decision: PolicyDecision | None = None
    approval: ApprovalRequest | None = None
    grants: list[ApprovalGrant] = Field(default_factory=list[ApprovalGrant])
    effect: Effect | None = None
    effect_age_s: float | None = None
    observed: bool = False

    def answered(self, answer: Answer) -> ApprovalGrant | None:
        """The newest answer of one kind."""
        return next((g for g in reversed(self.grants) if g.answer is answer), None)


class Noticed(Notice):
    """The newest notice that the run goes in circles, and what has become of it.

    Attributes:
        answered: a person has answered since, so that it is over.
        switched: the fallback model decides, by this notice or by one before it.
    """

    answered: bool = False
    switched: bool = False


class Position(Frozen):
    """Where an attempt stands. Nodes find their place here, never in the graph's state.

    Attributes:
        observed: positions of the newest turn's calls that have their result.
        sealed: digest of the sealed candidate, while one is being judged.
        idle_turns: how many of the last turns in a row made no usable proposal.
        denied_turns: how many of the last turns in a row were denied altogether.
        denials: how many calls of the attempt were denied or rejected so far.
        private_seen, untrusted_seen: whether it has read private data, and text from outside.
        plan_accepted, result_accepted: digest of the plan, and of the state, that a person
            accepted.
        revocations, grants: what people of the tenant took back and gave, as kind:value, by the
            newest word on each.
        permissions: what people of the task said yes to for more than one action, still good.
        progress: the newest notice that the run goes in circles.
        exhausted, unfinished: the budget whose limit stopped the attempt, and what was undone then,
            until it is resumed.
        budgets: of each budget the one with the least left: the attempt's own, its task's, or that
            of its parent. A budget that nobody limits is missing.
        held: what this attempt itself holds reserved.
        near: budgets of which little is left.
        judgements: what people were asked about the newest turn's states, or have said of the
            sealed one, in order of asking.
    """

    attempt: Attempt
    head_seq: int
    head_hash: str
    pause_requested: bool
    cancel_reason: str | None
    exhausted: Budget | None = None
    turn: TurnState | None
    actions: list[ActionState]
    observed: list[int]
    budgets: dict[Budget, BudgetLine]
    held: dict[Budget, int] = Field(default_factory=dict[Budget, int])
    near: list[NearLimit] = Field(default_factory=list[NearLimit])
    unfinished: list[str] = Field(default_factory=list[str])
    sealed: str | None = None
    verification: VerificationResult | None = None
    idle_turns: int = 0
    denied_turns: int = 0
    denials: int = 0
    progress: Noticed | None = None
    private_seen: bool = False
    untrusted_seen: bool = False
    plan_accepted: str | None = None
    result_accepted: str | None = None
    revocations: list[str] = Field(default_factory=list[str])
    grants: list[str] = Field(default_factory=list[str])
    permissions: list[Permission] = Field(default_factory=list[Permission])
    judgements: list[Judgement] = Field(default_factory=list[Judgement])
    lease_alive: bool = False
    detail: str = ""

    @property
    def asks_people(self) -> list[Judgement]:
        """What people are asked about the sealed state; nothing more once one of them said fail."""
        here = [j for j in self.judgements if j.state_digest == self.sealed]
        if any(j.verdict == "fail" for j in here):
            return []
        return [j for j in here if j.open]

    def planning(self, contract: TaskContract) -> bool:
        """Whether nothing may change, since the task is in plan mode and no plan was accepted."""
        return contract.plan_mode and self.plan_accepted is None and self.attempt.purpose == "work"


class TurnRecord(Frozen):
    """One closed turn, as the context compiler needs it."""

    turn: int
    raw: bytes
    observations: list[Observation]
    question: str | None = None
    question_call: str | None = None
    answer: str | None = None
    feedback: VerificationResult | None = None


class EffectRecord(Frozen):
    """One effect with what it was made by.

    Attributes:
        capability: the type (capability@version) of the action that made it.
        args: that action's arguments.
        tries: every send of it, oldest first.
    """

    effect: Effect
    task_id: str
    capability: str
    args: dict[str, Any]
    tries: list[ToolTry]


class SentEffect(Frozen):
    """One effect that left, with what it left under; by the database's own record.

    Attributes:
        verdict: the policy's last answer at dispatch before it was bound; None where it has none.
        same_operation: whether that answer was about the operation that was sent.
        granted: whether a person's yes to that operation was spent on it, or a permission used.
    """

    effect_id: str
    capability: str
    status: EffectStatus
    verdict: Verdict | None
    same_operation: bool
    granted: bool


class Word(Frozen):
    """What a person took back or gave. kind: user, agent, capability, resource or grant."""

    tenant: str
    kind: str
    value: str
    granted: bool
    said_by: str
    reason: str
    at: str
    newest: bool


class Milestone(Frozen):
    """An event at which a finish is reached, or taken back: when, and what it says."""

    type: str
    at: datetime
    payload: Payload


class AttemptSummary(Frozen):
    """One line about an attempt."""

    attempt_id: str
    task_id: str
    number: int
    status: str
    goal: str
    started_at: str
    purpose: str = "work"
    lease_alive: bool


class Records(Protocol):
    """Reads; changes nothing. Unknown ids raise InputError (code unknown_attempt, ...)."""

    async def position(self, attempt_id: str) -> Position:
        """Where the attempt stands."""
        ...

    async def history(self, attempt_id: str, *, before: int, limit: int) -> list[TurnRecord]:
        """The last `limit` turns below turn `before`, oldest first."""
        ...

    async def task(self, task_id: str) -> Task:
        """One task."""
        ...

    async def attempts(
        self, task_id: str | None = None, *, limit: int = 50
    ) -> list[AttemptSummary]:
        """Newest first."""
        ...

    async def unfinished(self) -> list[AttemptSummary]:
        """Attempts that are active, oldest first; their owner may be alive (see lease_alive)."""
        ...

    async def approvals(
        self, attempt_id: str | None = None, *, open_only: bool = True
    ) -> list[ApprovalRequest]:
        """Requests, oldest first; open ones are PENDING."""
        ...

    async def approval(self, approval_id: str) -> tuple[ApprovalRequest, list[ApprovalGrant]]:
        """One request with its answers."""
        ...

    async def overdue(self) -> list[ApprovalRequest]:
        """Requests that nobody answered in time, oldest first, at most 1000.

        EXPIRED ones are over and not yet recorded as that; of PENDING ones the next step of the
        escalation is due.
        """
        ...

    async def effects(self, attempt_id: str) -> list[Effect]:
        """The attempt's effects, in order of binding."""
        ...

    async def ledger(self, attempt_id: str | None = None) -> list[EffectRecord]:
        """The attempt's effects, in order of binding; without one, all that are not settled."""
        ...

    async def sent(self, attempt_id: str) -> list[SentEffect]:
        """The attempt's effects that were sent, with what allowed each, in order of binding."""
        ...

    async def effect(self, effect_id: str) -> EffectRecord:
        """One effect, whoever made it, with its tries; raises InputError (code unknown_effect)."""
        ...

    async def authority(self, tenant: str | None = None) -> list[Word]:
        """Every word of a tenant, or of all, newest first."""
        ...

    async def repeats(self, attempt_id: str, action: Action) -> bool:
        """Whether another attempt of the task has an equal effect, committed or unknown.

        Equal: the same capability, resource and arguments, whatever the constraints were.
        """
        ...

    async def books(self, attempt_id: str) -> list[BookLine]:
        """Every budget of every pool that the attempt draws on, its own first."""
        ...

    async def milestones(self, attempt_id: str) -> list[Milestone]:
        """The events that tell the three finishes, oldest first."""
        ...

    async def opinions(self, attempt_id: str, state_digest: str) -> dict[str, CheckResult]:
        """What judges said of one state in this attempt, by check_id."""
        ...

    async def environment(self, attempt_id: str) -> ChosenEnvironment | None:
        """Where the attempt's commands ran last, by its own record; None where that holds none."""
        ...

    async def dossier(self, attempt_id: str) -> dict[str, Any]:
        """Everything recorded about one attempt, as plain JSON, for evidence packages."""
        ...

    async def resolve(self, prefix: str) -> str:
        """The one attempt whose id begins so; raises InputError for none or several."""
        ...
