"""Faults of a document against a pydantic model, told by place, field and nearest known name."""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from checkrein.contracts.codec import clean
from checkrein.errors import InputError
from checkrein.schema_nodes import schemas_at
from checkrein.yaml_document import DataPath, YamlDocument, path_text

_Model = TypeVar("_Model", bound=BaseModel)
_MAX_FAULTS = 8
_MAX_SHOWN = 40
_MAX_FORMS = 5
_NO_FORM = frozenset({"no_form", "union_tag_invalid", "union_tag_not_found"})


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known name most like this one, else nothing."""
    match = difflib.get_close_matches(name[:128], sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {match[0]!r}?" if match else ""


def read_model(
    document: YamlDocument, model: type[_Model], *, advice: Mapping[str, str] | None = None
) -> _Model:
    """Read a document as a model, strictly: no text becomes a number, no field is overlooked.

    Args:
        advice: what to do about a fault, by the field's path with its list positions left out,
            for example `success[].command.argv`.

    Raises:
        InputError: every fault (at most 8), each with its line, column, path and remedy.
    """
    try:
        # Only asked, since patterns of paths must stay as they were written.
        clean(document.value)
    except InputError as error:
        where = str(error.context.get("where", ""))
        path = _path_of(where, document.value)
        raise document.refusal(path, str(error).rpartition(where)[2].strip()) from error
    try:
        # By way of JSON, since only there are enums strict and written as text.
        return model.model_validate_json(json.dumps(document.value), strict=True)
    except ValidationError as error:
        raise _refusal(document, error, model.model_json_schema(), advice or {}) from error


def check_model(document: YamlDocument, model: type[_Model]) -> _Model:
    """Read a document as a model that may hold any text, NUL and lone surrogates too.

    Raises:
        InputError: as `read_model`.
    """
    try:
        return model.model_validate(document.value, strict=True)
    except ValidationError as error:
        raise _refusal(document, error, model.model_json_schema(), {}) from error


@dataclass(frozen=True, slots=True)
class _Fault:
    """One of pydantic's errors, with the path in the data and the union members on the way."""

    path: DataPath
    members: tuple[tuple[DataPath, str], ...]
    type: str
    message: str
    context: Mapping[str, Any]
    value: Any


def _refusal(
    document: YamlDocument,
    error: ValidationError,
    schema: dict[str, Any],
    advice: Mapping[str, str],
) -> InputError:
    faults = _of_best_members(
        [_located(document.value, item) for item in error.errors()], document.value
    )
    lines = dict.fromkeys(
        document.line(fault.path, _told(fault, schema, advice)) for fault in faults
    )
    more = len(lines) - _MAX_FAULTS
    shown = [*lines][:_MAX_FAULTS] + ([f"and {more} more"] if more > 0 else [])
    first = document.refusal(faults[0].path, "")
    return InputError(
        "\n".join(shown), op=document.op, code="invalid_fields", context=first.context
    )


def _located(value: Any, item: Any) -> _Fault:
    """Split pydantic's location into what the data holds and the names of union members."""
    path: DataPath = ()
    members: list[tuple[DataPath, str]] = []
    location: tuple[str | int, ...] = item["loc"]
    for n, part in enumerate(location):
        below = _step(value, part)
        if below is not None:
            value = below[0]
        elif not (n == len(location) - 1 and item["type"] == "missing"):
            members.append((path, str(part)))
            continue
        path = (*path, part)
    return _Fault(
        path, tuple(members), item["type"], item["msg"], item.get("ctx", {}), item.get("input")
    )


def _step(value: Any, part: str | int) -> tuple[Any] | None:
    """What stands at one step below a value, or None where nothing does."""
    if isinstance(value, dict):
        fields = cast(dict[str | int, Any], value)
        return (fields[part],) if part in fields else None
    if isinstance(value, list) and isinstance(part, int):
        items = cast(list[object], value)
        return (items[part],) if part < len(items) else None
    return None


def _at(value: Any, path: DataPath) -> Any:
    for part in path:
        below = _step(value, part)
        value = below[0] if below else None
    return value


def _of_best_members(faults: list[_Fault], value: Any) -> list[_Fault]:
    """Of a union, keep the faults of the member that the data means; none fits: one fault."""
    misfits: dict[DataPath, dict[str, bool]] = {}
    for fault in faults:
        for where, name in fault.members:
            level = len(fault.path) - len(where)
            misfit = level == 0 or (level == 1 and fault.type in {"missing", "extra_forbidden"})
            misfit = misfit and not _is_tag(name, _at(value, where))
            members = misfits.setdefault(where, {})
            members[name] = members.get(name, False) or misfit
    kept: list[_Fault] = []
    for fault in faults:
        formless = [where for where, _ in fault.members if all(misfits[where].values())]
        if formless:
            given = _at(value, formless[0])
            fields = cast(dict[str, Any], given) if isinstance(given, dict) else {}
            kept.append(_Fault(formless[0], (), "no_form", "", fields, None))
        elif not any(misfits[w][name] for w, name in fault.members):
            kept.append(fault)
    return kept or faults


def _is_tag(name: str, given: Any) -> bool:
    """Whether the data says itself which member it means: tagged ones are called by their tag."""
    return isinstance(given, dict) and name in cast(dict[str, Any], given).values()


def _told(fault: _Fault, schema: dict[str, Any], advice: Mapping[str, str]) -> str:
    """Say what is wrong and what to do, in one sentence or two."""
    nodes = schemas_at(schema, fault.path)
    if fault.type in _NO_FORM:
        text = _no_form(fault, nodes)
    elif fault.type == "extra_forbidden":
        known = _names(schemas_at(schema, fault.path[:-1]))
        text = "is no known field" + (
            nearest(str(fault.path[-1]), known) or f"; known are {', '.join(known)}"
        )
    elif fault.type == "missing":
        text = "is missing; add it"
    else:
        rule = _TOLD.get(fault.type)
        text = rule(fault) if rule else fault.message[:1].lower() + fault.message[1:]
    extra = advice.get(re.sub(r"\[\d+\]", "[]", path_text(fault.path)))
    return f"{text}: {extra}" if extra else text


def _no_form(fault: _Fault, nodes: list[dict[str, Any]]) -> str:
    given = fault.context if fault.type == "no_form" else fault.value
    names = _names(nodes)
    fields = [*map(str, cast(dict[str, Any], given))] if isinstance(given, dict) else []
    near = "".join(nearest(name, names) for name in fields)
    if len(nodes) > _MAX_FORMS:
        return f"is of no known form; write one of {', '.join(names)}, and what belongs to it{near}"
    return f"is of no known form; write {' or '.join(_form(node) for node in nodes)}{near}"


def _must(what: str) -> Callable[[_Fault], str]:
    return lambda fault: f"must be {what}{_shown(fault.value)}"


def _limit(words: str, key: str) -> Callable[[_Fault], str]:
    return lambda fault: f"must be {words} {fault.context[key]}{_shown(fault.value)}"


def _choice(fault: _Fault) -> str:
    expected = str(fault.context["expected"])
    names = re.findall(r"'([^']*)'", expected)
    return f"must be {expected}{_shown(fault.value)}" + (
        nearest(fault.value, names) if isinstance(fault.value, str) else ""
    )


def _short(fault: _Fault) -> str:
    least = fault.context["min_length"]
    return "must not be empty" if least == 1 else f"must have at least {least}"


def _long(fault: _Fault) -> str:
    unit = "characters" if fault.type == "string_too_long" else "entries"
    return f"must have at most {fault.context['max_length']} {unit}"


def _pattern(fault: _Fault) -> str:
    return f"must be of the form {fault.context['pattern']}{_shown(fault.value)}"


def _shown(value: Any) -> str:
    if value is None or isinstance(value, str | int | float):
        text = json.dumps(value, ensure_ascii=False)
        return f", not {text}" if len(text) <= _MAX_SHOWN else ""
    return ""


_TOLD: dict[str, Callable[[_Fault], str]] = {
    "string_type": lambda fault: _must("text")(fault) + "; put it in quotes",
    "int_type": _must("a whole number"),
    "int_from_float": _must("a whole number"),
    "float_type": _must("a number"),
    "bool_type": _must("true or false"),
    "list_type": _must("a list"),
    "dict_type": _must("a mapping of fields"),
    "model_type": _must("a mapping of fields"),
    "greater_than": _limit("greater than", "gt"),
    "greater_than_equal": _limit("at least", "ge"),
    "less_than": _limit("less than", "lt"),
    "less_than_equal": _limit("at most", "le"),
    "string_too_short": _short,
    "too_short": _short,
    "string_too_long": _long,
    "too_long": _long,
    "string_pattern_mismatch": _pattern,
    "literal_error": _choice,
    "enum": _choice,
    "value_error": lambda fault: str(fault.context["error"]),
}


def _names(nodes: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for node in nodes for name in node.get("properties", {})))


def _form(node: dict[str, Any]) -> str:
    names = node.get("required", [])
    return "{" + ": ..., ".join([*names, ""])[:-2] + "}" if names else "text"


def _path_of(pointer: str, value: Any) -> DataPath:
    """The path that a `/a/0/b` pointer names; it stops where the data does."""
    path: DataPath = ()
    for text in pointer.strip("/").split("/"):
        part = int(text) if isinstance(value, list) and text.isdecimal() else text
        below = _step(value, part)
        if below is None:
            break
        path, value = (*path, part), below[0]
    return path
