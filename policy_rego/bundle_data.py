"""Data of a bundle: JSON or YAML, nested by folder as OPA does it, and the same for every engine.

YAML is read as JSON with fewer quotes. What YAML readers disagree about (yes and no, dates, octal
numbers, anchors) is refused with its line, since one engine's `no` would be another one's false.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, cast

import yaml

from checkrein.contracts.codec import clean, json_object
from checkrein.errors import InputError
from checkrein.policy_rego.json_shapes import is_object

DATA_NAMES = frozenset({"data.json", "data.yaml", "data.yml"})
"""The file names that OPA reads as data."""

_OP = "policy.bundle"
_PLAIN = {
    "tag:yaml.org,2002:bool": re.compile(r"true|false"),
    "tag:yaml.org,2002:null": re.compile(r"null|~|"),
    "tag:yaml.org,2002:int": re.compile(r"-?(0|[1-9][0-9]*)"),
    "tag:yaml.org,2002:float": re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+"),
}
_TEXT = "tag:yaml.org,2002:str"


class _JsonLikeLoader(yaml.SafeLoader):
    """Reads only what YAML and JSON agree about."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = cast(Any, self).peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _unread(event, "anchors and aliases are not read; write the value out")
        node: Any = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode):
            self._check_scalar(node)
        return node

    def _check_scalar(self, node: yaml.ScalarNode) -> None:
        pattern = _PLAIN.get(node.tag)
        if node.tag != _TEXT and (pattern is None or not pattern.fullmatch(node.value)):
            raise _unread(node, f"{node.value!r} is read in different ways; quote it")

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != _TEXT or key.value in seen:
                why = "stands twice" if key.value in seen else "is no text; quote it"
                raise _unread(key, f"the name {key.value!r} {why}")
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _unread(where: Any, why: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, why, where.start_mark)


def parsed(path: str, text: str) -> dict[str, Any]:
    """Return one data file's object, nested under the folder that it lies in.

    Raises:
        InputError: no valid JSON or YAML, no object at its root, or text that JSON cannot hold.
    """
    value = _yaml(path, text) if path.endswith((".yaml", ".yml")) else _json(path, text)
    try:
        value = clean(value)
    except InputError as error:
        raise _refused(path, str(error)) from error
    for folder in reversed(PurePosixPath(path).parent.parts):
        value = {folder: value}
    return value


def merged(documents: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Merge documents by path into one.

    Raises:
        InputError: two files give one name different values.
    """
    result: dict[str, Any] = {}
    for path, document in documents.items():
        _merge(result, document, path, "data")
    return result


def _merge(into: dict[str, Any], more: dict[str, Any], path: str, where: str) -> None:
    for name, value in more.items():
        place = f"{where}.{name}"
        if name not in into:
            into[name] = value
        elif is_object(into[name]) and is_object(value):
            _merge(into[name], value, path, place)
        else:
            raise _refused(path, f"{place} has a value from another data file already.")


def _json(path: str, text: str) -> dict[str, Any]:
    try:
        return json_object(text, op=_OP)
    except InputError as error:
        raise _refused(path, str(error)) from error


def _yaml(path: str, text: str) -> dict[str, Any]:
    try:
        value: Any = yaml.load(text, Loader=_JsonLikeLoader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise _refused(path, f"{error.problem}{at}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _refused(path, f"Not valid YAML: {error}.") from error
    if not is_object(value):
        raise _refused(path, "The YAML is not an object.")
    return value


def _refused(path: str, why: str) -> InputError:
    return InputError(
        f"Policy bundle: the data file {path} cannot be used. {why}",
        op=_OP,
        code="policy_invalid",
        context={"path": path},
    )
