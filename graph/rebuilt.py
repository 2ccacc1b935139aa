"""What a trace amounts to, computed again from its events alone. Pure: nothing runs or is asked.

The database projects the same events onto its tables; both take their changes of status from
checkrein.contracts.transitions. Evidence is made of this, so that it can be checked without a
database.
"""

from collections.abc import Iterable
from datetime import timedelta

from checkrein.contracts import event as e
from checkrein.contracts.action import ActionStatus
from checkrein.contracts.approval import Answer, ApprovalGrant, ApprovalRequest, ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import Effect, EffectStatus, OutcomeSource
from checkrein.contracts.evidence import Acceptance
from checkrein.contracts.judgement import Judgement
from checkrein.contracts.observation import ObservationStatus
from checkrein.graph.facts import Fact
from checkrein.graph.standing import Standing

_ApprovalStep = (
    e.ApprovalPrepared
    | e.ApprovalRequested
    | e.ApprovalDecided
    | e.ApprovalEscalated
    | e.ApprovalExpired
    | e.ApprovalGranted
    | e.ApprovalStale
)
_ActionStep = (
    e.ActionProposed | e.PolicyDecided | e.PermissionUsed | e.Observed | e.ActionDeduplicated
)
_Answered = e.EffectCommitted | e.EffectRefused | e.EffectUnknown | e.EffectReconciled
_Between = e.EffectRetried | e.EffectPending | e.EffectVerified
_AttemptStep = e.Suspended | e.RunResumed | e.CancelRequested
_Judged = e.JudgementAsked | e.JudgementGiven
_GateStep = e.CandidateSealed | e.VerificationFinished | e.AttemptEnded

_OPEN_ACTION = frozenset(
    {
        ActionStatus.VALIDATED,
        ActionStatus.AUTHORIZED,
        ActionStatus.WAITING_APPROVAL,
        ActionStatus.PENDING,
    }
)
_OPEN_APPROVAL = frozenset(
    {ApprovalStatus.PREPARED, ApprovalStatus.PENDING, ApprovalStatus.GRANTED}
)
_DECIDED = {"ALLOW": "allowed", "CONSTRAINED_ALLOW": "allowed", "REQUIRE_APPROVAL": "asked"}
_OBSERVED = {
    ObservationStatus.OK: "succeeded",
    ObservationStatus.NO_CHANGE: "no_change",
    ObservationStatus.SKIPPED: "cancelled",
    ObservationStatus.DENIED: "denied",
}
_ENDED = {
    AttemptStatus.CANDIDATE_VERIFIED: "verified",
    AttemptStatus.FAILED_VERIFICATION: "not_verified",
    AttemptStatus.CANCELLED: "cancelled",
}
ANSWERED = {
    Answer.APPROVE: "granted",
    Answer.REJECT: "rejected",
    Answer.EDIT: "superseded",
    Answer.RESPOND: "superseded",
}
"""What a person's answer means for the request; a no means the same for its action."""

# What an answer means for the effect and for its action.
_ANSWERED: dict[str, tuple[str, str | None]] = {
    "effect_committed": ("committed", "succeeded"),
    "effect_refused": ("refused", "failed"),
    "effect_unknown": ("unknown", "unknown"),
    "effect_reconciled": ("reconciled", None),
}


class Rebuilt(Standing):
    """What a trace amounts to."""

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> "Rebuilt":
        """Take in all facts of one trace."""
        rebuilt = cls()
        for fact in facts:
            rebuilt.take(fact)
        return rebuilt

    def take(self, fact: Fact) -> None:
        """Take in one more fact."""
        self._seq = fact.seq
        p = fact.payload
        if isinstance(p, e.TaskCreated):
            self.task = p.task
        elif isinstance(p, e.AttemptStarted):
            self._start(fact, p)
        elif isinstance(p, e.ContextCompiled):
            self.manifests[p.turn] = p.manifest_ref
        elif isinstance(p, e.BudgetReserved | e.BudgetSettled):
            self._book(p)
        elif isinstance(p, _ActionStep):
            self._act(p)
        elif isinstance(p, _ApprovalStep):
            self._approve(fact, p)
        elif isinstance(p, e.IntentBound | e.EffectExecuting | e.EffectDenied):
            self._send(p)
        elif isinstance(p, _Answered):
            self._receive(p)
        elif isinstance(p, _Between):
            self._note(p)
        elif isinstance(p, _GateStep):
            self._judge(fact, p)
        elif isinstance(p, _Judged):
            self._hear(p)
        elif isinstance(p, e.UserAccepted):
            said = p.model_dump(exclude={"v", "type"})
            self.accepted.append(Acceptance.model_validate({**said, "at": fact.at}))
        elif isinstance(p, _AttemptStep):
            self._move(p)
        elif isinstance(p, e.PlanAccepted | e.ResultAccepted):
            if not self.granted.get(p.action_id):
                self._fault(f"what {p.action_id} hands in is accepted and nobody approved it")
        elif isinstance(p, e.NoProgressNoticed):
            self.noticed.append(p)
        elif isinstance(p, e.CheckpointSaved | e.UserAnswered):
            self.safe_points += 1

    def _start(self, fact: Fact, p: e.AttemptStarted) -> None:
        if self.started is not None:
            self._fault("a second attempt starts in the trace of one")
            return
        self.started = p
        self.attempt = p.attempt.model_copy(
            update={"started_at": fact.at, "status": AttemptStatus.RUNNING}
        )

    def _act(self, p: _ActionStep) -> None:
        if isinstance(p, e.ActionProposed):
            if p.action.action_id in self.actions:
                self._fault(f"{p.action.action_id} is proposed twice")
            self.actions[p.action.action_id] = p.action.model_copy(
                update={"status": ActionStatus.VALIDATED}
            )
            if p.action.revision == 0:
                self._open_calls[p.action.turn] += 1
        elif isinstance(p, e.PolicyDecided):
            self.decisions.setdefault(p.action_id, []).append(p)
            self._step_action(p.action_id, _DECIDED.get(p.decision.decision, "denied"))
        elif isinstance(p, e.PermissionUsed):
            self._step_action(p.action_id, "granted")
            self.granted.setdefault(p.action_id, []).append(p.permission_id)
        elif isinstance(p, e.ActionDeduplicated):
            self._step_action(p.action_id, "deduplicated")
        else:
            self._observe(p)

    def _observe(self, p: e.Observed) -> None:
        seen = p.observation
        action = self.actions.get(seen.action_id)
        if action is not None:
            self._open_calls[seen.turn] -= 1
            if action.status in _OPEN_ACTION:
                self._step_action(seen.action_id, _OBSERVED.get(seen.status, "not_applicable"))
        if self._open_calls[seen.turn] == 0:
            self.safe_points += 1  # the turn is closed

    def _approve(self, fact: Fact, p: _ApprovalStep) -> None:
        if isinstance(p, e.ApprovalPrepared):
            if p.approval.approval_id in self.approvals:
                self._fault(f"{p.approval.approval_id} is prepared twice")
            self.approvals[p.approval.approval_id] = p.approval.model_copy(
                update={"status": ApprovalStatus.PREPARED, "expires_at": None}
            )
            return
        request = self.approvals.get(p.approval_id)
        if request is None or request.action_id != p.action_id:
            self._fault(f"no request {p.approval_id} was prepared for {p.action_id}")
        elif isinstance(p, e.ApprovalRequested):
            self._offer(fact, request)
        elif isinstance(p, e.ApprovalDecided):
            self._answer(fact, p, _still_open(request))
        elif isinstance(p, e.ApprovalEscalated):
            open_yet = _still_open(request)
            later = open_yet.model_copy(update={"escalated": request.escalated + 1})
            self._step_approval(later, "escalated")
        elif isinstance(p, e.ApprovalExpired):
            self._step_approval(request, "expired")
            self._step_action(p.action_id, "rejected")
        elif isinstance(p, e.ApprovalGranted):
            self._step_approval(request, "used")
            self._step_action(p.action_id, "granted")
            self.granted.setdefault(p.action_id, []).append(p.approval_id)
        else:
            self._step_approval(request, "stale")
            self._step_action(p.action_id, "stale")

    def _offer(self, fact: Fact, request: ApprovalRequest) -> None:
        if request.expires_at is None:
            until = fact.at + timedelta(seconds=request.terms.expires_in_s)
            request = request.model_copy(update={"expires_at": until})
        self._step_approval(request, "requested")

    def _answer(self, fact: Fact, p: e.ApprovalDecided, request: ApprovalRequest) -> None:
        said = p.model_dump(exclude={"v", "type", "action_id"})
        grant = ApprovalGrant.model_validate({**said, "decided_at": fact.at})
        others = [g for g in self.grants.get(p.approval_id, []) if g.approver != p.approver]
        self.grants[p.approval_id] = [*others, grant]
        yes = sum(g.answer is Answer.APPROVE for g in self.grants[p.approval_id])
        word = ANSWERED[p.answer]
        if p.answer is Answer.APPROVE and yes < request.terms.quorum:
            word = "counted"
        self._step_approval(request, word)
        if p.answer is not Answer.APPROVE:
            self._step_action(p.action_id, word)

    def _send(self, p: e.IntentBound | e.EffectExecuting | e.EffectDenied) -> None:
        if isinstance(p, e.IntentBound):
            if p.effect_id in self.effects:
                self._fault(f"{p.effect_id} is bound twice")
            bound = p.model_dump(exclude={"v", "type"})
            attempt_id = "" if self.attempt is None else self.attempt.attempt_id
            self.effects[p.effect_id] = Effect.model_validate(
                {**bound, "attempt_id": attempt_id, "status": EffectStatus.INTENT}
            )
        elif isinstance(p, e.EffectDenied):
            self._step_effect(p.effect_id, p.action_id, "denied", {})
        else:
            marked = p.model_dump(include={"fence", "from_version", "to_version"})
            marked["pending"] = False
            self._step_effect(p.effect_id, p.action_id, "executing", marked)
            self._step_action(p.action_id, "running")

    def _receive(self, p: _Answered) -> None:
        word, then = _ANSWERED[p.type]
        source: OutcomeSource | None = OutcomeSource.EXECUTED
        if isinstance(p, e.EffectReconciled):
            source = p.source
            if p.outcome.status is EffectStatus.NOT_APPLIED:
                word, then = "not_applied", "failed"
        elif isinstance(p, e.EffectUnknown):
            source = None
        changed = {"outcome": p.outcome, "source": source, "pending": False}
        self._step_effect(p.effect_id, p.action_id, word, changed)
        if then is not None:
            self._step_action(p.action_id, then)

    def _note(self, p: _Between) -> None:
        """What happens to an effect between its send and its end, and after it."""
        if isinstance(p, e.EffectRetried):
            self._step_effect(p.effect_id, p.action_id, "retried", {})
        elif isinstance(p, e.EffectVerified):
            self._read_back(p)
        elif p.sent:
            self._step_effect(p.effect_id, p.action_id, "pending", {"pending": True})
        else:  # the effect belongs to another action, perhaps of another attempt
            self._step_action(p.action_id, "pending")

    def _read_back(self, p: e.EffectVerified) -> None:
        effect = self.effects.get(p.effect_id)
        if effect is None or effect.status is not EffectStatus.COMMITTED:
            self._fault(f"{p.effect_id} is read back and has no receipt")
            return
        self.effects[p.effect_id] = effect.model_copy(update={"verified": p.holds})

    def _judge(self, fact: Fact, p: _GateStep) -> None:
        if isinstance(p, e.CandidateSealed):
            self._step_attempt("sealed")
            self.sealed, self.verification = p, None
            self.protocol_final = fact.at
        elif isinstance(p, e.VerificationFinished):
            self.verification = p.result
            if p.repair:
                self._step_attempt("repair")
                self.sealed = self.protocol_final = None
                self.safe_points += 1
        else:
            self._end(fact, p)

    def _hear(self, p: _Judged) -> None:
        place = (p.state_digest, p.check)
        asked = self.judgements.get(place)
        said = p.model_dump(exclude={"v", "type"})
        if isinstance(p, e.JudgementAsked):
            if self.sealed is None or self.sealed.state_digest != p.state_digest:
                self._fault(f"people are asked about {p.state_digest}, which is not sealed")
            self.judgements[place] = Judgement.model_validate(said)
        elif asked is None or not asked.open:
            self._fault(f"{p.by} judges what nobody is asked: {p.check}")
        else:
            self.judgements[place] = asked.model_copy(update=said)

    def _end(self, fact: Fact, p: e.AttemptEnded) -> None:
        self.ended, self.end = p, fact.seq
        self.spent.update(self.held)  # what nobody settled was perhaps used
        self.held.clear()
        if p.status is AttemptStatus.CANDIDATE_VERIFIED:
            self.task_accepted = fact.at
        self._step_attempt(_ENDED.get(p.status, f"ended:{p.status}"))
        for action in list(self.actions.values()):
            if action.status in _OPEN_ACTION:
                self._step_action(action.action_id, "cancelled")
        for request in list(self.approvals.values()):
            if request.status in _OPEN_APPROVAL:
                self._step_approval(request, "revoked")
        self.safe_points += 1

    def _move(self, p: _AttemptStep) -> None:
        if isinstance(p, e.Suspended):
            self._step_attempt(f"suspended:{p.status}")
        else:
            self._step_attempt("resumed" if isinstance(p, e.RunResumed) else "cancel_requested")


def _still_open(request: ApprovalRequest) -> ApprovalRequest:
    """A request of which a later event shows that it was open.

    Who was revoked meanwhile stands in no trace: the database had counted out a yes that is
    counted here, and only what is open can be answered or reach one more role.
    """
    if request.status is not ApprovalStatus.GRANTED:
        return request
    return request.model_copy(update={"status": ApprovalStatus.PENDING})
