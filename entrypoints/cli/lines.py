"""Events as one line each for people: the live view and the readable trace tell the same story."""

from collections.abc import Callable, Mapping
from typing import Any

from checkrein.contracts import event as e
from checkrein.contracts.observation import Observation

Teller = Callable[[Any], str]


def _amounts(amounts: Mapping[Any, int]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items() if amount) or "nothing"


def _responded(p: e.ModelResponded) -> str:
    usage = p.usage
    return f"turn {p.turn}: answered, {usage.input_tokens} tokens in, {usage.output_tokens} out"


def _decided(p: e.PolicyDecided) -> str:
    when = "" if p.phase == "propose" else ", asked again right before it runs"
    why = f": {p.decision.message}" if p.decision.message else ""
    return f"policy says {p.decision.decision} ({p.decision.reason_code}){when}{why}"


def _reloaded(p: e.PolicyReloaded) -> str:
    if p.version == p.before:
        return f"the policy's folder holds again what decides ({p.version[:19]})"
    return f"the policy's folder changed: {p.version[:19]} decides from now on"


def _placed(p: e.EnvironmentChosen) -> str:
    found = p.environment
    by = f"; {found.agreed_by} agreed to that" if found.agreed_by else ""
    if found.backend is None:
        gone = ", ".join(found.withdrawn) or "nothing"
        return f"no command can be run here; withdrawn: {gone}{by}"
    again = "the environment is another one than before: " if p.restored_differs else ""
    lacks = f", which does not isolate {', '.join(found.does_not)}" if found.does_not else ""
    return f"{again}commands run by {found.backend}{lacks}{by}"


def _kept(p: e.PolicyRefused) -> str:
    return f"a change of the policy's folder is refused, {p.serving[:19]} goes on: {p.problem}"


def _requested(p: e.ModelRequested) -> str:
    again = f", try {p.try_number}" if p.try_number > 1 else ""
    return f"turn {p.turn}: the model {p.model} is asked{again}"


def _answered(p: e.ApprovalDecided) -> str:
    proof = "signed in" if p.authenticated else "asserted"
    why = f": {p.reason}" if p.reason else ""
    return f"{p.approver} ({p.authority}, {proof}) says {p.answer} to {p.approval_id}{why}"


def _observed(p: e.Observed) -> str:
    o: Observation = p.observation
    why = f" ({o.diagnostics.error_type})" if o.diagnostics is not None else ""
    return f"turn {o.turn}: {o.name} is {o.status}{why}"


def _verified(p: e.VerificationFinished) -> str:
    checks = "; ".join(f"{check.status} {check.name}" for check in p.result.checks)
    return f"verification: {p.result.status} ({checks})" + (", repair follows" if p.repair else "")


def _retried(p: e.RetryScheduled) -> str:
    return f"turn {p.turn}: {p.what} failed ({p.error_type}); try {p.try_number} in {p.delay_s:g} s"


def _stale(p: e.ApprovalStale) -> str:
    return (
        f"approval {p.approval_id} is stale: given for {p.approved_version[:19]}, "
        f"found {p.found_version[:19]}; nothing ran"
    )


def _noticed(p: e.NoProgressNoticed) -> str:
    turns = ", ".join(map(str, p.evidence))
    return f"no progress ({p.signal}, turns {turns}): {p.rung}"


def _judged(p: e.JudgementGiven) -> str:
    proof = "signed in" if p.authenticated else "asserted"
    why = f": {p.note}" if p.note else ""
    return f"{p.by} ({proof}) judges {p.state_digest[:19]}: {p.verdict}{why}"


def _ended(p: e.AttemptEnded) -> str:
    more = f": {p.detail}" if p.detail else ""
    return f"ends as {p.status}{more}" + (" (a person must decide)" if p.needs_escalation else "")


TELLERS: dict[type[Any], Teller] = {
    e.TaskCreated: lambda p: f"task {p.task.task_id}",
    e.AttemptStarted: lambda p: (
        f"attempt {p.attempt.number} works in {p.attempt.workspace_ref.root}"
    ),
    e.ContextCompiled: lambda p: f"turn {p.turn}: context of {p.tokens} tokens",
    e.BudgetReserved: lambda p: f"reserves {_amounts(p.amounts)}",
    e.BudgetSettled: lambda p: f"settles: spent {_amounts(p.spent)}",
    e.BudgetExhausted: lambda p: f"budget {p.budget} is used up: {p.needed} needed, {p.left} left",
    e.BudgetWarning: lambda p: f"budget {p.budget} is near its limit: {p.used} of {p.limit} used",
    e.BudgetRaised: lambda p: (
        f"{p.by} raises budget {p.budget} from {p.from_limit} to {p.to_limit} (as {p.authority})"
    ),
    e.ModelRequested: _requested,
    e.ModelResponded: _responded,
    e.RetryScheduled: _retried,
    e.ActionProposed: lambda p: f"proposes {p.action.type} on {p.action.resource}",
    e.PolicyDecided: _decided,
    e.PolicyReloaded: _reloaded,
    e.PolicyRefused: _kept,
    e.ApprovalPrepared: lambda p: f"stores the request {p.approval.approval_id}",
    e.EnvironmentChosen: _placed,
    e.CheckpointSaved: lambda p: "is at a safe point",
    e.ApprovalRequested: lambda p: f"asks people for approval {p.approval_id}",
    e.Suspended: lambda p: f"waits as {p.status}: {p.reason}",
    e.ApprovalDecided: _answered,
    e.RunResumed: lambda p: f"goes on ({p.how}, fence {p.fence})",
    e.ApprovalGranted: lambda p: f"approval {p.approval_id} still holds and is spent",
    e.ApprovalStale: _stale,
    e.ResultAccepted: lambda p: f"the result is accepted at {p.state_digest[:19]}",
    e.PlanAccepted: lambda p: "the plan is accepted; changes may be proposed from now on",
    e.PermissionUsed: lambda p: f"uses permission {p.permission_id} once",
    e.ApprovalShown: lambda p: f"approval {p.approval_id} is shown by the agent's own loop",
    e.ApprovalEscalated: lambda p: f"approval {p.approval_id} is open to {p.role} too, from now on",
    e.ApprovalExpired: lambda p: f"approval {p.approval_id} has expired, which is a no",
    e.IntentBound: lambda p: f"binds {p.effect_id} to its key",
    e.EffectExecuting: lambda p: f"executes {p.effect_id}",
    e.EffectCommitted: lambda p: f"{p.effect_id} is COMMITTED",
    e.EffectRefused: lambda p: f"{p.effect_id} is REFUSED: {p.outcome.message}",
    e.EffectUnknown: lambda p: f"{p.effect_id} is UNKNOWN_EFFECT: {p.outcome.message}",
    e.EffectRetried: lambda p: f"sends {p.effect_id} again, try {p.n} ({p.error_type})",
    e.EffectPending: lambda p: f"has to wait: {p.why}",
    e.EffectReconciled: lambda p: f"{p.effect_id} is found to be {p.outcome.status} ({p.source})",
    e.EffectVerified: lambda p: (
        f"{p.effect_id} is read back: {'it holds' if p.holds else f'it does NOT hold, {p.detail}'}"
    ),
    e.EffectDenied: lambda p: f"{p.effect_id} is DENIED before it was sent ({p.reason_code})",
    e.ActionDeduplicated: lambda p: f"had happened already ({p.effect_id}); nothing is sent again",
    e.SecretLeased: lambda p: (
        f"lends the secret {p.name} to {p.holder} until {p.expires_at:%H:%M:%S} UTC"
    ),
    e.SecretReleased: lambda p: f"has the secret {p.name} back from {p.holder}",
    e.Observed: _observed,
    e.QuestionAsked: lambda p: f"the model asks: {p.question}",
    e.UserAnswered: lambda p: f"{p.by} answers: {p.text}",
    e.NoProgressNoticed: _noticed,
    e.TurnStopped: lambda p: f"turn {p.turn}: the model stopped: {p.why}",
    e.CandidateSealed: lambda p: f"turn {p.turn}: claims to be done: {p.summary}",
    e.VerificationStarted: lambda p: f"verifies {p.state_digest[:19]}",
    e.VerificationFinished: _verified,
    e.JudgeAnswered: lambda p: f"{p.result.name} of {p.state_digest[:19]}: {p.result.status}",
    e.JudgementAsked: lambda p: f"asks {p.role} to judge {p.state_digest[:19]}: {p.question}",
    e.JudgementGiven: _judged,
    e.CancelRequested: lambda p: f"{p.by} asks for the end: {p.reason}",
    e.PauseRequested: lambda p: f"{p.by} asks for a pause",
    e.Cancelled: lambda p: "everything is quiet",
    e.AttemptEnded: _ended,
    e.UserAccepted: lambda p: f"{p.by} accepts the verified state as {p.authority}",
}

QUIET = (
    e.TaskCreated,
    e.ContextCompiled,
    e.BudgetReserved,
    e.BudgetSettled,
    e.ApprovalPrepared,
    e.CheckpointSaved,
    e.IntentBound,
)
"""Events that the live view does not show; the trace does."""

_NEXT_WAITS: dict[type[Any], Teller] = {
    e.ModelRequested: lambda p: f"the model's answer, turn {p.turn}",
    e.ModelResponded: lambda p: "the next step",
    e.ActionProposed: lambda p: "the policy",
    e.PolicyDecided: lambda p: "the next step",
    e.EffectExecuting: lambda p: "the effect's outcome",
    e.RetryScheduled: lambda p: f"the pause before try {p.try_number}",
    e.VerificationStarted: lambda p: "the verifiers",
    e.CandidateSealed: lambda p: "the verifiers",
}


def told(payload: e.Payload) -> str:
    """One line for people. It may hold text of the model: show it, do not print it as it is."""
    return TELLERS[type(payload)](payload)


def waits_for(payload: e.Payload) -> str:
    """What is being waited for once this has happened."""
    teller = _NEXT_WAITS.get(type(payload))
    return "the next step" if teller is None else teller(payload)
