"""What a rule may ask about: one rule for each part of the input, which that part alone decides."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from checkrein.contracts.decision import DecisionInput
from checkrein.policy_rego.bundle_files import make_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy

# What is asked about: a condition on it, and what in an input meets it.
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "subject": ('input.actor.user == "eve"', {"actor.user": "eve"}),
    "roles of the subject": ('"operator" in input.actor.roles', {"actor.roles": ["operator"]}),
    "tenant": ('input.tenant == "acme"', {"tenant": "acme"}),
    "capability": ('input.action.capability == "mail.send"', {"action.capability": "mail.send"}),
    "arguments": ("input.action.args.all == true", {"action.args": {"all": True}}),
    "target": ('input.action.resource == "db:users"', {"action.resource": "db:users"}),
    "environment": (
        'input.action.environment == "production"',
        {"action.environment": "production"},
    ),
    "stage": ('input.task.stage == "release"', {"task.stage": "release"}),
    "risk of the task": ('input.task.risk == "high"', {"task.risk": "high"}),
    "private data seen": ("input.provenance.private", {"provenance.private": True}),
    "rows": ("input.action.facts.rows > 100", {"action.facts.rows": 5000}),
    "reversibility": ("input.action.reversible == false", {"action.reversible": False}),
    "budget": ("input.budget.steps < 2", {"budget": {"steps": 1}}),
    "approvals": (
        "count(input.approvals) == 1",
        {"approvals": [{"approval_id": "p", "approvers": ["bob"], "operation_hash": "sha256:1"}]},
    ),
    "denials before": ("input.attempt.prior_denials > 2", {"attempt.prior_denials": 3}),
}


@pytest.mark.parametrize("name", PARTS)
async def test_a_rule_reads_it(
    name: str,
    document: Callable[..., DecisionInput],
    policy_of: Callable[..., Awaitable[EmbeddedPolicy]],
) -> None:
    """Protects authors: each part is there under its name, and no other part stands in for it."""
    rules = [
        f'deny contains {{"reason_code": "part_{number}"}} if {condition}'
        for number, (condition, _) in enumerate(PARTS.values())
    ]
    text = "package checkrein.rules.parts\n\n" + "\n\n".join(rules) + "\n"
    modules = {"checkrein/rules/parts.rego": text}
    policy = await policy_of(make_bundle(origin="parts", modules=modules, tests={}, data={}))
    plain: dict[str, Any] = document().model_dump(mode="json")
    decision = await policy.decide(DecisionInput.model_validate(plain))
    assert decision.reasons == ["no_rule_allows"]
    for place, value in PARTS[name][1].items():
        *above, last = place.split(".")
        here = plain
        for part in above:
            here = here[part]
        here[last] = value
    decision = await policy.decide(DecisionInput.model_validate(plain))
    assert decision.reasons == [f"part_{[*PARTS].index(name)}"]
