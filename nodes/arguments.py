"""Arguments against a capability's JSON Schema: which field is wrong, and how to mend it."""

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry

from checkrein.contracts.codec import clean
from checkrein.errors import InputError

_MAX_ERRORS = 100
_MAX_FAULTS = 5
_MAX_SHOWN = 60
_MAX_CHOICES = 20
_MAX_VALIDATORS = 256


MAX_ARGS_BYTES = 1024 * 1024
"""Most bytes of one call's arguments, as UTF-8 JSON: 1 MiB."""


class ArgumentFault(NamedTuple):
    """Why arguments cannot be used; `advice` tells the model what to change."""

    error_type: str
    advice: str


def usable_arguments(
    args: Mapping[str, Any], schema: dict[str, Any], *, measure: bool = True
) -> tuple[dict[str, Any], ArgumentFault | None]:
    """The arguments made clean, or why they cannot be used.

    Whoever wrote them, a model or a person: texts in NFC without NUL and lone surrogates, bounded
    in depth and size, and as the capability's schema wants them. `measure` is False where they are
    known to be small.
    """
    try:
        clean_args: dict[str, Any] = clean(args)
    except InputError as error:
        return {}, ArgumentFault("invalid_text", f"{error} Send the arguments again without it.")
    if measure and _size(clean_args) > MAX_ARGS_BYTES:
        advice = f"The arguments are larger than {MAX_ARGS_BYTES:,} bytes. Split the work up."
        return {}, ArgumentFault("arguments_too_large", advice)
    return clean_args, argument_fault(clean_args, schema)


def argument_fault(args: dict[str, Any], schema: dict[str, Any]) -> ArgumentFault | None:
    """Return what is wrong with arguments, or None if the schema accepts them.

    The advice names at most five fields and holds no long value of the model's.
    """
    validator: Any = _validator(json.dumps(schema))
    found: Iterator[ValidationError] = validator.iter_errors(args)
    try:
        errors = sorted(islice(found, _MAX_ERRORS), key=_rank)
    except RecursionError:
        return ArgumentFault("invalid_arguments", "The arguments are nested too deep.")
    if not errors:
        return None
    missing = all(error.validator == "required" for error in errors)
    told = list(dict.fromkeys(_told(error) for error in errors))
    more = [f"and {len(told) - _MAX_FAULTS} more"] if len(told) > _MAX_FAULTS else []
    advice = "; ".join(told[:_MAX_FAULTS] + more)
    return ArgumentFault(
        "missing_arguments" if missing else "invalid_arguments",
        f"Mend the arguments and call again: {advice}.",
    )


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names most like this one, at most two."""
    return difflib.get_close_matches(name[:128], sorted(set(known)), n=2, cutoff=0.6)


def _size(args: dict[str, Any]) -> int:
    return len(json.dumps(args, ensure_ascii=False, separators=(",", ":")).encode())


@lru_cache(maxsize=_MAX_VALIDATORS)
def _validator(schema: str) -> Draft202012Validator:
    # An empty registry: a reference to elsewhere is an error, never a download.
    return Draft202012Validator(json.loads(schema), registry=Registry())


def _rank(error: ValidationError) -> tuple[list[str], str]:
    return [str(part) for part in error.absolute_path], str(error.validator)


def _told(error: ValidationError) -> str:
    rule = _TOLD.get(str(error.validator))
    where = "".join(f"/{part}" for part in error.absolute_path)[:128]
    if rule is not None:
        return rule(error, where)
    limit = _shown(error.validator_value)
    return f"{_named(where)} must satisfy {error.validator} {limit}".rstrip()


def _named(where: str) -> str:
    return where.removeprefix("/") or "the arguments"


def _inside(where: str, name: str) -> str:
    return f"{where}/{name[:128]}".removeprefix("/")


def _required(error: ValidationError, where: str) -> str:
    required: Any = error.validator_value
    given: Any = error.instance
    absent = [name for name in required if name not in given]
    return ", ".join(f"add {_inside(where, name)}{_kind(error, name)}" for name in absent)


def _kind(error: ValidationError, name: str) -> str:
    """The type that the schema wants for a field, in brackets."""
    schema: Any = error.schema
    kind = schema.get("properties", {}).get(name, {}).get("type")
    return f" (a value of type {kind})" if isinstance(kind, str) else ""


def _unknown(error: ValidationError, where: str) -> str:
    schema: Any = error.schema
    known = list(schema.get("properties", {}))
    given: Any = error.instance
    extra = sorted(name for name in given if name not in known)
    told: list[str] = []
    for name in extra[:3]:
        near = nearest_names(name, known)
        hint = f", or write {near[0]}" if near else f"; known are {', '.join(known) or 'none'}"
        told.append(f"remove {_inside(where, name)}{hint}")
    return ", ".join(told)


def _type(error: ValidationError, where: str) -> str:
    wanted: Any = error.validator_value
    kinds = wanted if isinstance(wanted, str) else " or ".join(wanted)
    return f"{_named(where)} must be of type {kinds}, not {_type_of(error.instance)}"


def _choice(error: ValidationError, where: str) -> str:
    allowed: Any = error.validator_value
    choices = ", ".join(_shown(choice) for choice in allowed[:_MAX_CHOICES])
    return f"{_named(where)} must be one of {choices}"


def _form(error: ValidationError, where: str) -> str:
    forms = sorted({str(part.validator_value) for part in error.context or [] if _is_type(part)})
    hint = f" (types {', '.join(forms)})" if forms else ""
    return f"{_named(where)} has none of the forms that it may have{hint}"


def _is_type(error: ValidationError) -> bool:
    return error.validator == "type"


_TOLD: dict[str, Callable[[ValidationError, str], str]] = {
    "required": _required,
    "additionalProperties": _unknown,
    "type": _type,
    "enum": _choice,
    "anyOf": _form,
    "oneOf": _form,
}

_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (list, "array"),
    (dict, "object"),
)


def _type_of(value: Any) -> str:
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "null")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else ""
