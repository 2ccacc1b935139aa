"""Misspelt paths into the input. Rego calls such a path undefined and goes on, so that a rule that
denies would silently never do so; here it is held against the schema of the decision input."""

import difflib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from checkrein.contracts.decision import DecisionInput
from checkrein.policy_rego.findings import Finding
from checkrein.policy_rego.json_shapes import is_object
from checkrein.policy_rego.syntax import (
    Module,
    Node,
    Path,
    Ref,
    Rule,
    content,
    nodes,
    ref_of,
    tagged,
)

Schema = dict[str, Any]

OPEN: Schema = {}
"""A value that may be anything, so that nothing below it can be checked."""

_SCALARS = {"string", "integer", "number", "boolean", "null"}


@lru_cache(maxsize=1)
def input_schema() -> Schema:
    """The JSON Schema of the decision input."""
    return DecisionInput.model_json_schema(mode="serialization")


def resolved(schema: Schema) -> Schema:
    """A schema with its reference followed; OPEN where several are possible."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return resolved(input_schema()["$defs"][name])
    return OPEN if "anyOf" in schema or "allOf" in schema else schema


def below(schema: Schema, part: str | None) -> Schema | None:
    """The schema of a part of a value, or None where there is no such part."""
    kind = schema.get("type")
    if kind == "array":
        return resolved(schema.get("items", OPEN)) if part is None or part.isdecimal() else None
    if kind in _SCALARS or "enum" in schema or "const" in schema:
        return None
    properties: Schema = schema.get("properties", {})
    if part is not None and part in properties:
        return resolved(properties[part])
    more = schema.get("additionalProperties", kind == "object" and not properties)
    if part is None or more is True or not schema:
        return OPEN
    return resolved(more) if is_object(more) else None


def input_findings(module: Module) -> Iterator[Finding]:
    """One finding for each path into the input that can never be there."""
    for name, path in module.imports.items():
        if path[:1] == ("input",) and _follow(input_schema(), path[1:])[0] is None:
            yield module.finding(
                module.import_spans[name],
                "input_path",
                f"The import {name} stands for {'.'.join(path)}, which no input has.",
                _advice(path[1:]),
            )
    for rule in module.rules:
        local = bindings(module, rule)
        for tag, body in nodes(content(rule)):
            if tag == "Ref":
                yield from _check(module, body, local)
            elif tag == "Call":
                yield from _check(module, ref_of(body["fcn"]), local)


def _check(module: Module, ref: Ref | None, local: dict[str, Schema]) -> Iterator[Finding]:
    start = _schema_of(module, ref, local) if ref else None
    if ref is None or start is None:
        return
    found, wrong = _follow(start, ref.parts)
    if found is not None:
        return
    part = ref.parts[wrong]
    parent, _ = _follow(start, ref.parts[:wrong])
    said = ".".join([ref.name, *(str(p) if p else "_" for p in ref.parts[: wrong + 1])])
    yield module.finding(
        ref.spans[wrong + 1],
        "input_path",
        f"No input has {said}.",
        _nearest(part, parent or OPEN),
    )


def _follow(schema: Schema, parts: tuple[str | None, ...]) -> tuple[Schema | None, int]:
    """The schema at the end of a path, or None with the position of the part that is wrong."""
    here = schema
    for position, part in enumerate(parts):
        following = below(here, part)
        if following is None:
            return None, position
        here = following
    return here, len(parts)


def _schema_of(module: Module, ref: Ref, local: dict[str, Schema]) -> Schema | None:
    """The schema of a reference's first name; None where it has nothing to do with the input."""
    if ref.name in local:
        return local[ref.name]
    if ref.name == "input":
        return input_schema()
    path = module.imports.get(ref.name, ())
    return _follow(input_schema(), path[1:])[0] if path[:1] == ("input",) else None


def bindings(module: Module, rule: Rule) -> dict[str, Schema]:
    """What the local variables of a rule hold, as far as the input says so; OPEN elsewhere."""
    local: dict[str, Schema] = {}

    def bind(name: str, schema: Schema | None) -> None:
        known = local.get(name)
        local[name] = OPEN if schema is None or (known is not None and known != schema) else schema

    if rule.kind == "Func":
        _, head = tagged(tagged(rule.node)[1]["head"])
        for tag, ref in nodes(head["args"]):
            if tag == "Ref":
                bind(ref.name, None)
    for tag, body in nodes(content(rule)):
        match tag:
            case "SomeIn":
                for name in _names(body["key"]):
                    bind(name, None)
                items = value_schema(module, body["collection"], local)
                for name in _names(body["value"]):
                    plain = "Var" in body["value"]
                    bind(name, below(items, None) if items is not None and plain else None)
            case "Every":
                if body["key"]:
                    bind(module.source(body["key"]), None)
                items = value_schema(module, body["domain"], local)
                bind(module.source(body["value"]), None if items is None else below(items, None))
            case "AssignExpr":
                for name in _names(body["lhs"]):
                    plain = "Var" in body["lhs"]
                    bind(name, value_schema(module, body["rhs"], local) if plain else None)
            case "SomeVars":
                for span in body["vars"]:
                    bind(module.source(span), None)
            case _:
                pass
    local.pop("input", None)
    return local


def _names(node: Node | None) -> list[str]:
    return [ref.name for tag, ref in nodes(node) if tag == "Ref" and not ref.parts]


def value_schema(module: Module, node: Node, local: dict[str, Schema]) -> Schema | None:
    """The schema of an expression that is a path into the input, or None."""
    tag, _ = tagged(node)
    ref = ref_of(node) if tag in {"Var", "RefDot", "RefBrack"} else None
    start = _schema_of(module, ref, local) if ref else None
    return _follow(start, ref.parts)[0] if ref and start is not None else None


def _nearest(part: str | None, parent: Schema) -> str:
    known = sorted(parent.get("properties", {}))
    if not known:
        kind = parent.get("type", "a single value")
        return f"There is {'a list' if kind == 'array' else f'one value ({kind})'} in its place."
    near = difflib.get_close_matches(part or "", known, n=1, cutoff=0.6)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."


def _advice(path: Path) -> str:
    _, wrong = _follow(input_schema(), path)
    parent, _ = _follow(input_schema(), path[:wrong])
    return _nearest(path[wrong], parent or OPEN)
