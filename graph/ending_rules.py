"""Rules about the end of a trace: what it says was reached, and what must stand before that."""

import shlex
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from checkrein.contracts import event as e
from checkrein.contracts.action import ActionStatus
from checkrein.contracts.attempt import AttemptStatus, CommitOf
from checkrein.contracts.check import Check, CommandCheck, kind_of
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.task import PUBLISH, TaskContract, shortfall
from checkrein.contracts.verification import (
    PUBLISHABLE,
    PUBLISHED,
    CheckResult,
    CheckStatus,
    VerificationResult,
    check_id,
)
from checkrein.graph.facts import Fact
from checkrein.graph.rebuilt import Rebuilt
from checkrein.nodes.approvers import accepts_as, asserted_is_enough, is_authority

Problem = tuple[int, str]
"""Where, as a seq, and what."""

Facts = Sequence[Fact]


def verified(facts: Facts) -> Iterator[Problem]:
    """What ends verified was accepted in its last sealed state, by every check of its contract."""
    sealed: e.CandidateSealed | None = None
    verdict: e.VerificationFinished | None = None
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.CandidateSealed):
            sealed, verdict = p, None
        elif isinstance(p, e.VerificationFinished):
            verdict = p
        elif isinstance(p, e.EffectExecuting | e.EffectCommitted | e.EffectReconciled):
            sealed = verdict = None  # the world that was sealed is no more
        elif isinstance(p, e.AttemptEnded) and p.status is AttemptStatus.CANDIDATE_VERIFIED:
            if sealed is None or verdict is None or verdict.repair:
                yield fact.seq, "it ends verified without a verification of the last candidate"
            elif not verdict.result.accepted or not verdict.result.checks:
                yield fact.seq, "it ends verified although the verification did not accept"
            elif verdict.result.state_digest != sealed.state_digest:
                yield fact.seq, "it ends verified by a verification of another state"
            else:
                yield from ((fact.seq, problem) for problem in _unmet(facts, verdict.result))


def _unmet(facts: Facts, result: VerificationResult) -> Iterator[str]:
    contract = contract_of(facts)
    if contract is None or result.contract_version != contract.contract_version:
        yield "the verification is of another contract"
        return
    if any(check.status is not CheckStatus.PASS for check in result.checks):
        yield "a check of the accepted verification did not pass"
    commit = commit_of(facts)
    if commit is not None:
        if result.state_digest != commit.state_digest:
            yield "the target of the commit is not at the state that was verified"
        if not any(check.kind == PUBLISHED for check in result.checks):
            yield "the verification did not look at what the commit handed over"
        if not _handed_over(facts, contract):
            yield f"{contract.commit_act.capability} did not happen, and was not done before"
        return
    for check in contract.success:
        meant = check_id(check)
        if not any(_proves(check, c) for c in result.checks if c.check_id == meant):
            yield f"the verification did not run {_named(check)}"
    short = shortfall(contract.risk, {check.strength for check in contract.success})
    if short is not None:
        yield f"its checks prove too little: {short}"
    if not any(check.kind == "policy_obeyed" for check in result.checks):
        yield "the verification did not look at whether the policy was obeyed"
    protected = ", ".join(contract.protected)
    if protected and not any(
        c.kind == "unchanged" and c.name == protected and c.check_id is None for c in result.checks
    ):
        yield "the verification did not look at the protected paths"
    if contract.moves_files and not any(c.kind == PUBLISHABLE for c in result.checks):
        yield "the verification did not look whether the result can be handed over"
    if contract.artifacts and not any(check.kind == "artifacts" for check in result.checks):
        yield "the verification did not look for the artifacts that the contract declares"
    if contract.approvals.result and not any(c.kind == "accepted" for c in result.checks):
        yield "no person accepted the result, and the contract wants that"


def _handed_over(facts: Facts, contract: TaskContract) -> bool:
    """Whether the act of a commit succeeded: by a receipt, an earlier one, or as it was so."""
    act = contract.commit_act.capability
    made = Rebuilt.of(facts).actions.values()
    return any(x.capability == act and x.status is ActionStatus.SUCCEEDED for x in made)


def _proves(check: Check, result: CheckResult) -> bool:
    """Whether a result is a pass of that check, of the strength that its kind has."""
    ended_well = not isinstance(check, CommandCheck) or result.exit_code == 0
    passed = result.status is CheckStatus.PASS and ended_well
    return passed and result.strength is check.strength


def _named(check: Check) -> str:
    """A check in words; hidden tests and bodies are left out."""
    if isinstance(check, CommandCheck):
        return shlex.join(check.command.argv)
    return f"a {kind_of(check)} check of its contract"


def ending(facts: Facts) -> Iterator[Problem]:
    """The end agrees with the facts before it; nothing follows but what people sign."""
    types = {fact.payload.type for fact in facts}
    ends = [fact for fact in facts if isinstance(fact.payload, e.AttemptEnded)]
    for fact in ends[:1]:
        for later in facts:
            if later.seq > fact.seq and not isinstance(later.payload, e.UserAccepted):
                yield later.seq, "it follows the end"
        rebuilt = Rebuilt.of(f for f in facts if f.seq <= fact.seq)
        assert rebuilt.ended is not None
        status, verdict = rebuilt.ended.status, rebuilt.verification
        if not status.is_terminal:
            yield fact.seq, f"{status} is no end"
        if status is AttemptStatus.FAILED_VERIFICATION and (verdict is None or verdict.accepted):
            yield fact.seq, "it ends unverified although no verification refused"
        if status is AttemptStatus.CANCELLED and not {"cancel_requested", "cancelled"} <= types:
            yield fact.seq, "it ends cancelled and nobody asked for that, or not all is quiet"
        quiet = status in {AttemptStatus.CANCELLED, AttemptStatus.CANDIDATE_VERIFIED}
        told = {f.payload.observation.action_id for f in facts if isinstance(f.payload, e.Observed)}
        for effect in rebuilt.effects.values() if quiet else ():
            if effect.status in {EffectStatus.EXECUTING, EffectStatus.UNKNOWN_EFFECT}:
                yield fact.seq, f"it ends while {effect.effect_id} is {effect.status}"
            elif status is not AttemptStatus.CANCELLED and effect.action_id not in told:
                yield fact.seq, f"it ends and {effect.action_id} never got its result"


def accepted(facts: Facts) -> Iterator[Problem]:
    """Who signs may, signs once, after the verified end, and signs what was verified."""
    contract = contract_of(facts)
    rebuilt = Rebuilt()
    people: set[str] = set()
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.UserAccepted):
            sealed = rebuilt.sealed
            if rebuilt.task_accepted is None or sealed is None or commit_of(facts) is not None:
                yield fact.seq, f"{p.by} accepts what was not verified"
            elif (p.state_digest, p.candidate_hash) != (sealed.state_digest, sealed.candidate_hash):
                yield fact.seq, f"{p.by} accepts another state than was verified"
            if p.by in people:
                yield fact.seq, f"{p.by} accepts a second time"
            people.add(p.by)
            if contract is not None and p.authority != accepts_as(contract, p.by):
                yield fact.seq, f"{p.by} accepts without the right to"
            if contract is not None and not (p.authenticated or asserted_is_enough(contract)):
                yield fact.seq, f"{p.by} accepts by a name that nobody proved"
        rebuilt.take(fact)


def commits(facts: Facts) -> Iterator[Problem]:
    """The final commit is the commit authority's, by the one act that the contract names."""
    contract, commit = contract_of(facts), commit_of(facts)
    for fact in facts:
        p = fact.payload
        if contract is None or not isinstance(p, e.AttemptStarted | e.ActionProposed):
            continue
        if isinstance(p, e.AttemptStarted) and commit is not None:
            if not is_authority(contract, commit.by):
                yield fact.seq, f"{commit.by} commits and is not the commit authority"
            if not (commit.authenticated or asserted_is_enough(contract)):
                yield fact.seq, f"{commit.by} commits by a name that nobody proved"
        elif isinstance(p, e.ActionProposed):
            final = p.action.capability in {PUBLISH, contract.commit_act.capability}
            if final is not (commit is not None):
                yield fact.seq, "the final commit, and nothing else, is made in a commit attempt"


def commit_of(facts: Facts) -> CommitOf | None:
    """What a commit attempt hands over; None for one that works."""
    started = (f.payload for f in facts if isinstance(f.payload, e.AttemptStarted))
    first = next(started, None)
    return None if first is None else first.attempt.commit


def contract_of(facts: Facts) -> TaskContract | None:
    """The contract that the attempt was started under, where it is one."""
    for fact in facts:
        if isinstance(fact.payload, e.AttemptStarted):
            try:
                return TaskContract.model_validate(fact.payload.contract)
            except ValidationError:
                return None
    return None
