"""Rules about what people say of sealed states: asked first, by the role, of that very state."""

from collections.abc import Iterator

from checkrein.contracts import event as e
from checkrein.contracts.verification import CheckStatus
from checkrein.graph.ending_rules import Facts, Problem, contract_of
from checkrein.nodes.approvers import ANONYMOUS, asserted_is_enough


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
