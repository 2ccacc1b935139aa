"""Names that stand for nothing: variables that never get a value, imports that are not there, rules
that nobody asks. Rego calls most of these undefined, and goes on without a word."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.lint_calls import called
from checkrein.policy_rego.lint_cycles import ENTRYPOINT, locals_of
from checkrein.policy_rego.lint_data import data_tree, missing, path_findings
from checkrein.policy_rego.lint_rules import RULES, SETS
from checkrein.policy_rego.portable import FORBIDDEN, PORTABLE
from checkrein.policy_rego.syntax import (
    Module,
    Node,
    Rule,
    content,
    nodes,
    ref_of,
    tagged,
)

_FIXED = {"input", "data"}
_MOCKED = {name.partition(".")[0] for name in (*PORTABLE, *FORBIDDEN)}
_IMPORTED = {("rego", "v1"), ("future", "keywords")}
_TEST = ("test_", "todo_test_")


def name_findings(modules: Sequence[Module], data: Any) -> Iterator[Finding]:
    """Findings of all modules; `data` is the bundle's data document."""
    places = {(*module.package, rule.name) for module in modules for rule in module.rules}
    tree = data_tree(modules, data)
    used = {module.path: _used(module) for module in modules}
    for module in modules:
        if module.package == ENTRYPOINT:
            continue  # ours: it is held against its own text
        own = {path[-1] for path in places if path[:-1] == module.package}
        yield from _imports(module, tree)
        yield from _conflicts(module)
        for rule in module.rules:
            yield from _unsafe(module, rule, own)
            if not module.is_test:
                yield from path_findings(module, rule, tree, data)
        asking = modules if module.is_test else [one for one in modules if not one.is_test]
        names = [used[one.path][one.package != module.package] for one in asking]
        yield from _unused(module, set[str]().union(*names))


def _imports(module: Module, tree: dict[str, Any]) -> Iterator[Finding]:
    for name, path in module.imports.items():
        if path[0] in _FIXED or path in _IMPORTED or path[:2] in _IMPORTED:
            wrong = missing(tree, path[1:]) if path[0] == "data" else None
            if wrong is None:
                continue
            position, known = wrong
            near = difflib.get_close_matches(path[1 + position], known, n=1, cutoff=0.6)
            mend = f"Did you mean {near[0]}?" if near else "Mend the path, or delete the import."
            message = f"The bundle has nothing at {'.'.join(path)}."
        else:
            message = f"{'.'.join(path)} cannot be imported: only data and input can."
            mend = f"Did you mean data.{'.'.join(path)}?"
        yield module.finding(module.import_spans[name], "unknown_import", message, mend)


def _unsafe(module: Module, rule: Rule, own: set[str]) -> Iterator[Finding]:
    known = _FIXED | set(module.imports) | own | locals_of(module, rule)
    known |= _bound(module, rule)
    if module.is_test:
        known |= _MOCKED  # a test may put something else in their place
    seen: set[str] = set()
    for tag, ref in nodes(content(rule)):
        if tag != "Ref" or ref.name in known or ref.name in seen or ref.name.startswith("_"):
            continue
        seen.add(ref.name)
        near = difflib.get_close_matches(ref.name, sorted(known - _MOCKED), n=1, cutoff=0.7)
        hint = f"Did you mean {near[0]}?" if near else "A text stands in double quotes."
        yield module.finding(
            ref.spans[0],
            "unsafe_variable",
            f"The variable {ref.name} never gets a value here.",
            f"Give it one by `some {ref.name} in ...` or `{ref.name} := ...`. {hint}",
        )


def _bound(module: Module, rule: Rule) -> set[str]:
    """Variables that get their values without being declared: in brackets, by =, by a call."""
    found: set[str] = set()
    for tag, body in nodes(content(rule)):
        if tag == "Ref":
            found |= _names(list(body.indexes))
        elif tag == "AssignExpr":
            found |= _names([body["lhs"], body["rhs"]])
        elif tag == "Call" and body["params"]:
            name = ".".join(called(module, body))
            if name == "walk" or name not in PORTABLE:
                found |= _names(body["params"][-1])
    return found


def _names(node: Any) -> set[str]:
    return {ref.name for tag, ref in nodes(node) if tag == "Ref" and not ref.parts}


def _conflicts(module: Module) -> Iterator[Finding]:
    """Rules without a condition that give one name two values."""
    first: dict[str, tuple[str, int]] = {}
    for rule in module.rules:
        _, body = tagged(rule.node)
        if rule.kind != "Compr" or rule.ref.parts or body["bodies"]:
            continue
        assign: Node = tagged(body["head"])[1].get("assign") or {}
        value, line = module.source(rule.span), int(rule.span["line"])
        tag, literal = tagged(assign.get("value"))
        if tag in {"String", "RawString", "Number", "Bool"}:
            value = f"{tag} {literal.get('value')}"
        known = first.setdefault(rule.name, (value, line))
        if known[0] != value:
            yield module.finding(
                rule.span,
                "conflict",
                f"{rule.name} has another value in line {known[1]}; one rule has one value.",
                "Give the two conditions that exclude each other, or add both to a set with "
                "`contains`.",
            )


def _used(module: Module) -> tuple[set[str], set[str]]:
    """The names by which a module may mean rules of its own package, and of another one."""
    imports = {name for name, path in module.imports.items() if path[0] == "data"}
    others = {module.imports[name][-1] for name in imports}
    own: set[str] = set()
    for rule in module.rules:
        for tag, body in nodes(content(rule)):
            ref = body if tag == "Ref" else ref_of(body["fcn"]) if tag == "Call" else None
            if ref is None:
                continue
            own.add(ref.name)
            if ref.name == "data" or ref.name in imports:
                others |= {part for part in ref.parts if part is not None}
    return own | others, others


def _unused(module: Module, used: set[str]) -> Iterator[Finding]:
    in_rules = module.package[:2] == RULES and not module.is_test
    if not in_rules and not module.is_test:
        return
    seen: set[str] = set()
    for rule in module.rules:
        name = rule.name
        if name in used | seen or name in SETS or (module.is_test and name.startswith(_TEST)):
            continue
        seen.add(name)
        yield _unasked(module, rule, "test_" if module.is_test else "")


def _unasked(module: Module, rule: Rule, prefix: str) -> Finding:
    near = difflib.get_close_matches(rule.name, SETS, n=1, cutoff=0.6)
    if near and not prefix and abs(len(near[0]) - len(rule.name)) <= 2:
        return module.finding(
            rule.span,
            "misspelt_set",
            f"Nothing asks {rule.name}, so that it decides nothing.",
            f"Did you mean {near[0]}?",
        )
    mend = (
        "Use it, delete it, or let its name begin with test_."
        if prefix
        else "Add to allow, ask, deny or limit, use it in a rule that does, or delete it."
    )
    return module.finding(
        rule.span, "unused_rule", f"Nothing asks the rule {rule.name}.", mend
    ).model_copy(update={"level": "warning"})
