"""Strict YAML: one document of plain JSON values, and the place of each of them in its file.

Read by the rules of YAML 1.2's core schema, so that `no`, `on` and dates stay text, and every JSON
file reads as itself. Tags, merge keys and duplicate keys are refused; aliases are bounded.
"""

import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from checkrein.errors import InputError
from checkrein.yaml_document import DataPath, Place, YamlDocument

MAX_DEPTH = 64
"""Deepest nesting of a document."""

_TAG = "tag:yaml.org,2002:"
_MAX_DIGITS = 400
_SCALARS = (
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", re.compile(r"^[-+]?[0-9]+$"), list("-+0123456789")),
    (
        "float",
        re.compile(
            r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
        ),
        list("-+.0123456789"),
    ),
)


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """PyYAML's table: first character to the tags that a plain scalar may have."""
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for name, pattern, first in _SCALARS:
        for character in first:
            table.setdefault(character, []).append((_TAG + name, pattern))
    return table


_RESOLVERS = _resolvers()


class _Loader(yaml.SafeLoader):
    """PyYAML's scanner and composer, with only the scalars that JSON has."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # PyYAML looks the tags of plain scalars up here; its own table has dates and yes/no.
        self.yaml_implicit_resolvers = _RESOLVERS


def read_yaml(file: Path, *, what: str, op: str, max_bytes: int) -> YamlDocument:
    """Read one file that holds exactly one YAML document.

    Args:
        what: how messages call the file, for example "task file".
        op: the operation that errors name.
        max_bytes: the largest file that is read.

    Raises:
        InputError: missing, no regular file, unreadable, empty, too large (file_unusable), not
            UTF-8 (not_utf8), or no single plain YAML document (invalid_yaml, with its place).
    """
    data = _bytes(file, what=what, op=op, max_bytes=max_bytes)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{file}:{line}: the {what} is not UTF-8 (byte {error.start}). Save it as UTF-8.",
            op=op,
            code="not_utf8",
            context={"file": str(file), "line": line},
        ) from error
    if not text.strip():
        raise _unusable(file, f"The {what} {file} is empty. Write the {what} into it.", op)
    return _Reading(file, what, op, limit=2 * len(text) + 65_536).document(text)


def _bytes(file: Path, *, what: str, op: str, max_bytes: int) -> bytes:
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
            raise _unusable(file, f"The {what} {file} is {kind}. Name a file.", op)
        with file.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except FileNotFoundError as error:
        raise _unusable(file, f"The {what} {file} does not exist. Check its path.", op) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"The {what} {str(file)!r} cannot be read: {reason}. Check its path and rights."
        raise _unusable(file, message, op) from error
    if len(data) > max_bytes:
        message = f"The {what} {file} is larger than {max_bytes:,} bytes. Make it smaller."
        raise _unusable(file, message, op)
    return data


def _unusable(file: Path, message: str, op: str) -> InputError:
    return InputError(message, op=op, code="file_unusable", context={"file": str(file)})


@dataclass(slots=True)
class _Reading:
    """One pass over one document.

    Attributes:
        limit: the most that may be read, counting each value once for every alias that names it.
            A document without aliases cannot reach it.
    """

    file: Path
    what: str
    op: str
    limit: int
    places: dict[DataPath, Place] = field(default_factory=dict[DataPath, Place])

    def document(self, text: str) -> YamlDocument:
        node = self._compose(text)
        if node is None:
            self._refuse(None, f"the {self.what} holds no value. Write the {self.what} into it")
        value = self._value(node, ())
        return YamlDocument(self.file, value, self.places, self.op)

    def _compose(self, text: str) -> yaml.Node | None:
        try:
            loader = _Loader(text)
            return loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            if error.context == "expected a single document in the stream":
                message = "a second document begins. Keep one document in one file"
                self._refuse(error.problem_mark, message, error)
            mark = error.problem_mark
            braced = mark is not None and text[mark.index - 1 : mark.index + 1] == "${"
            hint = ". Put ${...} in quotes within brackets" if braced else ""
            self._refuse(mark, f"not valid YAML: {error.problem}{hint}", error)
        except yaml.reader.ReaderError as error:
            before = text[: error.position]
            mark = _mark(before.count("\n"), len(before) - before.rfind("\n") - 1)
            self._refuse(mark, f"not valid YAML: {error.reason}", error)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            self._refuse(None, f"not valid YAML: {error}", error)
        except RecursionError as error:
            self._refuse(None, "nested too deeply. Flatten it", error)

    def _value(self, node: yaml.Node, path: DataPath) -> Any:
        self.places[path] = Place(node.start_mark.line + 1, node.start_mark.column + 1)
        self.limit -= 1 + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)
        if self.limit < 0:
            self._refuse(node.start_mark, "aliases repeat too much. Write the values out")
        if len(path) > MAX_DEPTH:
            self._refuse(node.start_mark, f"nested deeper than {MAX_DEPTH} levels. Flatten it")
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self._value(item, (*path, n)) for n, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        return self._refuse(node.start_mark, f"the tag {_tag(node)} is not allowed. Remove it")

    def _mapping(self, node: yaml.MappingNode, path: DataPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        first: dict[str, int] = {}
        for name_node, value_node in node.value:
            mark = name_node.start_mark
            if not isinstance(name_node, yaml.ScalarNode) or name_node.tag != _TAG + "str":
                self._refuse(mark, "a field name must be text. Put it in quotes")
            name = name_node.value
            if name in found:
                message = f"{name!r} stands here again (first in line {first[name]}). Keep one"
                self._refuse(mark, message)
            found[name] = self._value(value_node, (*path, name))
            first[name] = mark.line + 1
            # A field is found by its name, also where its value stands lines below.
            self.places[*path, name] = Place(mark.line + 1, mark.column + 1)
        return found

    def _scalar(self, node: yaml.ScalarNode) -> str | int | float | bool | None:
        text: str = node.value
        kind = node.tag.removeprefix(_TAG)
        if kind == "str":
            return text
        for name, pattern, _ in _SCALARS:
            if name == kind and pattern.match(text) and len(text) <= _MAX_DIGITS:
                return _READ[kind](text)
        if kind in _READ:
            self._refuse(node.start_mark, f"this is no usable {kind}. Put it in quotes as text")
        return self._refuse(node.start_mark, f"the tag {_tag(node)} is not allowed. Remove it")

    def _refuse(
        self, mark: yaml.Mark | None, problem: str, cause: BaseException | None = None
    ) -> NoReturn:
        place = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
        raise InputError(
            f"{self.file}:{place.line}:{place.column}: {problem}.",
            op=self.op,
            code="invalid_yaml",
            context={"file": str(self.file), "line": place.line, "column": place.column},
        ) from cause


def plain_scalar(text: str) -> int | float | bool | None:
    """The number, or true or false, that a text says; None where it says none."""
    for name, pattern, _ in _SCALARS:
        if pattern.match(text) and len(text) <= _MAX_DIGITS:
            return _READ[name](text)
    return None


def _float(text: str) -> float:
    # Python spells infinity and NaN without the dot.
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


_READ: dict[str, Callable[[str], int | float | bool | None]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": _float,
}


def _mark(line: int, column: int) -> yaml.Mark:
    return yaml.Mark(name="", index=0, line=line, column=column, buffer=None, pointer=0)


def _tag(node: yaml.Node) -> str:
    return "!!" + node.tag.removeprefix(_TAG) if node.tag.startswith(_TAG) else node.tag
