"""What is known of an attempt after some events, and how each object in it moves."""

from copy import copy
from dataclasses import dataclass, field, fields, replace

from checkrein.contracts.action import Action, ActionStatus
from checkrein.contracts.approval import ApprovalGrant, ApprovalRequest, ApprovalStatus
from checkrein.contracts.attempt import Attempt, AttemptStatus
from checkrein.contracts.budget import Budget, BudgetLine, NearLimit
from checkrein.contracts.decision import PolicyDecision
from checkrein.contracts.effect import Effect, EffectStatus
from checkrein.contracts.judgement import Judgement
from checkrein.contracts.transitions import Machine, apply
from checkrein.contracts.verification import VerificationResult
from checkrein.errors import ConflictError
from checkrein.ports.records import ActionState, Noticed, Position, TurnState

OPEN_ACTION = ("VALIDATED", "AUTHORIZED", "WAITING_APPROVAL", "PENDING")


@dataclass(frozen=True)
class Turn:
    """One turn, with what its closing is counted by."""

    state: TurnState
    usable: int = 0
    refused: int = 0
    open_calls: int = 0


@dataclass(frozen=True)
class Proposed:
    """One action with the newest decision about it."""

    action: Action
    operation_hash: str | None = None
    decision: PolicyDecision | None = None


@dataclass
class Folded:
    """Everything that is known after some events; each step raises ConflictError or is made."""

    attempt: Attempt
    budgets: dict[Budget, BudgetLine]
    fence: int
    head_seq: int
    turns: dict[int, Turn] = field(default_factory=dict[int, Turn])
    actions: dict[str, Proposed] = field(default_factory=dict[str, Proposed])
    approvals: dict[str, ApprovalRequest] = field(default_factory=dict[str, ApprovalRequest])
    grants: dict[str, list[ApprovalGrant]] = field(default_factory=dict[str, list[ApprovalGrant]])
    effects: dict[str, Effect] = field(default_factory=dict[str, Effect])
    observed: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    judged: set[int] = field(default_factory=set[int])
    judgements: dict[tuple[str, str], Judgement] = field(
        default_factory=dict[tuple[str, str], Judgement]
    )
    sealed: str | None = None
    verification: VerificationResult | None = None
    pause_requested: bool = False
    cancel_reason: str | None = None
    exhausted: Budget | None = None
    unfinished: list[str] = field(default_factory=list[str])
    warned: set[Budget] = field(default_factory=set[Budget])
    idle_turns: int = 0
    denied_turns: int = 0
    denials: int = 0
    progress: Noticed | None = None
    private_seen: bool = False
    untrusted_seen: bool = False
    detail: str = ""

    def copied(self) -> "Folded":
        """Another one that may be changed without changing this one."""
        other = replace(self)
        for name in (one.name for one in fields(self)):
            value: object = getattr(self, name)
            if type(value) in {dict, set}:
                setattr(other, name, copy(value))
        return other

    def position(self) -> Position:
        """The same noun that the records give, without hash, clock times and wall time."""
        newest = self.turns.get(max(self.turns, default=0))
        number = 0 if newest is None else newest.state.turn
        newest_of: dict[int, Proposed] = {}
        for proposed in self.actions.values():  # in order of proposal: an edit comes later
            if proposed.action.turn == number:
                newest_of[proposed.action.position] = proposed
        actions = list(newest_of.values())
        return Position(
            attempt=self.attempt,
            head_seq=self.head_seq,
            head_hash="",
            pause_requested=self.pause_requested,
            cancel_reason=self.cancel_reason,
            exhausted=self.exhausted,
            turn=None if newest is None else newest.state,
            actions=[self._action(p) for p in sorted(actions, key=lambda p: p.action.position)],
            observed=sorted(position for turn, position in self.observed if turn == number),
            budgets=self.budgets,
            held=self._held(),
            near=self._near(),
            unfinished=self.unfinished,
            sealed=self.sealed,
            verification=self.verification,
            idle_turns=self.idle_turns,
            denied_turns=self.denied_turns,
            denials=self.denials,
            progress=self.progress,
            private_seen=self.private_seen,
            untrusted_seen=self.untrusted_seen,
            judgements=[
                j
                for j in self.judgements.values()
                if j.turn == number or j.state_digest == self.sealed
            ],
            lease_alive=True,
            detail=self.detail,
        )

    def _action(self, proposed: Proposed) -> ActionState:
        action = proposed.action
        requests = [r for r in self.approvals.values() if r.action_id == action.action_id]
        approval = max(requests, key=lambda r: r.request_revision, default=None)
        return ActionState(
            action=action,
            operation_hash=proposed.operation_hash,
            decision=proposed.decision,
            approval=approval,
            grants=[] if approval is None else self.grants.get(approval.approval_id, []),
            effect=self.effects.get(action.idempotency_key),
            observed=(action.turn, action.position) in self.observed,
        )

    # --- steps -----------------------------------------------------------------------------------

    def step_attempt(self, word: str) -> None:
        status = AttemptStatus(apply(Machine.ATTEMPT, self.attempt.status, word))
        self.attempt = self.attempt.model_copy(update={"status": status})

    def step_action(self, action_id: str, word: str | None) -> None:
        must(action_id in self.actions)
        if word is not None:
            found = self.actions[action_id]
            status = ActionStatus(apply(Machine.ACTION, found.action.status, word))
            action = found.action.model_copy(update={"status": status})
            self.actions[action_id] = replace(found, action=action)

    def step_approval(self, approval_id: str, word: str) -> None:
        found = self.approvals[approval_id]
        status = ApprovalStatus(apply(Machine.APPROVAL, found.status, word))
        self.approvals[approval_id] = found.model_copy(update={"status": status})

    def step_effect(self, effect_id: str, action_id: str, word: str, **changes: object) -> None:
        found = next((f for f in self.effects.values() if f.effect_id == effect_id), None)
        must(found is not None and found.action_id == action_id)
        assert found is not None
        status = EffectStatus(apply(Machine.EFFECT, found.status, word))
        self.effects[found.key] = found.model_copy(update={"status": status, **changes})

    def turn(self, number: int, *statuses: str) -> Turn:
        must(number in self.turns)
        found = self.turns[number]
        must(not statuses or found.state.status in statuses)
        return found

    def set_turn(self, number: int, **changes: object) -> None:
        found = self.turns[number]
        self.turns[number] = replace(found, state=found.state.model_copy(update=changes))

    def close(self, number: int) -> None:
        found = self.turns[number]
        if found.state.status == "CLOSED":
            return
        self.set_turn(number, status="CLOSED")
        idle = found.usable == 0 and found.state.waits_for is None
        denied = found.usable > 0 and found.refused == found.usable
        self.idle_turns = self.idle_turns + 1 if idle else 0
        self.denied_turns = self.denied_turns + 1 if denied else 0

    def _held(self) -> dict[Budget, int]:
        """What is reserved, with the requests that are open."""
        held = {budget: line.reserved for budget, line in self.budgets.items() if line.reserved}
        statuses = [request.status for request in self.approvals.values()]
        outstanding = sum(status in {"PREPARED", "PENDING"} for status in statuses)
        return held | ({Budget.APPROVALS_OUTSTANDING: outstanding} if outstanding else {})

    def _near(self) -> list[NearLimit]:
        return [
            NearLimit(
                budget=budget,
                pool=self.attempt.attempt_id,
                limit=line.limit,
                used=line.used,
                warned=budget in self.warned,
            )
            for budget, line in sorted(self.budgets.items())
            if line.limit and line.used * 5 >= line.limit * 4
        ]

    def settle_rest(self) -> None:
        """What an ended attempt still holds is spent."""
        for budget, line in self.budgets.items():
            self.book(budget, -line.reserved, line.reserved)

    def book(self, budget: Budget, reserved: int, spent: int) -> None:
        found = self.budgets[budget]
        must(reserved <= 0 or found.spent + found.reserved + reserved <= found.limit)
        line = BudgetLine(
            limit=found.limit, spent=found.spent + spent, reserved=found.reserved + reserved
        )
        must(line.spent >= 0 and line.reserved >= 0)
        self.budgets[budget] = line


def must(holds: bool) -> None:
    """Raise ConflictError where the database must refuse."""
    if not holds:
        raise ConflictError("the database must refuse this", op="fold", code="refused")
