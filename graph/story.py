"""A trace as a story for people: when, who, what, one line each, in plain words.

Whatever a model, a tool or a person wrote is shown as text; nothing in it can steer a terminal.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from checkrein.contracts import event as e
from checkrein.contracts.approval import Answer
from checkrein.contracts.decision import Verdict
from checkrein.contracts.effect import EffectStatus, OutcomeSource
from checkrein.contracts.event import Event
from checkrein.contracts.progress import Rung
from checkrein.graph.facts import Fact, read_facts

WIDTH = 110
"""Characters of foreign text that one line shows."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that steer a terminal or hide: controls, formats, surrogates, separators."""

Told = tuple[str, str]
"""Who, and what."""

_BOOKS = (e.BudgetReserved, e.BudgetSettled, e.ContextCompiled, e.IntentBound, e.TaskCreated)
"""Facts that a story leaves out; the trace has them."""


def story(events: Sequence[Event]) -> list[str]:
    """Tell the events of one attempt, in order. Event ids stand in front, so that one can look."""
    facts, unread = read_facts(events)
    if not facts:
        return ["(there is nothing to tell)"]
    began = facts[0].at
    lines: list[str] = []
    previous: Fact | None = None
    for fact in facts:
        for who, what in _told(fact, previous):
            passed = (fact.at - began).total_seconds()
            lines.append(f"{fact.seq:>4}  {fact.at:%H:%M:%S}  +{passed:7.2f} s  {who:<9} {what}")
        previous = fact
    lines += [f"{fault.seq:>4}  (cannot be read: {plain(fault.problem)})" for fault in unread]
    return lines


def plain(text: object, width: int = WIDTH) -> str:
    """Foreign text on one line: what a terminal would obey or hide is written as \\uXXXX."""
    words = " ".join(str(text)[: 8 * width].split())
    shown = "".join(
        c if unicodedata.category(c) not in _UNSEEN else f"\\u{ord(c):04x}" for c in words
    )
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def _told(fact: Fact, previous: Fact | None) -> Iterator[Told]:
    p = fact.payload
    if isinstance(p, _BOOKS):
        return
    if isinstance(p, e.RunResumed) and p.how == "recover" and previous is not None:
        silence = (fact.at - previous.at).total_seconds()
        how = "let go" if isinstance(previous.payload, e.CheckpointSaved) else "died"
        yield "", f"~~~ the process {how} here; another one recovered, {silence:.1f} s later ~~~"
    yield _TELLERS[type(p)](p)


def _started(p: e.AttemptStarted) -> Told:
    contract, commit = p.contract, p.attempt.commit
    if commit is not None:
        return plain(commit.by, 40), "wants the verified result handed over: the final commit"
    return plain(contract.get("requested_by"), 40), f"asks: {plain(contract.get('goal'))}"


def _responded(p: e.ModelResponded) -> Told:
    usage = p.usage
    return "model", (
        f"answers in turn {p.turn} ({usage.input_tokens} tokens in, {usage.output_tokens} out); "
        "its raw output is stored"
    )


def _proposed(p: e.ActionProposed) -> Told:
    return "model", f"proposes {plain(p.action.capability)} on {plain(p.action.resource)}"


def _decided(p: e.PolicyDecided) -> Told:
    words = {
        Verdict.ALLOW: "allows it",
        Verdict.CONSTRAINED_ALLOW: "allows it, within limits",
        Verdict.REQUIRE_APPROVAL: "wants a person to approve it",
        Verdict.DENY: "denies it",
    }
    when = " (asked again right before it runs)" if p.phase == "dispatch" else ""
    return "policy", f"{words[p.decision.decision]}: {p.decision.reason_code}{when}"


def _reloaded(p: e.PolicyReloaded) -> Told:
    if p.version == p.before:
        return "policy", "its folder holds again the rules that decide"
    return "policy", f"its folder changed: {plain(p.version[:19])} decides from here on"


def _placed(p: e.EnvironmentChosen) -> Told:
    found = p.environment
    if found.backend is None:
        withdrawn = plain(", ".join(found.withdrawn)) or "nothing"
        return "harness", f"can run no commands here; withdraws {withdrawn}{_by(found.agreed_by)}"
    again = "goes on in another environment: " if p.restored_differs else ""
    lacks = f"; it does not hold {', '.join(found.does_not)}" if found.does_not else ""
    return "harness", f"{again}commands run in {found.backend}{lacks}{_by(found.agreed_by)}"


def _by(person: str | None) -> str:
    return f"; {plain(person, 40)} agreed to that (name asserted)" if person else ""


def _kept(p: e.PolicyRefused) -> Told:
    return "policy", f"its folder changed and is refused; the old rules go on ({plain(p.problem)})"


def _prepared(p: e.ApprovalPrepared) -> Told:
    request = p.approval
    roles = " or ".join(plain(role, 40) for role in request.terms.roles)
    return "harness", (
        f"stores a request: may {plain(request.capability)} change {plain(request.resource)}? "
        f"({roles} may answer)"
    )


def _answered(p: e.ApprovalDecided) -> Told:
    word = {
        Answer.APPROVE: "approves",
        Answer.REJECT: "rejects",
        Answer.EDIT: "wants other arguments",
        Answer.RESPOND: "answers in the tool's place",
    }[p.answer]
    proof = "signed in" if p.authenticated else "name asserted, not authenticated"
    why = f": {plain(p.reason)}" if p.reason else ""
    return plain(p.approver, 40), f"{word} as {plain(p.authority, 40)} ({proof}){why}"


def _resumed(p: e.RunResumed) -> Told:
    return "harness", f"goes on ({p.how}) as owner number {p.fence}"


def _stale(p: e.ApprovalStale) -> Told:
    why = plain(p.why) or "what was approved has changed since"
    return "harness", f"APPROVAL_STALE: {why}; nothing ran"


def _retried(p: e.EffectRetried) -> Told:
    return "ledger", (
        f"no answer that decides ({plain(p.error_type)}); after {p.delay_s:g} s the same effect is "
        f"sent under the same key, try {p.n}"
    )


def _read_back(p: e.EffectVerified) -> Told:
    if p.holds:
        return "ledger", "reads the real system back: it is as the receipt says"
    return "ledger", f"reads the real system back: it does NOT show the effect ({plain(p.detail)})"


def _reconciled(p: e.EffectReconciled) -> Told:
    if p.source is OutcomeSource.MANUAL:
        proof = "signed in" if p.authenticated else "name asserted, not authenticated"
        return plain(p.by, 40), (
            f"settles {p.effect_id} by hand as {p.outcome.status}, on the evidence "
            f"{plain(p.evidence)} ({proof})"
        )
    if p.outcome.status is EffectStatus.COMMITTED:
        return "ledger", "looks at the target: the change is there; recorded as COMMITTED"
    return "ledger", f"looks at the target: the effect is {p.outcome.status}"


def _refused(p: e.EffectRefused) -> Told:
    return "ledger", f"the target refused: {plain(p.outcome.message or p.outcome.error_type)}"


def _unknown(p: e.EffectUnknown) -> Told:
    return "ledger", f"nobody can say whether it happened: {plain(p.outcome.message)}"


def _lent(p: e.SecretLeased) -> Told:
    return "harness", (
        f"lends the secret {plain(p.name, 64)} to {plain(p.holder, 64)} alone, "
        f"until {p.expires_at:%H:%M:%S} UTC at the latest"
    )


def _observed(p: e.Observed) -> Told:
    seen = p.observation
    why = f" ({plain(seen.diagnostics.error_type)})" if seen.diagnostics is not None else ""
    return "harness", f"tells the model: {plain(seen.name)} is {seen.status}{why}"


def _verified(p: e.VerificationFinished) -> Told:
    checks = "; ".join(f"{check.status} {plain(check.name, 60)}" for check in p.result.checks)
    more = "; the model gets another round" if p.repair else ""
    return "verifier", f"{p.result.status}: {checks}{more}"


_RUNGS = {
    Rung.REPLAN: "asks for another plan",
    Rung.SHRINK: "asks for the smallest next step",
    Rung.SWITCH: "changes what is offered, or who decides",
    Rung.REVIEW: "has it looked at by a reviewer",
    Rung.PERSON: "asks a person",
}


def _noticed(p: e.NoProgressNoticed) -> Told:
    turns = ", ".join(map(str, p.evidence))
    tools = plain(", ".join(p.repeated)) or "nothing new"
    return "harness", f"sees no progress in turns {turns} ({p.signal}: {tools}); {_RUNGS[p.rung]}"


def _judged(p: e.JudgementGiven) -> Told:
    why = f": {plain(p.note)}" if p.note else ""
    return plain(p.by, 40), f"judges the result: {p.verdict} ({_proof(p.authenticated)}){why}"


def _accepted(p: e.UserAccepted) -> Told:
    note = f": {plain(p.note)}" if p.note else ""
    role = plain(p.authority, 40)
    text = f"accepts the verified state as {role} ({_proof(p.authenticated)}){note}"
    return plain(p.by, 40), text


def _proof(authenticated: bool) -> str:
    return "signed in" if authenticated else "name asserted, not authenticated"


def _ended(p: e.AttemptEnded) -> Told:
    more = f": {plain(p.detail)}" if p.detail else ""
    asks = " (a person must decide how to go on)" if p.needs_escalation else ""
    return "harness", f"ends as {p.status}{more}{asks}"


_TELLERS: dict[type[Any], Callable[[Any], Told]] = {
    e.AttemptStarted: _started,
    e.BudgetExhausted: lambda p: ("harness", f"the budget {p.budget} of {p.limit} is used up"),
    e.BudgetWarning: lambda p: ("harness", f"{p.used} of {p.limit} {p.budget} are used"),
    e.BudgetRaised: lambda p: (
        plain(p.by),
        f"raises the budget {p.budget} from {p.from_limit} to {p.to_limit}",
    ),
    e.ModelRequested: lambda p: ("harness", f"asks the model, turn {p.turn}"),
    e.ModelResponded: _responded,
    e.RetryScheduled: lambda p: ("harness", f"tries again in {p.delay_s:g} s ({p.error_type})"),
    e.ActionProposed: _proposed,
    e.PolicyDecided: _decided,
    e.PolicyReloaded: _reloaded,
    e.PolicyRefused: _kept,
    e.ApprovalPrepared: _prepared,
    e.EnvironmentChosen: _placed,
    e.CheckpointSaved: lambda p: ("harness", "saves a checkpoint: from here it can go on safely"),
    e.ApprovalRequested: lambda p: ("harness", f"offers the request to people: {p.approval_id}"),
    e.Suspended: lambda p: ("harness", f"waits as {p.status}: {plain(p.reason)}"),
    e.ApprovalDecided: _answered,
    e.RunResumed: _resumed,
    e.ApprovalGranted: lambda p: ("harness", "the approval still fits what would happen; spent"),
    e.ApprovalStale: _stale,
    e.PlanAccepted: lambda p: ("harness", "the plan is accepted: the work may begin"),
    e.ResultAccepted: lambda p: ("harness", "the result is accepted, as it is now"),
    e.PermissionUsed: lambda p: (
        "harness",
        f"lies within what was approved for more than one action ({p.permission_id})",
    ),
    e.ApprovalShown: lambda p: ("harness", f"shows {p.approval_id} through the agent's own loop"),
    e.ApprovalEscalated: lambda p: (
        "harness",
        f"nobody has answered {p.approval_id} yet: {plain(p.role, 40)} may now, too",
    ),
    e.ApprovalExpired: lambda p: ("harness", f"{p.approval_id} has expired: that counts as a no"),
    e.EffectExecuting: lambda p: ("ledger", f"EXECUTING is durable; now {p.effect_id} is sent"),
    e.EffectCommitted: lambda p: ("ledger", f"receipt: {p.effect_id} is COMMITTED"),
    e.EffectRefused: _refused,
    e.EffectUnknown: _unknown,
    e.EffectRetried: _retried,
    e.EffectPending: lambda p: ("ledger", f"has to wait: {plain(p.why)}"),
    e.EffectReconciled: _reconciled,
    e.EffectVerified: _read_back,
    e.EffectDenied: lambda p: ("ledger", f"stopped before it was sent: {plain(p.reason_code)}"),
    e.ActionDeduplicated: lambda p: (
        "ledger",
        "action_deduplicated: it had happened already, so nothing is sent a second time",
    ),
    e.SecretLeased: _lent,
    e.SecretReleased: lambda p: ("harness", f"has the secret {plain(p.name, 64)} back"),
    e.Observed: _observed,
    e.QuestionAsked: lambda p: ("model", f"asks the person: {plain(p.question)}"),
    e.UserAnswered: lambda p: (plain(p.by, 40), f"answers: {plain(p.text)}"),
    e.NoProgressNoticed: _noticed,
    e.TurnStopped: lambda p: ("model", f"stops without an action: {plain(p.why)}"),
    e.CandidateSealed: lambda p: ("model", f"claims to be done: {plain(p.summary)}"),
    e.VerificationStarted: lambda p: (
        "verifier",
        f"judges the sealed state {p.state_digest[7:19]}, in copies the model cannot reach",
    ),
    e.VerificationFinished: _verified,
    e.JudgeAnswered: lambda p: (
        "verifier",
        f"has an independent model's word on the sealed state: {p.result.status}",
    ),
    e.JudgementAsked: lambda p: (
        "verifier",
        f"asks {plain(p.role, 40)} to judge the sealed state: {plain(p.question)}",
    ),
    e.JudgementGiven: _judged,
    e.CancelRequested: lambda p: (plain(p.by, 40), f"asks for the end: {plain(p.reason)}"),
    e.PauseRequested: lambda p: (plain(p.by, 40), "asks for a pause"),
    e.Cancelled: lambda p: ("harness", "everything is quiet"),
    e.AttemptEnded: _ended,
    e.UserAccepted: _accepted,
}
