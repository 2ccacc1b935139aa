"""Task files that build on others: `include: [base.yaml]`, the file itself last.

Mappings merge field by field; lists and all else replace. Each value keeps the file and line that
it stands in: faults name them, and its paths start from that file's folder.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from checkrein.adapters.task_variables import filled
from checkrein.errors import InputError
from checkrein.strict_yaml import read_yaml
from checkrein.yaml_document import DataPath, YamlDocument

MAX_TASK_BYTES = 1024 * 1024
"""The largest task file that is read, and the largest that is included: 1 MiB."""

MAX_FILES = 32
"""Most files that one task is made of; one that is included twice counts twice."""

MAX_INCLUDE_DEPTH = 8
"""How many files may stand between a task file and the last that it builds on."""

INCLUDE = "include"
"""The field that names them."""

_MAX_PATH = 4096
_UNREAD = frozenset({"file_unusable", "not_utf8"})


class Inclusion(NamedTuple):
    """One file that another one includes, and where that stands."""

    by: YamlDocument
    place: DataPath
    file: Path


@dataclasses.dataclass
class TaskFiles:
    """Reads a task file with all that it includes.

    Attributes:
        environ: the variables that texts may name.
        op: the operation that errors name.
        included: what was included, in the order of reading.
    """

    environ: Mapping[str, str]
    op: str
    included: list[Inclusion] = dataclasses.field(default_factory=list[Inclusion])

    def read(self, file: Path) -> YamlDocument:
        """Read the task file, each included file below it.

        Raises:
            InputError: as `read_yaml` and `filled`, for each of the files; or an include that names
                no file, leads back to itself, or is one too many.
        """
        return self._read(file, "task file", ())

    def _read(self, file: Path, what: str, above: tuple[Path, ...]) -> YamlDocument:
        document = read_yaml(file, what=what, op=self.op, max_bytes=MAX_TASK_BYTES)
        document = filled(document, self.environ)
        value: Any = document.value
        if not isinstance(value, dict):
            if above:
                raise document.refusal((), "must be a mapping of fields")
            return document
        fields = cast(dict[str, Any], value)
        if INCLUDE not in fields:
            return document
        own = {name: value for name, value in fields.items() if name != INCLUDE}
        chain = (*above, Path(os.path.realpath(file)))
        below: YamlDocument | None = None
        for place, name in _names(document, fields[INCLUDE]):
            base = self._included(document, place, name, chain)
            below = base if below is None else merged(below, base)
        alone = dataclasses.replace(document, value=own)
        return alone if below is None else merged(below, alone)

    def _included(
        self, by: YamlDocument, place: DataPath, name: str, chain: tuple[Path, ...]
    ) -> YamlDocument:
        file = by.file.parent / name
        real = Path(os.path.realpath(file)) if "\0" not in name else file
        if real in chain:
            circle = " -> ".join(str(step) for step in (*chain[chain.index(real) :], real))
            raise by.refusal(place, f"leads back to itself: {circle}; take one of them out")
        if len(chain) > MAX_INCLUDE_DEPTH:
            problem = f"is included more than {MAX_INCLUDE_DEPTH} files deep; flatten it"
            raise by.refusal(place, problem)
        if len(self.included) + 1 >= MAX_FILES:
            problem = f"makes more than {MAX_FILES} files of one task; include fewer"
            raise by.refusal(place, problem)
        self.included.append(Inclusion(by, place, real))
        try:
            return self._read(file, "included file", chain)
        except InputError as error:
            # What is wrong inside of it is told by its own line; that it cannot be read, by ours.
            if error.code in _UNREAD and "path" not in error.context:
                raise by.refusal(place, str(error), code=error.code) from error
            raise


def _names(document: YamlDocument, include: Any) -> list[tuple[DataPath, str]]:
    """What an `include` names, each with its place."""
    if not isinstance(include, list):
        raise document.refusal((INCLUDE,), "must be a list of files, for example [base.yaml]")
    names: list[tuple[DataPath, str]] = []
    for n, name in enumerate(cast(list[object], include)):
        if not isinstance(name, str) or not name.strip() or len(name) > _MAX_PATH:
            problem = "must name a file, relative to the folder of this one"
            raise document.refusal((INCLUDE, n), problem)
        names.append(((INCLUDE, n), name))
    return names


def merged(below: YamlDocument, above: YamlDocument) -> YamlDocument:
    """One document of two: fields of the one above replace those below, mappings are merged."""
    replaced: set[DataPath] = set()
    value = _merged(below.value, above.value, (), replaced)

    def stands(path: DataPath) -> bool:
        return not any(path[:n] in replaced for n in range(1, len(path) + 1))

    left = [path for path in below.places if stands(path)]
    return YamlDocument(
        file=above.file,
        value=value,
        places={path: below.places[path] for path in left} | dict(above.places),
        op=above.op,
        files={path: below.file_of(path) for path in left}
        | {path: above.file_of(path) for path in above.places},
        filled=frozenset(filter(stands, below.filled)) | above.filled,
    )


def _merged(below: Any, above: Any, path: DataPath, replaced: set[DataPath]) -> Any:
    if not (isinstance(below, dict) and isinstance(above, dict)):
        replaced.add(path)
        return above
    found = dict(cast(dict[str, Any], below))
    for name, value in cast(dict[str, Any], above).items():
        if name in found:
            found[name] = _merged(found[name], value, (*path, name), replaced)
        else:
            found[name] = value
    return found
