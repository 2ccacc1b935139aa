"""Rules that every trace must keep, checked on the trace alone.

A trace can be the faithful record of a bad run: what is graded here is the record, not the work.
"""

from collections.abc import Callable, Iterator, Sequence

from checkrein.contracts import event as e
from checkrein.contracts import ids
from checkrein.contracts.action import Action, operation_hash
from checkrein.contracts.approval import Answer, ApprovalRequest
from checkrein.contracts.codec import digest_of
from checkrein.contracts.decision import Verdict
from checkrein.contracts.event import Event
from checkrein.contracts.observation import ObservationStatus
from checkrein.errors import InputError
from checkrein.graph.contract_rules import one_contract
from checkrein.graph.ending_rules import (
    Facts,
    Problem,
    accepted,
    commits,
    contract_of,
    ending,
    verified,
)
from checkrein.graph.facts import Fault, read_facts
from checkrein.graph.judgement_rules import judged_by_role, judged_once
from checkrein.graph.progress_rules import failures, notices
from checkrein.graph.rebuilt import Rebuilt
from checkrein.nodes.approvers import ANONYMOUS, asserted_is_enough, barred

_OUTCOME = e.EffectCommitted | e.EffectRefused | e.EffectUnknown | e.EffectReconciled


def grade(events: Sequence[Event]) -> list[Fault]:
    """Every rule that the trace breaks, each fault with the rule's name. Never raises."""
    facts, faults = read_facts(events)
    faults += [Fault("named_cause", seq, problem) for seq, problem in _causes(events)]
    faults += Rebuilt.of(facts).faults
    for name, rule in RULES.items():
        faults += [Fault(name, seq, problem) for seq, problem in rule(facts)]
    return faults


def _causes(events: Sequence[Event]) -> Iterator[Problem]:
    known: set[str] = set()
    for event in events:
        if event.event_id != f"{event.attempt_id}/{event.seq}":
            yield event.seq, "its id is not that of its place"
        if event.attempt_id != events[0].attempt_id:
            yield event.seq, "it belongs to another attempt"
        if known and event.cause_id not in known:
            yield event.seq, "it names no earlier event as its cause"
        known.add(event.event_id)


def _opening(facts: Facts) -> Iterator[Problem]:
    types = [fact.payload.type for fact in facts]
    if types[:1] != ["attempt_started"] and types[:2] != ["task_created", "attempt_started"]:
        yield 1, "a trace begins with task_created and attempt_started, or the latter alone"
    for fact in facts[2:]:
        if isinstance(fact.payload, e.TaskCreated | e.AttemptStarted):
            yield fact.seq, f"{fact.payload.type} stands only at the beginning"


def _derived(facts: Facts) -> Iterator[Problem]:
    """Ids and hashes are computed from what they stand for; so they can be computed again."""
    actions: dict[str, Action] = {}
    models: dict[int, str] = {}
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.ModelRequested):
            models[p.turn] = p.model
        elif isinstance(p, e.TaskCreated) and p.task.contract_version != _hash(
            digest_of, p.contract
        ):
            yield fact.seq, "the task's contract_version is not the digest of its contract"
        elif isinstance(p, e.ActionProposed):
            x = actions[p.action.action_id] = p.action
            if x.action_id != ids.action_id(x.attempt_id, x.turn, x.position, x.revision):
                yield fact.seq, f"{x.action_id} is not the id of that place in that turn"
            if x.actor != models.get(x.turn):
                yield fact.seq, f"{x.action_id} acts by another name than the model that was asked"
            if x.args_hash != _hash(digest_of, x.args):
                yield fact.seq, f"{x.action_id} has another args_hash than its arguments"
        elif isinstance(p, e.PolicyDecided) and p.action_id in actions:
            constraints = p.decision.constraints
            if p.operation_hash != _hash(operation_hash, actions[p.action_id], constraints):
                yield fact.seq, f"the operation_hash of {p.action_id} is of another operation"
        elif isinstance(p, e.IntentBound):
            if p.effect_id != ids.effect_id(p.tenant, p.resource, p.key):
                yield fact.seq, f"{p.effect_id} is not the id of that key on that resource"
        elif isinstance(p, e.CandidateSealed):
            parts = [p.summary, p.state_digest, [a.hash for a in p.artifacts]]
            if p.candidate_hash != _hash(digest_of, parts):
                yield fact.seq, "the candidate_hash is of another candidate"


def _results(facts: Facts) -> Iterator[Problem]:
    answered: set[int] = set()
    calls: dict[str, e.ActionProposed] = {}
    seen: set[tuple[int, int]] = set()
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.ModelResponded):
            answered.add(p.turn)
        elif isinstance(p, e.ActionProposed):
            calls[p.action.action_id] = p
        elif isinstance(p, e.Observed):
            shown = p.observation
            call = calls.get(shown.action_id)
            if shown.turn not in answered:
                yield fact.seq, f"a result for turn {shown.turn}, in which no model made a call"
            elif call is None and shown.status is not ObservationStatus.INVALID:
                yield fact.seq, f"a result for {shown.action_id}, which nobody proposed"
            elif call is not None and call.action.call_id != shown.call_id:
                yield fact.seq, f"the result of {shown.action_id} is for another call"
            if (shown.turn, shown.position) in seen:
                yield fact.seq, "a second result for one call"
            seen.add((shown.turn, shown.position))


def _decisions(facts: Facts) -> Iterator[Problem]:
    last: dict[str, e.PolicyDecided] = {}
    bound: dict[str, e.IntentBound] = {}
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.PolicyDecided):
            last[p.action_id] = p
        elif isinstance(p, e.IntentBound):
            bound[p.effect_id] = p
            decided = last.get(p.action_id)
            if decided is None or decided.phase != "dispatch":
                yield fact.seq, f"{p.effect_id} is bound without a decision at dispatch before it"
            elif decided.operation_hash != p.operation_hash:
                yield fact.seq, f"{p.effect_id} is bound to another operation than was decided on"
        elif isinstance(p, e.EffectExecuting):
            decided = last.get(p.action_id)
            if p.effect_id not in bound:
                yield fact.seq, f"{p.effect_id} is sent without having been bound"
            if decided is None or decided.decision.decision is Verdict.DENY:
                yield fact.seq, f"{p.effect_id} is sent although nothing allows it"
        elif isinstance(p, e.Observed) and p.observation.status is ObservationStatus.OK:
            decided = last.get(p.observation.action_id)
            if decided is None or decided.decision.decision is Verdict.DENY:
                yield fact.seq, f"{p.observation.action_id} has a result and nothing allows it"


def _grants(facts: Facts) -> Iterator[Problem]:
    asked: dict[str, ApprovalRequest] = {}
    approved: dict[str, set[str]] = {}
    last: dict[str, e.PolicyDecided] = {}
    hashes: dict[str, str] = {}
    granted: set[tuple[str, str]] = set()
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.ApprovalPrepared):
            asked[p.approval.approval_id] = p.approval
        elif isinstance(p, e.ApprovalDecided) and p.answer is Answer.APPROVE:
            approved.setdefault(p.approval_id, set()).add(p.approver)
        elif isinstance(p, e.PolicyDecided):
            last[p.action_id] = p
        elif isinstance(p, e.IntentBound):
            hashes[p.effect_id] = p.operation_hash
        elif isinstance(p, e.ApprovalGranted):
            request = asked.get(p.approval_id)
            people = approved.get(p.approval_id, set())
            if not people or request is None:
                yield fact.seq, f"{p.approval_id} is spent and nobody approved it"
            elif len(people) < request.terms.quorum:
                yield fact.seq, f"{p.approval_id} is spent and too few people approved it"
            elif (p.operation_hash, p.resource_version, p.action_id) != (
                request.operation_hash,
                request.resource_version,
                request.action_id,
            ):
                yield fact.seq, f"{p.approval_id} is spent on something else than was approved"
            granted.add((p.action_id, p.operation_hash))
        elif isinstance(p, e.PermissionUsed):
            # Given perhaps in an earlier attempt; then the policy's own word is what stands here.
            decided = last.get(p.action_id)
            if decided is None or decided.decision.covered_by != p.permission_id:
                yield fact.seq, f"{p.permission_id} is used where the policy does not name it"
            elif p.permission_id in asked and p.permission_id not in approved:
                yield fact.seq, f"{p.permission_id} is used and nobody approved it"
            granted.add((p.action_id, p.operation_hash))
        elif isinstance(p, e.EffectExecuting) and p.action_id in last:
            needed = last[p.action_id].decision.decision is Verdict.REQUIRE_APPROVAL
            if needed and (p.action_id, hashes.get(p.effect_id, "")) not in granted:
                yield fact.seq, f"{p.effect_id} is sent without a grant for its operation"


def _approvers(facts: Facts) -> Iterator[Problem]:
    asked: dict[str, ApprovalRequest] = {}
    contract = contract_of(facts)
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.ApprovalPrepared):
            asked[p.approval.approval_id] = p.approval
        elif isinstance(p, e.ApprovalDecided) and p.approval_id in asked and contract is not None:
            request = asked[p.approval_id]
            people = contract.approvals.roles.get(p.authority, [])
            nobody = contract.approvals.anonymous and p.approver == ANONYMOUS
            if p.authority not in request.roles or (p.approver not in people and not nobody):
                yield fact.seq, f"{p.approver} answered without the role that was asked for"
            if p.approver in barred(request, contract.requested_by):
                yield fact.seq, f"{p.approver} answered their own request"
            if not (p.authenticated or asserted_is_enough(contract)):
                yield fact.seq, f"{p.approver} answered by a name that nobody proved"
        elif isinstance(p, e.ApprovalEscalated) and p.approval_id in asked:
            request = asked[p.approval_id]
            asked[p.approval_id] = request.model_copy(update={"escalated": p.step})
            if p.role not in asked[p.approval_id].roles:
                yield fact.seq, f"{p.approval_id} was escalated to a role that it does not name"


def _offers(facts: Facts) -> Iterator[Problem]:
    prepared: dict[str, int] = {}
    saved = 0
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.CheckpointSaved):
            saved = fact.seq
        elif isinstance(p, e.ApprovalPrepared):
            prepared[p.approval.approval_id] = fact.seq
        elif isinstance(p, e.ApprovalRequested) and saved <= prepared.get(p.approval_id, fact.seq):
            yield fact.seq, f"{p.approval_id} is on offer before a checkpoint was saved"


def _sends(facts: Facts) -> Iterator[Problem]:
    sent: set[str] = set()
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.EffectExecuting):
            sent.add(p.effect_id)
        elif isinstance(p, _OUTCOME) and p.effect_id not in sent:
            yield fact.seq, f"{p.effect_id} has an outcome and was never sent"


def _hash(compute: Callable[..., str], *parts: object) -> str:
    """A digest of JSON values; none where they have no canonical form, which fits nothing."""
    try:
        return compute(*parts)
    except InputError:
        return ""


RULES: dict[str, Callable[[Facts], Iterator[Problem]]] = {
    "opening": _opening,
    "one_contract": one_contract,
    "derived": _derived,
    "result_has_call": _results,
    "decision_before_effect": _decisions,
    "grant_for_same_operation": _grants,
    "approver_has_role": _approvers,
    "checkpoint_before_approval": _offers,
    "executing_before_outcome": _sends,
    "judged_by_role": judged_by_role,
    "judged_once": judged_once,
    "verified_by_evidence": verified,
    "ending_agrees": ending,
    "notice_has_evidence": notices,
    "failed_by_an_error": failures,
    "accepted_after_verified": accepted,
    "commit_by_authority": commits,
}
"""Every rule by its name, besides `readable`, `named_cause` and `legal_change`."""
