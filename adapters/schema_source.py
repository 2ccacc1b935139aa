"""The JSON Schemas that checks name: written in the task, or in a file beside it."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from checkrein.contracts.codec import visible

MAX_SCHEMA = 256 * 1024
"""Most bytes of a schema's file."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_REFERENCES = ("$ref", "$dynamicRef")


class Unfit(Exception):  # noqa: N818 - becomes a verdict or a refusal, in the words of whoever asks
    """A schema cannot be used; its text says why, without folders of this machine."""


async def schema_of(against: str | dict[str, Any]) -> dict[str, Any]:
    """The schema that a check names, all of it: nothing in it refers to anywhere else.

    Raises:
        Unfit: the file cannot be read, or holds no schema that can be used here.
    """
    schema = (
        await asyncio.to_thread(read_schema, Path(against)) if isinstance(against, str) else against
    )
    check_closed(schema)
    return schema


def read_schema(file: Path) -> dict[str, Any]:
    """Read a schema's file. Blocks.

    Raises:
        Unfit: it cannot be read, is too large, or holds no JSON object.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_SCHEMA + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name cannot be used"
        raise Unfit(f"the schema {visible(file.name)} cannot be read: {why}") from error
    if len(data) > MAX_SCHEMA:
        raise Unfit(f"the schema {visible(file.name)} is larger than {MAX_SCHEMA} bytes")
    try:
        schema: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unfit(f"the schema {visible(file.name)} is no JSON") from error
    if not isinstance(schema, dict):
        raise Unfit(f"the schema {visible(file.name)} is no JSON object")
    return cast("dict[str, Any]", schema)


def check_closed(schema: dict[str, Any]) -> None:
    """Refuse what would have to be fetched, or is of another dialect.

    Raises:
        Unfit: it refers to another document.
    """
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        raise Unfit(f"the schema is of another dialect than {DIALECT}")
    for target in _references(schema):
        if not target.startswith("#"):
            raise Unfit(f"the schema refers to {visible(target[:100])}; only # is followed")


def _references(schema: dict[str, Any]) -> Iterator[str]:
    # A list and no recursion: how deep a schema is nested is its author's to say.
    open_values: list[Any] = [schema]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            yield from (
                str(members[key]) for key in _REFERENCES if isinstance(members.get(key), str)
            )
            open_values += members.values()
        elif isinstance(value, list):
            open_values += cast("list[object]", value)
