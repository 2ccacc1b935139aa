"""Rules about what people say of sealed states: asked first, by the role, of that very state."""

from collections.abc import Iterator

from checkrein.contracts import event as e
from checkrein.contracts.verification import CheckStatus
from checkrein.graph.ending_rules import Facts, Problem, contract_of
from checkrein.nodes.approvers import ANONYMOUS, asserted_is_enough


def judged_once(facts: Facts) -> Iterator[Problem]:
    """A judge is asked once about a state, about the sealed one, and within what was reserved."""
    judged: dict[tuple[str, str], CheckStatus] = {}
    sealed: str | None = None
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.CandidateSealed):
            sealed = p.state_digest
        elif isinstance(p, e.JudgeAnswered):
            place = (p.state_digest, p.check_id)
            if p.state_digest != sealed:
                yield fact.seq, "a judge speaks of a state that is not sealed"
            if place in judged:
                yield fact.seq, f"{p.result.name} is asked about one state a second time"
            judged[place] = p.result.status
        elif isinstance(p, e.VerificationFinished):
            for check in p.result.checks:
                told = judged.get((p.result.state_digest, check.check_id or ""))
                decided = check.kind == "model_judge" and check.status is CheckStatus.PASS
                if decided and told is not CheckStatus.PASS:
                    yield fact.seq, f"no judge said pass to {check.name}"


def judged_by_role(facts: Facts) -> Iterator[Problem]:
    """Whoever judges was asked and may; a check passes by a person's yes to this very state."""
    contract = contract_of(facts)
    roles: dict[tuple[str, str], str] = {}
    passed: set[tuple[str, str]] = set()
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.JudgementAsked):
            roles[p.state_digest, p.check] = p.role
            passed.discard((p.state_digest, p.check))
        elif isinstance(p, e.JudgementGiven) and contract is not None:
            people = contract.approvals.roles.get(roles.get((p.state_digest, p.check), ""), [])
            nobody = contract.approvals.anonymous and p.by == ANONYMOUS
            if p.by not in people and not nobody:
                yield fact.seq, f"{p.by} judged without the role that was asked for"
            if contract.approvals.separation_of_duty and p.by == contract.requested_by:
                yield fact.seq, f"{p.by} judged what they asked for themselves"
            if not (p.authenticated or asserted_is_enough(contract)):
                yield fact.seq, f"{p.by} judged by a name that nobody proved"
            if p.verdict == "pass":
                passed.add((p.state_digest, p.check))
        elif isinstance(p, e.VerificationFinished):
            for check in p.result.checks:
                said = (p.result.state_digest, check.name) in passed
                if check.kind == "human" and check.status is CheckStatus.PASS and not said:
                    yield fact.seq, f"nobody said pass to {check.name}"
