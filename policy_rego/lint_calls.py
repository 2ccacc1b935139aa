"""Calls that engines answer differently, or not at all."""

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.portable import FORBIDDEN, MISSING, PATTERNS, PORTABLE
from checkrein.policy_rego.syntax import Module, Node, Path, content, nodes, ref_of, tagged

MAX_INTEGER = 2**63 - 1

_CLASSES = re.compile(r"\\[dDwWsSbB]")
_IN_TESTS_TOO = {"http.send", "net.lookup_ip_addr", "time.now_ns", "opa.runtime", "trace"}
_PLAIN = {"Var", "RefDot", "RefBrack", "Bool"}


def functions_of(modules: Sequence[Module]) -> set[Path]:
    """Full paths of all functions that the modules define."""
    return {
        (*module.package, *(rule.ref.constant or (rule.name,)))
        for module in modules
        for rule in module.rules
        if rule.kind == "Func" or (rule.kind == "Default" and tagged(rule.node)[1]["args"])
    }


def called(module: Module, call: Node) -> Path:
    """What a call calls: the full path below data, or the name of a built-in function."""
    ref = ref_of(call["fcn"])
    path = (ref.constant if ref else None) or ()
    if path[:1] == ("data",):
        return path[1:]
    target = module.imports.get(path[0]) if path else None
    if target is not None and target[:1] == ("data",):
        return (*target[1:], *path[1:])
    return path


def call_findings(module: Module, functions: set[Path]) -> Iterator[Finding]:
    """Unknown and forbidden functions, walk, regular expressions, numbers, not."""
    for rule in module.rules:
        for tag, body in nodes(content(rule)):
            match tag:
                case "Call":
                    yield from _call(module, body, functions)
                case "NotExpr":
                    yield from _negation(module, body)
                case "Number":
                    yield from _number(module, body)
                case _:
                    pass


def _call(module: Module, call: Node, functions: set[Path]) -> Iterator[Finding]:
    path = called(module, call)
    if path in functions or (*module.package, *path) in functions:
        return
    name = ".".join(path)
    if name in FORBIDDEN and (not module.is_test or name in _IN_TESTS_TOO):
        why, advice = FORBIDDEN[name]
        yield module.finding(call["span"], "forbidden_function", f"{name} {why}.", advice)
    elif name not in PORTABLE and name not in FORBIDDEN:
        yield _unknown(module, call, name, functions)
    elif name == "walk" and len(call["params"]) == 1:
        yield module.finding(
            call["span"],
            "walk_destructuring",
            "The embedded engine finds nothing by walk with one argument.",
            "Write walk(value, [path, found]).",
        )
    elif name in PATTERNS:
        yield from _pattern(module, call, PATTERNS[name])


def _unknown(module: Module, call: Node, name: str, functions: set[Path]) -> Finding:
    if name.startswith(MISSING):
        return module.finding(
            call["span"],
            "unsupported_function",
            f"OPA has the function {name}, the embedded engine has not.",
            "Do without it, or derive what it would give before the policy is asked.",
        )
    known = [*PORTABLE, *(".".join(("data", *path)) for path in functions)]
    known += [path[-1] for path in functions if path[:-1] == module.package]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    advice = f"Did you mean {near[0]}?" if near else "Define it, or use another one."
    return module.finding(
        call["span"], "unknown_function", f"There is no portable function {name}.", advice
    )


def _pattern(module: Module, call: Node, position: int) -> Iterator[Finding]:
    params: list[Any] = call["params"]
    tag, body = tagged(params[position]) if position < len(params) else ("", {})
    found = _CLASSES.search(str(body["value"])) if tag in {"String", "RawString"} else None
    if found:
        yield module.finding(
            body["span"],
            "pattern_class",
            f"{found[0]} means Unicode to one engine and ASCII to the other.",
            "Write the characters out, for example [0-9] or [A-Za-z0-9_].",
        )


def _negation(module: Module, negation: Node) -> Iterator[Finding]:
    tag, _ = tagged(negation["expr"])
    inner = [found for found, _ in nodes(negation["expr"]) if found not in {"Ref", "String"}]
    if "not" in module.keywords or (tag in _PLAIN and not inner):
        return
    yield module.finding(
        negation["span"],
        "not_without_import",
        "Where a part of this `not` is undefined, OPA and the embedded engine disagree.",
        "Add `import future.keywords.not` below the package line.",
    )


def _number(module: Module, number: Node) -> Iterator[Finding]:
    value = number["value"]
    if isinstance(value, float):
        yield module.finding(
            number["span"],
            "fraction",
            "Engines calculate with fractions differently.",
            "Use integers in the smallest unit, such as cents or milliseconds.",
        )
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        yield module.finding(
            number["span"],
            "large_integer",
            "Engines compare integers beyond 2**63-1 differently.",
            "",
        )
