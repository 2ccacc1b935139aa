"""Denials for want of an answer: what tests of an OPA server that fails look for."""

from checkrein.contracts.decision import PolicyDecision, Reserved, Verdict

UNAVAILABLE = Reserved.POLICY_UNAVAILABLE
MISMATCH = Reserved.POLICY_REVISION_MISMATCH
TIMEOUT = Reserved.POLICY_TIMEOUT
SHORT_S = 0.5


def denied_as(answer: PolicyDecision) -> str:
    """The reason code of a denial that carries nothing else."""
    assert answer.decision is Verdict.DENY
    assert (answer.constraints, answer.approval) == ({}, None)
    assert answer.message
    return answer.reason_code
