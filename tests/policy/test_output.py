"""Only exactly one well-formed decision is believed, whichever engine gave it."""

import json
from typing import Any

import pytest

from checkrein.contracts.decision import DecisionOutput, Reserved, Verdict
from checkrein.policy_rego.output import Refusal, decided, decoded, stamped

ALLOWED: dict[str, Any] = {
    "decision": "ALLOW",
    "reason_code": "fine",
    "reasons": ["fine"],
    "constraints": {},
    "approval": None,
    "obligations": [],
}
TERMS = {"roles": ["approver"], "quorum": 1, "expires_in_s": 60, "separation_of_duty": False}


def result_of(*values: Any) -> str:
    """A result set as the engine writes it."""
    return json.dumps({"result": [{"expressions": [{"value": value}]} for value in values]})


def test_a_whole_decision_is_believed() -> None:
    """The plain case, so that the others do not pass for a wrong reason."""
    answer = decoded(result_of(ALLOWED))
    assert isinstance(answer, DecisionOutput)
    assert answer.decision is Verdict.ALLOW


@pytest.mark.parametrize("result", ["{}", '{"result": []}'])
def test_undefined_has_its_own_reason(result: str) -> None:
    """Undefined is neither false nor null, and no permission either."""
    answer = decoded(result)
    assert isinstance(answer, Refusal)
    assert answer.code is Reserved.POLICY_UNDEFINED


@pytest.mark.parametrize(
    "result",
    [
        "",
        "null",
        "[]",
        '"ALLOW"',
        '{"result": null}',
        '{"result": {}}',
        '{"result": [null]}',
        '{"result": [{"expressions": null}]}',
        '{"result": [{"expressions": [{}]}]}',
        result_of(ALLOWED, ALLOWED),
        json.dumps({"result": [{"expressions": [{"value": ALLOWED}, {"value": ALLOWED}]}]}),
    ],
)
def test_malformed_result_sets_are_refused(result: str) -> None:
    """Not exactly one result with one expression: nobody guesses which one was meant."""
    answer = decoded(result)
    assert isinstance(answer, Refusal)
    assert answer.code is Reserved.POLICY_OUTPUT_INVALID


@pytest.mark.shows(41, 56)
@pytest.mark.parametrize(
    "change",
    [
        {"decision": "maybe"},
        {"decision": "allow"},
        {"decision": None},
        {"decision": True},
        {"decision": 1},
        {"decision": {"allow": False}},
        {"reason_code": "Not a code"},
        {"reason_code": None},
        {"reasons": []},
        {"reasons": "fine"},
        {"extra": 1},
        {"constraints": {"max_bytes": 1}},
        {"constraints": None},
        {"constraints": []},
        {"approval": TERMS},
        {"approval": {}},
        {"obligations": None},
        {"decision": "CONSTRAINED_ALLOW"},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"max_bytes": None}},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"max_bytes": 1, "hosts": None}},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"max_bytes": True}},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"max_bytes": "1"}},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"max_bytes": 1.5}},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"max_bytes": -1}},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"read_only": 1}},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"read_only": False}},
        {"decision": "CONSTRAINED_ALLOW", "constraints": {"nobody_enforces_this": 1}},
        {"decision": "REQUIRE_APPROVAL"},
        {"decision": "REQUIRE_APPROVAL", "approval": {**TERMS, "quorum": 0}},
        {"decision": "REQUIRE_APPROVAL", "approval": {**TERMS, "quorum": True}},
        {"decision": "REQUIRE_APPROVAL", "approval": {**TERMS, "roles": []}},
        {"decision": "REQUIRE_APPROVAL", "approval": {**TERMS, "separation_of_duty": 0}},
        {"decision": "REQUIRE_APPROVAL", "approval": {**TERMS, "more": 1}},
        {"reason_code": "policy_timeout"},
    ],
    ids=str,
)
def test_malformed_decisions_are_refused(change: dict[str, Any]) -> None:
    """A wrong word, type, key or combination is never read as something near to it."""
    answer = decided({**ALLOWED, **change})
    assert isinstance(answer, Refusal)
    assert answer.code is Reserved.POLICY_OUTPUT_INVALID


@pytest.mark.shows(41)
@pytest.mark.parametrize("name", [*ALLOWED])
def test_a_part_that_is_missing_is_a_refusal_or_has_one_meaning(name: str) -> None:
    """Without a verdict or a reason nothing is decided; without limits there are none."""
    answer = decided({key: value for key, value in ALLOWED.items() if key != name})
    if name in {"decision", "reason_code", "reasons"}:
        assert isinstance(answer, Refusal)
        assert answer.code is Reserved.POLICY_OUTPUT_INVALID
        return
    assert isinstance(answer, DecisionOutput)
    assert (answer.decision, answer.constraints.named()) == (Verdict.ALLOW, {})
    assert (answer.approval, answer.obligations) == (None, [])


@pytest.mark.parametrize("value", [None, True, False, 1, "ALLOW", [], [ALLOWED]], ids=str)
def test_what_is_no_object_is_refused(value: Any) -> None:
    """Truthiness is nothing that a decision is made of."""
    assert isinstance(decided(value), Refusal)


def test_refusals_tell_fields_and_never_values() -> None:
    """A message goes to people and logs; what a policy copied out of the input does not."""
    secret = "hunter2"
    answer = decided({**ALLOWED, "decision": secret, secret: secret})
    assert isinstance(answer, Refusal)
    assert secret not in answer.message
    assert "decision" in answer.message


def test_a_refusal_is_recorded_as_a_denial() -> None:
    """What is stored names the bundle, the engine and the input like every other decision."""
    decision = stamped(
        Refusal(Reserved.POLICY_ERROR, "why"),
        policy_version="sha256:00",
        engine="some engine",
        input_ref="sha256:11",
        duration_ms=1.5,
    )
    assert decision.model_dump() == {
        "schema_version": 1,
        "decision": Verdict.DENY,
        "reason_code": "policy_error",
        "reasons": ["policy_error"],
        "constraints": {},
        "approval": None,
        "obligations": [],
        "covered_by": None,
        "policy_version": "sha256:00",
        "engine": "some engine",
        "input_ref": "sha256:11",
        "message": "why",
        "duration_ms": 1.5,
    }
