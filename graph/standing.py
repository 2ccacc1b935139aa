"""Where an attempt stands while its trace is taken in: nouns, and the changes of their status."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from checkrein.contracts import event as e
from checkrein.contracts.action import Action, ActionStatus
from checkrein.contracts.approval import ApprovalGrant, ApprovalRequest, ApprovalStatus
from checkrein.contracts.attempt import Attempt, AttemptStatus
from checkrein.contracts.effect import Effect, EffectStatus
from checkrein.contracts.evidence import Acceptance
from checkrein.contracts.judgement import Judgement
from checkrein.contracts.task import Task
from checkrein.contracts.transitions import Machine, apply
from checkrein.contracts.verification import VerificationResult
from checkrein.errors import ConflictError
from checkrein.graph.facts import Fault


@dataclass
class Standing:
    """Where everything stands after the facts that were taken in.

    Attributes:
        decisions: for each action what was decided about it, oldest first.
        granted: for each action the approvals that were spent on it.
        judgements: what people were asked and said, by state and check.
        manifests: for each turn the reference of its context's manifest.
        noticed: the notices that the run goes in circles, oldest first.
        spent, held: what was booked, and what is reserved, by budget; wall time is metered by the
            lease, and not here.
        accepted: who signed what was verified.
        protocol_final, task_accepted: when the candidate that still counts was sealed, and when it
            was accepted by the verifier.
        end: seq of the event that ended the attempt; people may sign after it.
        safe_points: how often a safe point was saved.
        faults: changes that no table allows, and names of what there is not.
    """

    task: Task | None = None
    started: e.AttemptStarted | None = None
    attempt: Attempt | None = None
    actions: dict[str, Action] = field(default_factory=dict[str, Action])
    decisions: dict[str, list[e.PolicyDecided]] = field(
        default_factory=dict[str, list[e.PolicyDecided]]
    )
    approvals: dict[str, ApprovalRequest] = field(default_factory=dict[str, ApprovalRequest])
    grants: dict[str, list[ApprovalGrant]] = field(default_factory=dict[str, list[ApprovalGrant]])
    granted: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    effects: dict[str, Effect] = field(default_factory=dict[str, Effect])
    sealed: e.CandidateSealed | None = None
    verification: VerificationResult | None = None
    judgements: dict[tuple[str, str], Judgement] = field(
        default_factory=dict[tuple[str, str], Judgement]
    )
    ended: e.AttemptEnded | None = None
    accepted: list[Acceptance] = field(default_factory=list[Acceptance])
    protocol_final: datetime | None = None
    task_accepted: datetime | None = None
    end: int = 0
    manifests: dict[int, str] = field(default_factory=dict[int, str])
    spent: Counter[str] = field(default_factory=Counter[str])
    noticed: list[e.NoProgressNoticed] = field(default_factory=list[e.NoProgressNoticed])
    held: Counter[str] = field(default_factory=Counter[str])
    safe_points: int = 0
    faults: list[Fault] = field(default_factory=list[Fault])
    _open_calls: Counter[int] = field(default_factory=Counter[int])
    _seq: int = 0

    def _step_attempt(self, word: str) -> None:
        if self.attempt is None:
            self._fault("the attempt has not started")
            return
        status = AttemptStatus(self._next(Machine.ATTEMPT, self.attempt.status, word))
        self.attempt = self.attempt.model_copy(update={"status": status})

    def _step_action(self, action_id: str, word: str) -> None:
        action = self.actions.get(action_id)
        if action is None:
            self._fault(f"there is no action {action_id}")
            return
        status = ActionStatus(self._next(Machine.ACTION, action.status, word))
        self.actions[action_id] = action.model_copy(update={"status": status})

    def _step_approval(self, request: ApprovalRequest, word: str) -> None:
        status = ApprovalStatus(self._next(Machine.APPROVAL, request.status, word))
        self.approvals[request.approval_id] = request.model_copy(update={"status": status})

    def _step_effect(
        self, effect_id: str, action_id: str, word: str, changed: Mapping[str, object]
    ) -> None:
        effect = self.effects.get(effect_id)
        if effect is None or effect.action_id != action_id:
            self._fault(f"no effect {effect_id} was bound for {action_id}")
            return
        status = EffectStatus(self._next(Machine.EFFECT, effect.status, word))
        self.effects[effect_id] = effect.model_copy(update={**changed, "status": status})

    def _book(self, p: e.BudgetReserved | e.BudgetSettled) -> None:
        if isinstance(p, e.BudgetReserved):
            self.held.update({str(name): amount for name, amount in p.amounts.items()})
            return
        self.spent.update({str(name): amount for name, amount in p.spent.items()})
        self.held.subtract({str(name): amount for name, amount in p.released.items()})
        missing = [name for name, amount in self.held.items() if amount < 0]
        for name in missing:
            self._fault(f"more {name} are released than were reserved")
            self.held[name] = 0

    def _next(self, machine: Machine, current: str, word: str) -> str:
        try:
            return apply(machine, current, word)
        except ConflictError as error:
            self._fault(str(error))
            return current

    def _fault(self, problem: str) -> None:
        self.faults.append(Fault("legal_change", self._seq, problem))
