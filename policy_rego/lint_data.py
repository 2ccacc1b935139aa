"""References to data that the bundle does not hold. Rego calls them undefined and goes on, so that
a list that was never written denies nobody."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.json_shapes import is_object
from checkrein.policy_rego.lint_cycles import locals_of
from checkrein.policy_rego.syntax import Module, Path, Ref, Rule, content, nodes

_ANYTHING = object()
"""Stands for a rule in the tree: what it is, is only known when it is evaluated."""

_HOLDS_BACK = {"deny": "denies", "ask": "asks", "limit": "limits"}
"""The sets whose members hold something back: without them more is permitted."""

_BEARS = {"NotExpr", "SetCompr", "ArrayCompr", "ObjectCompr"}
"""What goes on, with another answer, where something in it is undefined."""


def data_tree(modules: Sequence[Module], data: Any) -> dict[str, Any]:
    """All that lies below data, by name: packages, their rules, and the bundle's data."""
    tree: dict[str, Any] = _copied(data)
    for module in modules:
        _put(tree, module.package, {})
        for rule in module.rules:
            _put(tree, (*module.package, rule.name), _ANYTHING)
    return tree


def missing(tree: dict[str, Any], path: Path) -> tuple[int, list[str]] | None:
    """The position of the first part that is not there, with what is; None where all may be."""
    here: Any = tree
    for position, part in enumerate(path):
        if here is _ANYTHING:
            return None
        if not is_object(here) or part not in here:
            return position, sorted(here) if is_object(here) else []
        here = here[part]
    return None


def path_findings(module: Module, rule: Rule, tree: dict[str, Any], data: Any) -> Iterator[Finding]:
    """Paths of one rule that lead nowhere; of one with a part known only later, what is fixed.

    An error where the rule could then never hold anything back, or where a slip is likely; else a
    warning, since a default may stand for what is not there.
    """
    local = locals_of(module, rule)
    borne = _borne(rule)
    for tag, body in nodes(content(rule)):
        if tag != "Ref" or body.name in local:
            continue
        path, given = _below_data(module, body)
        wrong = missing(tree, path)
        if wrong is None or wrong[0] < given:
            continue  # a wrong import is told where it stands
        position, known = wrong
        near = difflib.get_close_matches(path[position], known, n=1, cutoff=0.6)
        dead = rule.kind == "Set" and body.spans[0]["start"] not in borne
        verb = _HOLDS_BACK.get(rule.name) if dead else None
        found = module.finding(
            body.spans[max(0, position + 1 - given)],
            "data_path",
            f"The bundle's data have no {'.'.join(('data', *path[: position + 1]))}"
            f"{f', so that this rule never {verb}' if verb else ''}.",
            _mend(near, known, _at(data, path[:position]) if position else None),
        )
        yield found if near or verb else found.model_copy(update={"level": "warning"})


def _mend(near: list[str], known: list[str], parent: Any) -> str:
    if near:
        return f"Did you mean {near[0]}?"
    if is_object(parent) and parent:
        return f"There are: {', '.join(known)}."
    return "Write it into the bundle's data, for example into data.json, or take it out here."


def _put(tree: dict[str, Any], path: Path, leaf: Any) -> None:
    here = tree
    for part in path[:-1]:
        here = here.setdefault(part, {})
        if not is_object(here):
            return  # data where rules stand: another check tells it
    here.setdefault(path[-1], leaf)


def _copied(data: Any) -> Any:
    return {k: _copied(v) for k, v in data.items()} if is_object(data) else data


def _below_data(module: Module, ref: Ref) -> tuple[Path, int]:
    """The known path of a reference below data, and how much of it an import gives."""
    known: list[str] = []
    for part in ref.parts:
        if part is None:
            break
        known.append(part)
    if ref.name == "data":
        return tuple(known), 0
    target = module.imports.get(ref.name, ())
    return ((*target[1:], *known), len(target) - 1) if target[:1] == ("data",) else ((), 0)


def _borne(rule: Rule) -> set[int]:
    """Where the references of a rule begin that may be undefined without ending it."""
    return {
        int(ref.spans[0]["start"])
        for tag, body in nodes(content(rule))
        if tag in _BEARS
        for inner, ref in nodes(body)
        if inner == "Ref"
    }


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value.get(part) if is_object(value) else None
    return value
