"""Judges one hostile text in a process of its own; started by file, so that it loads little.

A regular expression can take for ever on a text that was made for it, and so can a schema with a
pattern in it; no thread can be ended, a process can. Reads one JSON order from standard input,
writes one JSON object: `problems`, a list of [place, problem], or `broken`, why the order itself
cannot be used. It has no rights of its own: it opens no file and no socket.
"""

import json
import re
import sys
import xml.parsers.expat
from collections.abc import Iterator
from typing import Any

MOST_PROBLEMS = 20
"""Problems that are told; one is enough to fail."""

_LONG = 200


def main() -> None:
    """Carry out the order."""
    order = json.load(sys.stdin)
    try:
        answer: dict[str, Any] = {"problems": _JUDGES[order["judge"]](order)}
    except Broken as error:
        answer = {"broken": str(error)}
    json.dump(answer, sys.stdout)


class Broken(Exception):  # noqa: N818 - an answer
    """The order itself cannot be used: its schema or pattern is none."""


Problems = list[tuple[str, str]]


def _matches(order: dict[str, Any]) -> Problems:
    flags = re.IGNORECASE if order["fold_case"] else 0
    try:
        pattern = re.compile(order["pattern"], flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise Broken(f"the regular expression cannot be used: {error}") from error
    return [] if pattern.search(order["text"]) else [("", "nothing in it matches the pattern")]


def _json(order: dict[str, Any]) -> Problems:
    schema = order.get("schema")
    validator = None if schema is None else _validator(schema)
    try:
        value = json.loads(order["text"], object_pairs_hook=_members, parse_constant=_no_constant)
    except RecursionError:
        return [("", "it is nested too deep")]
    except ValueError as error:
        return [("", f"it is no JSON: {str(error)[:_LONG]}")]
    if validator is None:
        return []
    try:
        found = [(_pointer(e.absolute_path), _short(e)) for e in _few(validator, value)]
    except RecursionError:
        return [("", "it is nested too deep")]
    except Exception as error:  # a reference that leads nowhere, a pattern that is none
        raise Broken(f"the schema cannot be used: {str(error)[:_LONG]}") from error
    return sorted(found)


def _validator(schema: Any) -> Any:
    # Here, since most orders need none of it and it takes longest to load.
    import jsonschema  # noqa: PLC0415 - slow, and texts and XML do without
    import referencing  # noqa: PLC0415 - the same

    kind = jsonschema.Draft202012Validator
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise Broken(f"the schema is none: {error.message[:_LONG]}") from error
    except RecursionError as error:
        raise Broken("the schema is nested too deep") from error
    # An empty registry: what refers to somewhere else finds nothing, and nothing is fetched.
    return kind(schema, registry=referencing.Registry())


def _few(validator: Any, value: Any) -> Iterator[Any]:
    for place, error in enumerate(validator.iter_errors(value)):
        if place >= MOST_PROBLEMS:
            return
        yield error


def _short(error: Any) -> str:
    text = error.message
    return text if len(text) <= _LONG else f"{text[: _LONG // 2]}...{text[-_LONG // 2 :]}"


def _pointer(path: Any) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)[:_LONG]


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object names one member twice")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def _xml(order: dict[str, Any]) -> Problems:
    parser = xml.parsers.expat.ParserCreate()
    parser.EntityDeclHandler = _no_entity
    try:
        parser.Parse(order["text"].encode("utf-8", "surrogatepass"), True)
    except xml.parsers.expat.ExpatError as error:
        return [
            (f"line {error.lineno}", f"it is no XML: {xml.parsers.expat.ErrorString(error.code)}")
        ]
    except (LookupError, ValueError):  # an encoding that there is not, or not for XML
        return [("", "it is in an encoding that cannot be read")]
    except Entity:
        return [("", "it declares entities, which are not followed")]
    return []


class Entity(Exception):  # noqa: N818 - an answer
    """An XML document that declares entities; a few lines of them can fill any memory."""


def _no_entity(*declared: object) -> None:
    raise Entity


_JUDGES = {"matches": _matches, "json": _json, "xml": _xml}

if __name__ == "__main__":
    main()
