"""Variables of the environment in a task file: `${NAME}` and `${NAME:-default}` in its texts.

A value stays one text in its place: it can become no list, no mapping and no further field. Where
a field takes no text at all, it is read as the number, or true or false, that it says.
"""

import dataclasses
import os
import re
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel

from checkrein.contracts.codec import visible
from checkrein.contracts.secrets import secret_hits
from checkrein.errors import InputError
from checkrein.schema_nodes import schemas_at
from checkrein.strict_yaml import plain_scalar
from checkrein.yaml_document import DataPath, YamlDocument

MAX_FILLED = 1 << 20
"""Most characters that all values of one file's variables make up."""

_LEND = (
    "what stands in a task is stored for good, so lend it by `secrets` instead (docs/secrets.md)"
)
_MAX_FAULTS = 8
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SIGN = re.compile(r"\$\$|\$\{(?P<inside>[^{}]*)\}|\$\{")
_INSIDE = re.compile(rf"(?P<name>{_NAME})(?::-(?P<default>.*))?", re.DOTALL)


def filled(document: YamlDocument, environ: Mapping[str, str] = os.environ) -> YamlDocument:
    """The document with each variable's value in its place; names of fields stay as they are.

    Raises:
        InputError: every variable (at most 8) that is not set and has no default, looks like a
            secret, or is not written as one, each with its place (code invalid_variable).
    """
    filling = _Filling(document, environ)
    value = filling.value(document.value, ())
    filling.refuse()
    places = frozenset(filling.changed)
    return dataclasses.replace(document, value=value, filled=document.filled | places)


def as_wanted(document: YamlDocument, model: type[BaseModel]) -> YamlDocument:
    """The document with filled texts read as what their fields take, where that is no text."""
    if not document.filled:
        return document
    schema = model.model_json_schema()
    return dataclasses.replace(document, value=_wanted(document.value, (), document, schema))


def _wanted(value: Any, path: DataPath, document: YamlDocument, schema: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {k: _wanted(v, (*path, k), document, schema) for k, v in fields.items()}
    if isinstance(value, list):
        items = cast(list[object], value)
        return [_wanted(v, (*path, n), document, schema) for n, v in enumerate(items)]
    if not isinstance(value, str) or path not in document.filled:
        return value
    types = {node.get("type") for node in schemas_at(schema, path)} - {"null"}
    if not types or types - {"boolean", "integer", "number"}:
        return value
    read = plain_scalar(value)
    # Nothing else: an empty text is no null, which would take the field's limit away.
    return value if read is None else read


class _Filling:
    """One pass over one document."""

    def __init__(self, document: YamlDocument, environ: Mapping[str, str]) -> None:
        self.document = document
        self.environ = environ
        self.room = MAX_FILLED
        self.changed: list[DataPath] = []
        self.faults: list[tuple[DataPath, str]] = []

    def value(self, value: Any, path: DataPath) -> Any:
        if isinstance(value, dict):
            fields = cast(dict[str, Any], value)
            return {name: self.value(item, (*path, name)) for name, item in fields.items()}
        if isinstance(value, list):
            items = cast(list[object], value)
            return [self.value(item, (*path, n)) for n, item in enumerate(items)]
        if not isinstance(value, str) or "$" not in value:
            return value
        told = len(self.faults)
        text = _SIGN.sub(lambda sign: self._sign(sign, path), value)
        if len(self.faults) == told and path in self.changed and secret_hits(text):
            self._fault(path, f"holds what looks like a credential once it is filled in; {_LEND}")
        return text

    def _sign(self, sign: re.Match[str], path: DataPath) -> str:
        if sign[0] == "$$":
            return "$"
        inside = _INSIDE.fullmatch(sign["inside"] or "")
        if inside is None:
            problem = (
                f"{visible(sign[0][:80])} is no variable; write ${{NAME}} or ${{NAME:-default}}, "
                "or $${ where the text itself is meant"
            )
            return self._fault(path, problem)
        self.changed.append(path)
        return self._filled(inside["name"], inside["default"], path)

    def _filled(self, name: str, default: str | None, path: DataPath) -> str:
        # As a shell does: one that is set and empty takes the default, too.
        value = self.environ.get(name) or default
        if value is None:
            value = self.environ.get(name)
        if secret_hits({name: "a value"}):
            problem = f"the variable {name} is named like a secret; {_LEND}, or name it otherwise"
            return self._fault(path, problem)
        if value is None:
            problem = (
                f"the variable {name} is not set; set it, or write a default: ${{{name}:-...}}"
            )
            return self._fault(path, problem)
        had_room = self.room >= 0
        self.room -= len(value)
        if self.room >= 0:
            return value
        if had_room:  # told once, where it begins
            self._fault(path, f"variables fill in more than {MAX_FILLED:,} characters")
        return ""

    def _fault(self, path: DataPath, problem: str) -> str:
        if (path, problem) not in self.faults:
            self.faults.append((path, problem))
        return ""

    def refuse(self) -> None:
        """Tell every fault at once, if there is any."""
        if not self.faults:
            return
        lines = [self.document.line(*fault) for fault in self.faults]
        more = len(lines) - _MAX_FAULTS
        first = self.document.refusal(*self.faults[0], code="invalid_variable")
        raise InputError(
            "\n".join(lines[:_MAX_FAULTS] + ([f"and {more} more"] if more > 0 else [])),
            op=self.document.op,
            code=first.code,
            context=first.context,
        )
