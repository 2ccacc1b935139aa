"""Where an attempt stands, worked out from its events by plain Python: the database's other half.

It says what the projection in SQL must say, refusals included, and is compared with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from folded import OPEN_ACTION, Folded, Proposed, Turn, must
from position_effects import (
    bound,
    deduplicated,
    effect_denied,
    executing,
    pending,
    read_back,
    received,
    reconciled,
    retried,
)

from checkrein.contracts import event as e
from checkrein.contracts.action import ActionStatus
from checkrein.contracts.approval import Answer, ApprovalGrant, ApprovalRequest, ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import Payload
from checkrein.contracts.judgement import Judgement
from checkrein.contracts.progress import Rung
from checkrein.ports.records import Noticed, TurnState

OPEN_APPROVAL = ("PREPARED", "PENDING", "GRANTED")


def after(folded: Folded, payloads: Sequence[Payload]) -> Folded:
    """Return what is known after more events; raises ConflictError where one is refused."""
    following = folded.copied()
    for payload in payloads:
        must(not following.attempt.status.is_terminal)
        handler: Callable[[Folded, Any], None] = _HANDLERS[type(payload)]
        handler(following, payload)
        following.head_seq += 1
    return following


def _compiled(f: Folded, p: e.ContextCompiled) -> None:
    known = f.turns.get(p.turn)
    must(known is None or known.state.status in {"COMPILED", "REQUESTED"})
    if known is None:
        f.turns[p.turn] = Turn(TurnState(turn=p.turn, status="COMPILED"))
    f.set_turn(p.turn, sent=p.sent, manifest_ref=p.manifest_ref, lowest_trust=p.lowest_trust)


def _model_requested(f: Folded, p: e.ModelRequested) -> None:
    known = f.turn(p.turn, "COMPILED", "REQUESTED").state
    f.set_turn(p.turn, status="REQUESTED", model_tries=known.model_tries + 1, model=p.model)


def _model_responded(f: Folded, p: e.ModelResponded) -> None:
    f.turn(p.turn, "REQUESTED")
    f.set_turn(p.turn, status="RESPONDED", raw_ref=p.raw_ref)


def _reserved(f: Folded, p: e.BudgetReserved) -> None:
    for budget, amount in p.amounts.items():
        f.book(budget, amount, 0)


def _settled(f: Folded, p: e.BudgetSettled) -> None:
    for budget in {*p.released, *p.spent}:
        f.book(budget, -p.released.get(budget, 0), p.spent.get(budget, 0))


def _proposed(f: Folded, p: e.ActionProposed) -> None:
    must(p.action.action_id not in f.actions)
    action = p.action.model_copy(update={"status": ActionStatus.VALIDATED})
    if action.revision > 0:
        place = (action.turn, action.position, action.revision - 1)
        before = [x.action for x in f.actions.values()]
        replaced = [x for x in before if (x.turn, x.position, x.revision) == place]
        must(any(x.status is ActionStatus.SUPERSEDED for x in replaced))
        f.actions[action.action_id] = Proposed(action)
        return
    found = f.turn(p.action.turn, "RESPONDED")
    f.actions[action.action_id] = Proposed(action)
    f.turns[action.turn] = replace(found, usable=found.usable + 1, open_calls=found.open_calls + 1)


def _decided(f: Folded, p: e.PolicyDecided) -> None:
    words = {"ALLOW": "allowed", "CONSTRAINED_ALLOW": "allowed", "REQUIRE_APPROVAL": "asked"}
    f.step_action(p.action_id, words.get(p.decision.decision, "denied"))
    f.actions[p.action_id] = replace(
        f.actions[p.action_id], decision=p.decision, operation_hash=p.operation_hash
    )


def _prepared(f: Folded, p: e.ApprovalPrepared) -> None:
    must(p.approval.approval_id not in f.approvals)
    f.step_action(p.approval.action_id, None)
    f.approvals[p.approval.approval_id] = p.approval


def _request(f: Folded, approval_id: str, action_id: str) -> ApprovalRequest:
    must(approval_id in f.approvals)
    found = f.approvals[approval_id]
    must(found.action_id == action_id)
    return found


def _requested(f: Folded, p: e.ApprovalRequested) -> None:
    _request(f, p.approval_id, p.action_id)
    f.step_approval(p.approval_id, "requested")


def _approval_decided(f: Folded, p: e.ApprovalDecided) -> None:
    _request(f, p.approval_id, p.action_id)
    must(f.cancel_reason is None)
    request, before = f.approvals[p.approval_id], f.grants.get(p.approval_id, [])
    approved = p.answer is Answer.APPROVE
    must(request.status is ApprovalStatus.PENDING)
    must(not approved or all(g.approver != p.approver for g in before))
    said = ApprovalGrant.model_validate(p.model_dump(exclude={"v", "type", "action_id"}))
    f.grants[p.approval_id] = [*(g for g in before if g.approver != p.approver), said]
    yes = sum(g.answer is Answer.APPROVE for g in f.grants[p.approval_id])
    word = {"approve": "granted", "reject": "rejected"}.get(p.answer, "superseded")
    f.step_approval(p.approval_id, "counted" if approved and yes < request.terms.quorum else word)
    f.step_action(p.action_id, None if approved else word)


def _not_yet(f: Folded, p: e.ApprovalEscalated | e.ApprovalExpired) -> None:
    """Time alone makes these possible, and no story here lasts as long as that."""
    must(False)


def _after_the_end(f: Folded, p: e.UserAccepted) -> None:
    """People sign after the end, without the lease; these stories end there."""
    must(False)


def _not_permitted(f: Folded, p: e.PermissionUsed | e.PlanAccepted | e.ResultAccepted) -> None:
    """Nobody in these stories says yes to more than one action, or hands in a plan or a result."""
    must(False)


def _granted(f: Folded, p: e.ApprovalGranted) -> None:
    found = _request(f, p.approval_id, p.action_id)
    must(f.cancel_reason is None)
    must(found.operation_hash == p.operation_hash)
    must(found.resource_version == p.resource_version)
    must(found.status is ApprovalStatus.GRANTED)
    grants = f.grants.get(p.approval_id, [])
    must(sum(g.answer is Answer.APPROVE for g in grants) >= found.terms.quorum)
    f.step_approval(p.approval_id, "used")
    f.step_action(p.action_id, "granted")


def _stale(f: Folded, p: e.ApprovalStale) -> None:
    _request(f, p.approval_id, p.action_id)
    f.step_approval(p.approval_id, "stale")
    f.step_action(p.action_id, "stale")


def _observed(f: Folded, p: e.Observed) -> None:
    seen = p.observation
    must((seen.turn, seen.position) not in f.observed)
    turn = f.turn(seen.turn, "RESPONDED", "CLOSED")
    known = f.actions.get(seen.action_id)
    if known is not None:
        words = {
            "ok": "succeeded",
            "no_change": "no_change",
            "skipped": "cancelled",
            "denied": "denied",
        }
        word = words.get(seen.status, "not_applicable")
        f.step_action(seen.action_id, word if known.action.status in OPEN_ACTION else None)
        turn = replace(
            turn,
            open_calls=turn.open_calls - 1,
            refused=turn.refused + (seen.status in {"denied", "rejected"}),
        )
        f.turns[seen.turn] = turn
        f.denials += seen.status in {"denied", "rejected"}
        f.private_seen = f.private_seen or bool(seen.private)
        f.untrusted_seen = f.untrusted_seen or seen.trust in {"tool", "external"}
    f.observed.add((seen.turn, seen.position))
    if turn.open_calls == 0:
        f.close(seen.turn)


def _question(f: Folded, p: e.QuestionAsked) -> None:
    f.turn(p.turn, "RESPONDED")
    f.set_turn(p.turn, waits_for="question", text=p.question)


def _stopped(f: Folded, p: e.TurnStopped) -> None:
    f.turn(p.turn, "RESPONDED")
    f.set_turn(p.turn, waits_for="stopped", text=p.why)


def _user_answered(f: Folded, p: e.UserAnswered) -> None:
    newest = f.turns.get(max(f.turns, default=0))
    state = None if newest is None else newest.state
    if state is not None and state.status == "RESPONDED" and state.waits_for is not None:
        f.close(state.turn)
        return
    notice = f.progress
    must(notice is not None and notice.rung is Rung.PERSON and not notice.answered)
    assert notice is not None
    must(any(turn.state.status == "CLOSED" for turn in f.turns.values()))
    f.progress = notice.model_copy(update={"answered": True, "switched": False})


def _noticed(f: Folded, p: e.NoProgressNoticed) -> None:
    switched = p.rung is Rung.SWITCH or (f.progress is not None and f.progress.switched)
    said = p.model_dump(exclude={"v", "type"})
    f.progress = Noticed.model_validate({**said, "switched": switched})


def _sealed(f: Folded, p: e.CandidateSealed) -> None:
    f.step_attempt("sealed")
    found = f.turn(p.turn, "RESPONDED")
    f.turns[p.turn] = replace(found, usable=found.usable + 1)
    f.sealed, f.verification = p.state_digest, None


def _verification_started(f: Folded, p: e.VerificationStarted) -> None:
    f.turn(p.turn)


def _verified(f: Folded, p: e.VerificationFinished) -> None:
    f.turn(p.turn)
    must(p.turn not in f.judged)
    f.judged.add(p.turn)
    f.verification = p.result
    if p.repair:
        f.step_attempt("repair")
        f.sealed = None
        f.close(p.turn)


def _judge_answered(f: Folded, p: e.JudgeAnswered) -> None:
    must(f.attempt.status in {AttemptStatus.VERIFYING, AttemptStatus.CANCELLING})
    must(f.sealed == p.state_digest)
    f.turn(p.turn)


def _asked_people(f: Folded, p: e.JudgementAsked) -> None:
    must(f.cancel_reason is None and f.attempt.status is AttemptStatus.VERIFYING)
    must(f.sealed == p.state_digest)
    f.turn(p.turn)
    place = (p.state_digest, p.check)
    f.judgements.pop(place, None)  # asked anew: it stands last
    f.judgements[place] = Judgement.model_validate(p.model_dump(exclude={"v", "type"}))


def _judged(f: Folded, p: e.JudgementGiven) -> None:
    must(f.cancel_reason is None)
    found = f.judgements.get((p.state_digest, p.check))
    must(found is not None and found.open)
    assert found is not None
    said = p.model_dump(exclude={"v", "type"})
    f.judgements[p.state_digest, p.check] = found.model_copy(update=said)


def _suspended(f: Folded, p: e.Suspended) -> None:
    f.step_attempt(f"suspended:{p.status}")
    f.detail = p.reason


def _resumed(f: Folded, p: e.RunResumed) -> None:
    f.step_attempt("resumed")
    f.exhausted, f.unfinished, f.detail = None, [], ""
    f.pause_requested = f.pause_requested and p.how != "resume"


def _cancel_requested(f: Folded, p: e.CancelRequested) -> None:
    f.step_attempt("cancel_requested")
    f.cancel_reason = p.reason


def _pause_requested(f: Folded, p: e.PauseRequested) -> None:
    f.pause_requested = True


def _exhausted(f: Folded, p: e.BudgetExhausted) -> None:
    f.exhausted, f.unfinished = p.budget, p.unfinished


def _warning(f: Folded, p: e.BudgetWarning) -> None:
    must(p.pool == f.attempt.attempt_id and p.budget in f.budgets and p.budget not in f.warned)
    f.warned.add(p.budget)


def _raised(f: Folded, p: e.BudgetRaised) -> None:
    line = f.budgets.get(p.budget)
    must(p.authenticated and line is not None and p.pool == f.attempt.attempt_id)
    assert line is not None
    must(line.limit == p.from_limit < p.to_limit)
    f.budgets[p.budget] = line.model_copy(update={"limit": p.to_limit})
    f.warned.discard(p.budget)
    if f.exhausted == p.budget and f.attempt.status == "BUDGET_EXHAUSTED":
        f.exhausted, f.unfinished = None, []


def _ended(f: Folded, p: e.AttemptEnded) -> None:
    if p.status is AttemptStatus.CANDIDATE_VERIFIED:
        must(f.verification is not None and f.verification.accepted)
        must(f.verification is not None and f.verification.state_digest == f.sealed)
    words = {
        "CANDIDATE_VERIFIED": "verified",
        "FAILED_VERIFICATION": "not_verified",
        "CANCELLED": "cancelled",
    }
    f.step_attempt(words.get(p.status, f"ended:{p.status}"))
    f.detail = p.detail
    for action_id, found in list(f.actions.items()):
        if found.action.status in OPEN_ACTION:
            f.step_action(action_id, "cancelled")
    for approval_id, request in list(f.approvals.items()):
        if request.status in OPEN_APPROVAL:
            f.step_approval(approval_id, "revoked")
    f.settle_rest()


def _only_a_fact(f: Folded, p: object) -> None:
    """A fact without a row of its own."""


_HANDLERS: dict[type, Callable[[Folded, Any], None]] = {
    e.ContextCompiled: _compiled,
    e.ModelRequested: _model_requested,
    e.ModelResponded: _model_responded,
    e.BudgetReserved: _reserved,
    e.BudgetSettled: _settled,
    e.BudgetWarning: _warning,
    e.BudgetRaised: _raised,
    e.ActionProposed: _proposed,
    e.PolicyDecided: _decided,
    e.ApprovalPrepared: _prepared,
    e.ApprovalRequested: _requested,
    e.ApprovalDecided: _approval_decided,
    e.UserAccepted: _after_the_end,
    e.ApprovalEscalated: _not_yet,
    e.ApprovalExpired: _not_yet,
    e.ApprovalGranted: _granted,
    e.PermissionUsed: _not_permitted,
    e.PlanAccepted: _not_permitted,
    e.ResultAccepted: _not_permitted,
    e.ApprovalStale: _stale,
    e.IntentBound: bound,
    e.EffectExecuting: executing,
    e.EffectCommitted: received,
    e.EffectRefused: received,
    e.EffectUnknown: received,
    e.EffectRetried: retried,
    e.EffectPending: pending,
    e.EffectReconciled: reconciled,
    e.EffectVerified: read_back,
    e.EffectDenied: effect_denied,
    e.ActionDeduplicated: deduplicated,
    e.Observed: _observed,
    e.QuestionAsked: _question,
    e.TurnStopped: _stopped,
    e.UserAnswered: _user_answered,
    e.NoProgressNoticed: _noticed,
    e.CandidateSealed: _sealed,
    e.VerificationStarted: _verification_started,
    e.VerificationFinished: _verified,
    e.JudgeAnswered: _judge_answered,
    e.JudgementAsked: _asked_people,
    e.JudgementGiven: _judged,
    e.Suspended: _suspended,
    e.RunResumed: _resumed,
    e.CancelRequested: _cancel_requested,
    e.PauseRequested: _pause_requested,
    e.BudgetExhausted: _exhausted,
    e.AttemptEnded: _ended,
    e.CheckpointSaved: _only_a_fact,
    e.Cancelled: _only_a_fact,
    e.RetryScheduled: _only_a_fact,
    e.PolicyReloaded: _only_a_fact,
    e.PolicyRefused: _only_a_fact,
    e.ApprovalShown: _only_a_fact,
    e.EnvironmentChosen: _only_a_fact,
    e.SecretLeased: _only_a_fact,
    e.SecretReleased: _only_a_fact,
}
