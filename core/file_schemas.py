"""JSON Schemas as text: of what people write and of what is stored."""

import json
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter

from checkrein.contracts.task import TaskContract

DRAFT = "https://json-schema.org/draft/2020-12/schema"
VERSION = "v1"

_VARIABLE = "FromEnvironment"
_FROM_ENVIRONMENT: dict[str, Any] = {
    "description": "A text with a variable of the environment: ${NAME} or ${NAME:-default}. What "
    "it is filled in with is looked at when the task is loaded.",
    "type": "string",
    "pattern": r"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^{}]*)?\}",
}
_INCLUDE: dict[str, Any] = {
    "description": "Files that this one builds on, relative to its folder; this file comes last. "
    "Mappings are merged, lists and all else are replaced.",
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 4096},
}
_SCALARS = frozenset({"integer", "number", "boolean"})
_NARROW = frozenset({"enum", "const", "pattern"})
_BY_NAME = ("properties", "$defs", "patternProperties")
_MEMBERS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE = ("items", "additionalProperties")


def file_name(name: str) -> str:
    """The file that a schema is published in."""
    return f"{name}.{VERSION}.schema.json"


def schema_text(name: str, of: type[BaseModel] | TypeAdapter[Any]) -> str:
    """The text of one published schema, made from a model of this version."""
    made = of.json_schema() if isinstance(of, TypeAdapter) else of.model_json_schema()
    return _text(name, made)


def task_schemas() -> dict[str, str]:
    """File name to text: of a task file, and of one that others include.

    They say what the contract says, and besides that a file may include others and name variables.
    """
    made = TaskContract.model_json_schema()
    schema = cast(dict[str, Any], _with_variables(made))
    schema["$defs"][_VARIABLE] = _FROM_ENVIRONMENT
    schema["properties"] = {"include": _INCLUDE, **schema["properties"]}
    wanted = schema.pop("required")
    # What is missing may stand in a file that this one builds on.
    whole = schema | {"anyOf": [{"required": wanted}, {"required": ["include"]}]}
    return {
        file_name("task"): _text("task", whole),
        file_name("task_base"): _text("task_base", schema),
    }


def _with_variables(node: Any) -> Any:
    """A schema that takes a variable wherever it takes a value that not every text is."""
    if not isinstance(node, dict):
        return node
    schema = cast(dict[str, Any], node)
    made = dict(schema)
    for key in _BY_NAME:
        if key in schema:
            made[key] = {name: _with_variables(inner) for name, inner in schema[key].items()}
    for key in _MEMBERS:
        if key in schema:
            made[key] = [_with_variables(inner) for inner in schema[key]]
    for key in _ONE:
        if key in schema:
            made[key] = _with_variables(schema[key])
    kind = schema.get("type")
    if kind in _SCALARS or (kind == "string" and _NARROW & schema.keys()):
        return {"anyOf": [made, {"$ref": f"#/$defs/{_VARIABLE}"}]}
    return made


def _text(name: str, made: dict[str, Any]) -> str:
    schema = {"$schema": DRAFT, "$id": file_name(name), **made}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
