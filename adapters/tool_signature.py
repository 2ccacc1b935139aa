"""The arguments of a LangChain tool: its own schema, closed, without what a model may not fill."""

from typing import Any, cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from langchain_core.tools import BaseTool, Tool
from pydantic import BaseModel, ValidationError
from pydantic.errors import PydanticUserError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from checkrein.adapters.function_declaration import refused
from checkrein.adapters.function_effect import KEY
from checkrein.adapters.function_signature import NoTitles, faults_told

MAX_SCHEMA_DEPTH = 32
"""Levels below which a tool's schema is not followed: no tool for people is deeper."""


class ToolSignature:
    """A tool's parameters, with the interface of FunctionSignature.

    Attributes:
        schema: JSON Schema of what a model may say.
        names: the parameters that a model fills in.
        injected: what the harness fills in: the idempotency key, where an argument takes it.
    """

    def __init__(self, tool: BaseTool, name: str, hidden: frozenset[str], key: str | None) -> None:
        """Read a tool's schema; `hidden` and `key` are no part of what a model may say.

        Raises:
            InputError: the schema cannot be used.
        """
        self._name = name
        self._model = _model_of(tool, name)
        whole = _schema_of(tool, self._model, name)
        properties: dict[str, Any] = whole.get("properties", {})
        if key is not None and key not in properties and key not in hidden:
            known = ", ".join(sorted(properties)) or "none"
            raise refused(
                f"{name}: key_argument names {key!r}, which is no argument of the tool. "
                f"It has: {known}."
            )
        self._key = key
        self.schema = closed(whole, hidden | frozenset({key} if key else ()))
        self.names = frozenset(self.schema["properties"])
        self.injected = frozenset({KEY} if key else ())
        check_schema(self.schema, name)

    def bind(self, args: dict[str, Any], *, op: str) -> dict[str, Any]:
        """The values that the tool will work with, its defaults among them, for facts.

        Raises:
            CapabilityError: they do not fit; the advice names each field (code
                invalid_arguments).
        """
        if self._model is None:
            parts: dict[str, Any] = self.schema["properties"]
            defaults = {
                name: cast("dict[str, Any]", part)["default"]
                for name, part in parts.items()
                if isinstance(part, dict) and "default" in part
            }
            return defaults | args
        # A key is filled in later; until then anything that is a text stands for it.
        stand_in = {self._key: "key"} if self._key else {}
        try:
            read = self._model.model_validate(args | stand_in)
        except ValidationError as error:
            raise faults_told(error, self._name, op) from error
        named = {field.alias or name: name for name, field in self._model.model_fields.items()}
        return {shown: getattr(read, named[shown]) for shown in self.names if shown in named}

    def passed(self, args: dict[str, Any], *, op: str) -> dict[str, Any]:
        """What the tool is called with: the arguments as they came, which it reads itself."""
        self.bind(args, op=op)
        return dict(args)


def closed(schema: dict[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    """An object schema without some properties, that takes no others unless it says so."""
    properties = {k: v for k, v in schema.get("properties", {}).items() if k not in hidden}
    shown = {k: v for k, v in schema.items() if k not in {"title", "description", "required"}}
    required = [name for name in schema.get("required", []) if name not in hidden]
    shown |= {"type": "object", "properties": properties}
    if required:
        shown["required"] = required
    return {"additionalProperties": False} | shown


def check_schema(schema: dict[str, Any], name: str) -> None:
    """Refuse a schema that is none, or that points to somewhere else.

    Raises:
        InputError: it cannot be used.
    """
    try:
        Draft202012Validator.check_schema(schema)
        resolver = Registry[Any]().resolver_with_root(DRAFT202012.create_resource(schema))
        for reference in references(schema):
            resolver.lookup(reference)
    except (SchemaError, Unresolvable, RecursionError) as error:
        said = error.message if isinstance(error, SchemaError) else str(error)
        raise refused(
            f"{name}: the schema of its arguments cannot be used: {said[:200]}. Write JSON Schema "
            "whose references stay inside it."
        ) from error


def references(part: Any, depth: int = 0) -> list[str]:
    """Every `$ref` and `$dynamicRef` in a schema."""
    if depth > MAX_SCHEMA_DEPTH:
        raise RecursionError(f"it is nested deeper than {MAX_SCHEMA_DEPTH} levels")
    found: list[str] = []
    if isinstance(part, dict):
        for key, value in cast("dict[str, Any]", part).items():
            if key in {"$ref", "$dynamicRef"} and isinstance(value, str):
                found.append(value)
            else:
                found += references(value, depth + 1)
    elif isinstance(part, list):
        for value in cast("list[object]", part):
            found += references(value, depth + 1)
    return found


def _model_of(tool: BaseTool, name: str) -> type[BaseModel] | None:
    schema: Any = tool.args_schema
    if isinstance(schema, dict) or (schema is None and isinstance(tool, Tool)):
        return None
    model: Any = tool.get_input_schema()
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise refused(
            f"{name}: its args_schema is {schema!r}. Use a model of pydantic 2, or JSON Schema."
        )
    return model


def _schema_of(tool: BaseTool, model: type[BaseModel] | None, name: str) -> dict[str, Any]:
    if model is None:
        given: Any = tool.args_schema
        if given is not None:
            return dict(given)
        # A tool of one text, as LangChain's class Tool has it.
        return {"properties": {"tool_input": {"type": "string"}}, "required": ["tool_input"]}
    try:
        shown: Any = tool.tool_call_schema
        return dict(shown.model_json_schema(schema_generator=NoTitles))
    except (PydanticUserError, NameError, TypeError) as error:
        raise refused(
            f"{name}: its arguments cannot be described as JSON: {str(error)[:200]}. Use types "
            "that JSON can hold."
        ) from error
