"""Values that can never be right: words that the input never holds, terms and limits that the
entrypoint would refuse, reason codes that say two things, tests that test nothing."""

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from checkrein.contracts.decision import ApprovalTerms, Constraints
from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.lint_cycles import ENTRYPOINT
from checkrein.policy_rego.lint_inputs import Schema, bindings, value_schema
from checkrein.policy_rego.lint_rules import RULES, SETS
from checkrein.policy_rego.metadata import literal_code
from checkrein.policy_rego.syntax import Module, Node, Rule, content, nodes, ref_of, tagged

_TEXTS = {"String", "RawString"}
_KINDS = {"String": "string", "RawString": "string", "Number": "integer", "Bool": "boolean"}
_TERMS = {
    "roles": 'Name at least one role, for example ["approver"].',
    "quorum": "Ask for 1 to 5 people.",
    "expires_in_s": "Give 30 to 2592000 seconds (30 days).",
    "separation_of_duty": "Write true or false.",
    "scopes": "A yes may be offered for once, task and class.",
}
_LIMITS = (
    "A list needs an item, a number must not be negative (timeout_ms: 1 to 600000), and a switch "
    "is true."
)


def value_findings(module: Module) -> Iterator[Finding]:
    """Comparisons that never hold, and members whose literal values would be refused."""
    for rule in module.rules if module.package != ENTRYPOINT else ():
        local = bindings(module, rule)
        for tag, body in nodes(content(rule)):
            if tag == "BoolExpr" and body["op"] in {"Eq", "Ne"}:
                yield from _compared(module, local, body["lhs"], body["rhs"])
                yield from _compared(module, local, body["rhs"], body["lhs"])
                if body["op"] == "Ne":
                    yield from _loop(module, body)
            elif tag == "Membership" and tagged(body["collection"])[0] in {"Set", "Array"}:
                for item in tagged(body["collection"])[1]["items"]:
                    yield from _compared(module, local, body["value"], item)
        if rule.name in {"ask", "limit"} and rule.kind == "Set" and not module.is_test:
            yield from _member(module, rule)


def _compared(
    module: Module, local: dict[str, Schema], path: Node, literal: Node
) -> Iterator[Finding]:
    """A path into the input that is compared with a value of another kind, or an unknown word."""
    tag, body = tagged(literal)
    schema = value_schema(module, path, local) if tag in _KINDS else None
    if not schema:
        return
    words: list[Any] = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    kind = str(schema.get("type", _KINDS[tag]))
    if words and body.get("value") not in words:
        near = difflib.get_close_matches(str(body.get("value")).upper(), map(str, words), n=1)
        hint = f"Did you mean {near[0]}? " if near else ""
        what = f"The input never holds {module.source(body['span'])!r} here."
        mend = f"{hint}There are: {', '.join(map(str, words))}."
    elif not words and kind != _KINDS[tag] and kind in {*_KINDS.values(), "array", "object"}:
        what = f"The input holds a value of the type {kind} here, never a {_KINDS[tag]}."
        mend = "Compare with a value of that type" + (
            ", or ask `... in ...`." if kind == "array" else "."
        )
    else:
        return
    yield module.finding(body["span"], "input_value", what, mend)


def _loop(module: Module, comparison: Node) -> Iterator[Finding]:
    for side in (comparison["lhs"], comparison["rhs"]):
        ref = ref_of(side)
        if ref is not None and any(tagged(i)[1].get("value") == "_" for i in ref.indexes):
            yield module.finding(
                comparison["span"],
                "not_equals_in_loop",
                "This holds as soon as one item differs, not when all do.",
                "Write `not ... in ...`, or `every item in ... { item != ... }`.",
            ).model_copy(update={"level": "warning"})


def _member(module: Module, rule: Rule) -> Iterator[Finding]:
    """The literal values of an ask's terms and of a limit."""
    _, head = tagged(tagged(rule.node)[1]["head"])
    tag, key = tagged(head["key"])
    for _, name, value in key["fields"] if tag == "Object" else ():
        field = str(tagged(name)[1].get("value"))
        given = _literal(value)
        known = _TERMS if rule.name == "ask" else Constraints.model_fields
        if field not in known or given is _OPEN:
            continue
        try:
            if rule.name == "ask":
                terms = json.dumps({"roles": ["approver"], field: given})
                ApprovalTerms.model_validate_json(terms, strict=True)
            else:
                Constraints.model_validate_json(json.dumps({field: given}), strict=True)
            fault = "" if given is not None and given != [""] else "it is empty"
        except ValidationError as error:
            fault = str(error.errors(include_url=False)[0]["msg"]).lower()
            fault = fault.replace(" after validation", "")
        if fault:
            yield module.finding(
                tagged(name)[1]["span"],
                "member_value",
                f"{field} cannot be so: {fault}; it would deny every action that it applies to.",
                _TERMS.get(field, _LIMITS),
            )


_OPEN = object()


def _literal(node: Node) -> Any:
    """The value of a literal; _OPEN where it is only known when it is evaluated."""
    tag, body = tagged(node)
    if tag == "Null":
        return None
    if tag in _KINDS:
        return body["value"]
    if tag == "Array":
        items = [_literal(item) for item in body["items"]]
        return _OPEN if any(item is _OPEN for item in items) else items
    return _OPEN


def code_findings(modules: Sequence[Module]) -> Iterator[Finding]:
    """Reason codes that several packages or sets give: the code alone would not say which."""
    first: dict[str, tuple[Module, Rule]] = {}
    for module in modules:
        if module.package[:2] != RULES or module.is_test:
            continue
        for rule in module.rules:
            code = literal_code(rule) if rule.kind == "Set" and rule.name in SETS else ""
            if not code:
                continue
            other, known = first.setdefault(code, (module, rule))
            if (other.package, known.name) != (module.package, rule.name):
                yield module.finding(
                    rule.span,
                    "reason_code_twice",
                    f"The reason code {code} is given by {known.name} in {other.path}:"
                    f"{known.span['line']} already.",
                    "Choose another, so that a decision tells which rule made it.",
                ).model_copy(update={"level": "warning"})


def empty_tests(module: Module) -> Iterator[Finding]:
    """Tests that never look at a rule or at data, and so pass whatever the bundle says."""
    asking = _asking(module)
    seen: set[str] = set()
    for rule in module.rules:
        is_test = rule.kind == "Compr" and rule.name.startswith("test_")
        if module.is_test and is_test and rule.name not in asking | seen:
            seen.add(rule.name)
            yield module.finding(
                rule.span,
                "empty_test",
                f"{rule.name} asks no rule, and so passes or fails whatever the rules say.",
                "Ask one: count(mine.deny) == 1 with input as {...}, where `mine` is imported.",
            ).model_copy(update={"level": "warning"})


def _asking(module: Module) -> set[str]:
    """The rules of a file that look below data, by themselves or by others of the file."""
    imports = {name for name, path in module.imports.items() if path[:1] == ("data",)}
    roots = {"data", *imports}
    uses = {rule.name: set[str]() for rule in module.rules}
    for rule in module.rules:
        for tag, body in nodes(content(rule)):
            ref = body if tag == "Ref" else ref_of(body["fcn"]) if tag == "Call" else None
            if ref is not None:
                uses[rule.name].add(ref.name)
    while True:
        more = {name for name, used in uses.items() if used & roots} - roots
        if not more:
            return roots
        roots |= more
