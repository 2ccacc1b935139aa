"""Why a bundle answers as it does: which rules fired and, of each that did not, what failed first.

The decision itself comes from the bundle as it is. The rules are then asked one by one, by the
method of `probing`, in an engine of their own.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkrein.contracts.codec import Frozen, digest, json_object
from checkrein.contracts.decision import PolicyDecision
from checkrein.errors import EnvironmentFault
from checkrein.policy_rego import metadata
from checkrein.policy_rego.bundle_files import Bundle
from checkrein.policy_rego.embedded import DEADLINE_S, ENGINE
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.evaluation import decide, load_into
from checkrein.policy_rego.findings import unusable
from checkrein.policy_rego.json_shapes import is_list, is_object
from checkrein.policy_rego.lint import lint, parsed
from checkrein.policy_rego.lint_rules import RULES, SETS
from checkrein.policy_rego.output import stamped
from checkrein.policy_rego.probing import (
    PARSE_S,
    Condition,
    ProbedModule,
    ask_probe,
    bodies_of,
    first_failed,
    load_probed,
)
from checkrein.policy_rego.syntax import Module, Node, Rule, nodes, ref_of, tagged

_HIDDEN = ("action", "args")  # what the model wrote may hold secrets; it is never repeated
_WIDTH = 120


class RuleAnswer(Frozen):
    """One body of one rule of a set, and what it came to.

    Attributes:
        set: allow, ask, deny or limit.
        title: from the rule's annotation.
        reason_code: what the rule says in its text or annotation; empty for limits.
        fired: whether it added members; None where that cannot be told.
        members: what it added.
        failed: the first condition that was not true, where it did not fire.
        because: where that condition names another rule, what failed there, body by body.
    """

    package: str
    set: str
    title: str
    reason_code: str
    path: str
    line: int
    fired: bool | None
    members: list[Any] = []
    failed: Condition | None = None
    because: list[Condition] = []


class Explanation(Frozen):
    """A decision and the rules behind it. `note` says why rules could not be asked, if so."""

    decision: PolicyDecision
    rules: list[RuleAnswer]
    note: str = ""


@dataclass(frozen=True)
class _Asking:
    engine: EngineProcess
    input_text: str
    document: Mapping[str, Any]
    deadline_s: float


async def explained(
    bundle: Bundle, input_text: str, *, deadline_s: float = DEADLINE_S, why: bool = True
) -> Explanation:
    """Judge an input, given as JSON text, and say why; `why` false leaves the rules out.

    Raises:
        InputError: the bundle has an error, or the input is no JSON object.
        EnvironmentFault: the engine cannot be used.
    """
    document = json_object(input_text, op="policy.eval")
    engine = await EngineProcess.start()
    try:
        findings = await lint(bundle, engine, deadline_s=deadline_s)
        errors = [finding for finding in findings if finding.level == "error"]
        if errors:
            raise unusable(bundle.origin, errors)
        _, modules = await parsed(bundle.modules, engine)
        await load_into(engine, bundle, limit_s=PARSE_S)
        decision = await _decided(bundle, engine, input_text, deadline_s)
        if not why:
            return Explanation(decision=decision, rules=[])
        if not engine.usable:
            return Explanation(decision=decision, rules=[], note="The engine did not outlive it.")
        asking = _Asking(engine, input_text, document, deadline_s)
        return await _with_rules(bundle, modules, decision, asking)
    finally:
        engine.kill()
        await engine.close()


async def _decided(
    bundle: Bundle, engine: EngineProcess, input_text: str, deadline_s: float
) -> PolicyDecision:
    try:
        answer = await decide(engine, input_text, limit_s=deadline_s)
    except EnvironmentFault as fault:
        return _refused(bundle, input_text, fault)
    return stamped(
        answer,
        policy_version=bundle.version,
        engine=ENGINE,
        input_ref=digest(input_text.encode()),
        duration_ms=0.0,
    )


def _refused(bundle: Bundle, input_text: str, fault: EnvironmentFault) -> PolicyDecision:
    return PolicyDecision.model_validate(
        {
            "decision": "DENY",
            "reason_code": fault.code,
            "reasons": [fault.code],
            "policy_version": bundle.version,
            "engine": ENGINE,
            "input_ref": digest(input_text.encode()),
            "message": str(fault),
        }
    )


async def _with_rules(
    bundle: Bundle, modules: Sequence[Module], decision: PolicyDecision, asking: _Asking
) -> Explanation:
    probed = [
        ProbedModule(module, [rule for rule in module.rules if rule.kind in {"Set", "Compr"}])
        for module in modules
        if module.package[:2] == RULES and not module.is_test
    ]
    try:
        note = await load_probed(
            asking.engine, dict(bundle.modules), probed, bundle.data, asking.input_text
        )
        rules: list[RuleAnswer] = []
        for one in () if note else probed:
            for rule in one.module.rules:
                if rule.kind == "Set" and rule.name in SETS:
                    rules += [
                        await _answer(asking, one, rule, body)
                        for body in range(max(1, len(bodies_of(rule))))
                    ]
    except EnvironmentFault as fault:
        return Explanation(decision=decision, rules=[], note=str(fault))
    said = f"Cannot tell which rules fired: {note}." if note else ""
    return Explanation(decision=decision, rules=rules, note=said)


async def _answer(asking: _Asking, probed: ProbedModule, rule: Rule, body: int) -> RuleAnswer:
    module = probed.module
    annotation = metadata.of_rule(module, rule)
    bodies = bodies_of(rule)
    span = rule.span if body == 0 else bodies[body]["span"]
    answer = RuleAnswer(
        package=".".join(module.package),
        set=rule.name,
        title=annotation.title,
        reason_code=metadata.literal_code(rule) or annotation.reason_code,
        path=module.path,
        line=module.finding(span, "", "", "").line,
        fired=None,
    )
    whole = next((one for one in probed.of(rule, body) if one.upto is None), None)
    if whole is None:
        return answer
    asked = await ask_probe(asking.engine, probed, whole, asking.input_text, asking.deadline_s)
    if asked.values and asked.values[0]:
        return answer.model_copy(update={"fired": True, "members": asked.values[0]})
    fired = None if asked.values is None else False
    if not bodies:
        return answer.model_copy(update={"fired": fired})
    failed = await _failed(asking, probed, rule, body)
    if failed is None:
        return answer.model_copy(update={"fired": fired})
    condition, statement = failed
    because = await _because(asking, probed, condition, statement)
    return answer.model_copy(update={"fired": fired, "failed": condition, "because": because})


async def _failed(
    asking: _Asking, probed: ProbedModule, rule: Rule, body: int
) -> tuple[Condition, Node] | None:
    failed = await first_failed(
        asking.engine, probed, rule, body, asking.input_text, asking.deadline_s
    )
    if failed is None:
        return None
    condition, statement = failed
    found = [*_found(probed.module, statement, asking.document)]
    return condition.model_copy(update={"found": found}), statement


async def _because(
    asking: _Asking, probed: ProbedModule, condition: Condition, statement: Node
) -> list[Condition]:
    """What failed in the rule that a condition names and nothing else."""
    _, literal = tagged(statement.get("literal"))
    ref = ref_of(literal["expr"]) if "expr" in literal else None
    if condition.outcome != "false" or ref is None or ref.parts:
        return []
    found = [
        await _failed(asking, probed, helper, number)
        for helper in probed.module.rules
        if helper.kind == "Compr" and helper.name == ref.name
        for number in range(len(bodies_of(helper)))
    ]
    return [failed[0] for failed in found if failed is not None]


def _found(module: Module, statement: Node, document: Mapping[str, Any]) -> Iterator[str]:
    """What the input holds at each path that a condition names; never the model's own words."""
    seen: set[str] = set()
    for tag, ref in nodes(statement.get("literal")):
        if tag != "Ref":
            continue
        path = ref.constant or ()
        path = (*module.imports.get(ref.name, (ref.name,)), *path[1:])
        name = ".".join(path)
        if path[0] != "input" or len(path) == 1 or name in seen:
            continue
        seen.add(name)
        if path[1:3] == _HIDDEN or path == ("input", "action"):
            yield f"{name} is not shown"
        else:
            yield f"{name} is {_value_at(document, path[1:])}"


def _value_at(value: Any, path: tuple[str, ...]) -> str:
    for part in path:
        if is_object(value) and part in value:
            value = value[part]
        elif is_list(value) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return "not there"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
