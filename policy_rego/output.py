"""Believing a policy's answer: exactly one well-formed decision, and everything else denies."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from checkrein.contracts.codec import canonical, json_object
from checkrein.contracts.decision import DecisionOutput, PolicyDecision, Reserved, Verdict
from checkrein.errors import InputError
from checkrein.policy_rego.json_shapes import is_list, is_object

_OP = "policy.output"
_OWN = {code.value for code in Reserved}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no decision to believe.

    Attributes:
        code: the reserved reason code that the denial carries.
        message: for people; it names fields and places in the policy, never values.
    """

    code: Reserved
    message: str


Answer = DecisionOutput | Refusal


def values_of(result: str) -> list[Any] | None:
    """The values in the engine's result set; empty for undefined, None for anything malformed."""
    try:
        document = json_object(result, op=_OP)
    except InputError:
        return None
    results: Any = document.get("result", [])
    if not is_list(results):
        return None
    values: list[Any] = []
    for found in results:
        expressions: Any = found.get("expressions") if is_object(found) else None
        if not is_list(expressions):
            return None
        for expression in expressions:
            if not is_object(expression) or "value" not in expression:
                return None
            values.append(expression["value"])
    return values


def decoded(result: str) -> Answer:
    """Decode the engine's result set: exactly one result with exactly one expression."""
    values = values_of(result)
    if values is None:
        return _invalid("The engine's result is malformed.")
    if not values:
        return Refusal(
            Reserved.POLICY_UNDEFINED,
            "data.checkrein.decision is undefined: no rule of that name was true.",
        )
    if len(values) > 1:
        return _invalid("The engine gave more than one result.")
    return decided(values[0])


def decided(value: Any) -> Answer:
    """Decode what `data.checkrein.decision` evaluated to; for every engine the same."""
    if not is_object(value):
        return _invalid("The decision is no object.")
    try:
        text = canonical(value)
        output = DecisionOutput.model_validate_json(text, strict=True)
        # A null limit or a 1 in place of true would be read as something else than was said.
        exact = canonical(output.constraints.named()) == canonical(value.get("constraints", {}))
    except InputError:
        return _invalid("The decision holds a number or text outside of I-JSON.")
    except ValidationError as error:
        return _invalid(f"The decision is malformed: {_faults(error)}.")
    if not exact:
        return _invalid("The decision is malformed: constraints hold a limit of another type.")
    if output.reason_code in _OWN and output.decision is not Verdict.DENY:
        return _invalid("The decision gives a reserved reason code without denying.")
    return output


def stamped(
    answer: Answer, *, policy_version: str, engine: str, input_ref: str, duration_ms: float
) -> PolicyDecision:
    """Return the decision that is recorded: the policy's, or the denial that stands in for it."""
    if isinstance(answer, Refusal):
        return PolicyDecision(
            decision=Verdict.DENY,
            reason_code=answer.code.value,
            reasons=[answer.code.value],
            policy_version=policy_version,
            engine=engine,
            input_ref=input_ref,
            message=answer.message,
            duration_ms=duration_ms,
        )
    return PolicyDecision(
        decision=answer.decision,
        reason_code=answer.reason_code,
        reasons=answer.reasons,
        constraints=answer.constraints.named(),
        approval=answer.approval,
        obligations=answer.obligations,
        covered_by=answer.covered_by,
        policy_version=policy_version,
        engine=engine,
        input_ref=input_ref,
        duration_ms=duration_ms,
    )


def _invalid(message: str) -> Refusal:
    return Refusal(Reserved.POLICY_OUTPUT_INVALID, message)


def _faults(error: ValidationError) -> str:
    """Where and which kind, without the values, and names only where they are ours."""
    known = set(DecisionOutput.model_fields) | {"constraints", "approval"}
    faults = [
        (str(fault["loc"][0]) if fault["loc"] and fault["loc"][0] in known else "it", fault["type"])
        for fault in error.errors(include_input=False, include_context=False, include_url=False)
    ]
    return "; ".join(f"{where} ({kind})" for where, kind in faults[:5])
