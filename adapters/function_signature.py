"""A function's parameters as a closed JSON Schema, and calls checked against it."""

import inspect
import json
from collections.abc import Callable
from typing import Any, Protocol

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from checkrein.errors import CapabilityError, InputError

_KINDS: dict[object, str] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional only",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values",
    inspect.Parameter.VAR_KEYWORD: "takes any name",
}
_MAX_FAULTS = 5


class NoTitles(GenerateJsonSchema):
    """JSON Schema without the titles that pydantic makes of field names: they cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class Signature(Protocol):
    """The parameters of what a capability calls."""

    schema: dict[str, Any]
    names: frozenset[str]
    injected: frozenset[str]

    def bind(self, args: dict[str, Any], *, op: str) -> dict[str, Any]:
        """The values that it works with, its defaults filled in."""
        ...

    def passed(self, args: dict[str, Any], *, op: str) -> dict[str, Any]:
        """What it is called with."""
        ...


class FunctionSignature:
    """The typed, named parameters of one function.

    Attributes:
        schema: JSON Schema of what a model may say.
        names: the parameters that a model fills in.
        injected: the parameters that the harness fills in, never part of the schema.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str,
        op: str,
        injectable: frozenset[str] = frozenset(),
    ) -> None:
        """Read a signature; keyword-only parameters named in `injectable` become `injected`.

        Raises:
            InputError: a parameter that a model cannot name, that has no type, or whose type
                JSON cannot hold.
        """
        self._name = name
        signature, self.injected = _without(inspect.signature(function), injectable, name, op)
        for parameter in signature.parameters.values():
            problem = _KINDS.get(parameter.kind)
            if parameter.annotation is inspect.Parameter.empty:
                problem = problem or "has no type"
            if problem:
                raise _refused(
                    f"The parameter {parameter.name!r} of {name} {problem}. "
                    "Write each parameter as name: type.",
                    op,
                )
        self.names = frozenset(signature.parameters)
        try:
            self._adapter = _adapter(function, signature)
            self.schema: dict[str, Any] = self._adapter.json_schema(schema_generator=NoTitles)
        except (PydanticUserError, NameError, TypeError) as error:
            raise _refused(
                f"The parameters of {name} cannot be described as JSON: {error}. "
                "Use types that JSON can hold, or a pydantic model.",
                op,
            ) from error

    def bind(self, args: dict[str, Any], *, op: str) -> dict[str, Any]:
        """Return the arguments as the function's own types, its defaults filled in.

        Raises:
            CapabilityError: they do not fit; the advice names each field (code
                invalid_arguments).
        """
        try:
            # As JSON, in which dates and enums are text and strictness still holds.
            return self._adapter.validate_json(json.dumps(args))
        except ValidationError as error:
            raise faults_told(error, self._name, op) from error

    def passed(self, args: dict[str, Any], *, op: str) -> dict[str, Any]:
        """What the function is called with: what `bind` returns."""
        return self.bind(args, op=op)


def faults_told(error: ValidationError, name: str, op: str) -> CapabilityError:
    """What pydantic says of arguments, without their values."""
    faults = [
        f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}"
        for item in error.errors(include_input=False, include_url=False)
    ]
    return CapabilityError(
        f"The arguments of {name} do not fit.",
        op=op,
        code="invalid_arguments",
        advice=f"Mend the arguments: {'; '.join(faults[:_MAX_FAULTS])}"[:1000],
    )


def _without(
    signature: inspect.Signature, injectable: frozenset[str], name: str, op: str
) -> tuple[inspect.Signature, frozenset[str]]:
    """The signature without what is injected, and what that is."""
    injected = frozenset(
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.name in injectable and parameter.kind is inspect.Parameter.KEYWORD_ONLY
    )
    for parameter in sorted(injected):
        # Under `from __future__ import annotations` the type is its own text.
        if signature.parameters[parameter].annotation not in {str, "str"}:
            raise _refused(f"The parameter {parameter!r} of {name} is filled in as a str.", op)
    kept = [p for p in signature.parameters.values() if p.name not in injected]
    return signature.replace(parameters=kept), injected


def _adapter(
    function: Callable[..., Any], signature: inspect.Signature
) -> TypeAdapter[dict[str, Any]]:
    """Pydantic's view of the parameters: a stand-in that returns what it is called with."""

    def collect(**arguments: Any) -> dict[str, Any]:
        return arguments

    hints = inspect.get_annotations(function)
    collect.__signature__ = signature  # type: ignore[attr-defined]
    collect.__annotations__ = {k: hint for k, hint in hints.items() if k in signature.parameters}
    collect.__module__ = function.__module__
    # Pydantic takes a function for the type of its calls, which no type checker knows.
    as_type: Any = collect
    return TypeAdapter[dict[str, Any]](as_type, config=ConfigDict(strict=True))


def _refused(message: str, op: str) -> InputError:
    return InputError(message, op=op, code="capability_unusable")
