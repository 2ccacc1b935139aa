"""A document of plain JSON values that knows where each of them stands."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from checkrein.errors import InputError

DataPath = tuple[str | int, ...]
"""Names and list positions from the top of a document down to one value."""


class Place(NamedTuple):
    """Where a value begins in its file; both numbers count from 1."""

    line: int
    column: int


def path_text(path: DataPath) -> str:
    """Return a path as people write it, for example `success[0].command.argv`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """One document as read.

    Attributes:
        file: the file, as it was named.
        value: plain JSON values: dict with text keys, list, str, int, float, bool, None.
        places: where each value begins, by its path; `()` is the whole document.
        op: the operation that errors name.
        files: the file that a value stands in, by its path, where it is another one.
        filled: the paths of texts that variables of the environment are part of.
    """

    file: Path
    value: Any
    places: Mapping[DataPath, Place]
    op: str
    files: Mapping[DataPath, Path] = field(default_factory=dict[DataPath, Path])
    filled: frozenset[DataPath] = frozenset()

    def place(self, path: DataPath) -> Place:
        """Return where a value begins, or where the nearest value around it does."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))

    def file_of(self, path: DataPath) -> Path:
        """Return the file that a value stands in, or the nearest value around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.files.get(path, self.file)

    def folder_of(self, path: DataPath) -> Path:
        """Return the folder, absolute, that a relative path starts from which stands there."""
        return Path(os.path.abspath(self.file_of(path))).parent

    def line(self, path: DataPath, problem: str) -> str:
        """Return one line for people: file, line, column, path and what is wrong there."""
        place = self.place(path)
        name = f" {path_text(path)}:" if path else ""
        return f"{self.file_of(path)}:{place.line}:{place.column}:{name} {problem}"

    def refusal(self, path: DataPath, problem: str, *, code: str = "invalid_fields") -> InputError:
        """Return the error that refuses the document for what stands at a path."""
        place = self.place(path)
        return InputError(
            self.line(path, problem),
            op=self.op,
            code=code,
            context={
                "file": str(self.file_of(path)),
                "line": place.line,
                "column": place.column,
                "path": path_text(path),
            },
        )
