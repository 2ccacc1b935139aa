"""The cases of the repair evaluation: programs with a bug, their tests, and what models do to them.

A case is a folder of cases/repairs: `program` with one bug and its visible tests, `hidden` with
tests that are laid over it, and `case.yaml` with the rest. The four patches stand for four models.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from checkrein.contracts.codec import Frozen
from checkrein.errors import InputError
from checkrein.schema_faults import read_model
from checkrein.strict_yaml import read_yaml

CASES = Path(__file__).parent / "cases" / "repairs"
TESTS = "tests"
"""The folder of a program whose files judge it."""

MAX_YAML = 1024 * 1024
"""The largest YAML file that is read, in bytes."""

QUICK = ("002", "013", "021")
"""The cases of a quick run."""


class Claimant(StrEnum):
    """The four scripted models; each changes something and then claims to be done."""

    RIGHT = "right"
    WRONG = "wrong"
    OVERFIT = "overfit"
    TESTS = "tests"


class Told(Frozen):
    """What `case.yaml` says.

    Attributes:
        kind: what kind of bug it is.
        goal: what a user reported, which is all that a model is told.
        fail_to_pass: visible tests that the bug fails.
        pass_to_pass: visible tests that pass in spite of it.
        patches: a unified diff of one file for each model.
    """

    kind: str = Field(pattern=r"^[a-z][a-z_]+$")
    title: str
    goal: str
    fail_to_pass: list[str] = Field(min_length=1)
    pass_to_pass: list[str] = Field(min_length=1)
    patches: dict[Claimant, str]


class Edit(NamedTuple):
    """One file's unified diff."""

    path: str
    diff: str


class Repair(NamedTuple):
    """Something to mend, wherever it comes from.

    Attributes:
        program: the folder as the model finds it.
        hidden: the folder that is laid over a copy of it to judge.
        edits: what each model does; a model that could not be made for this case is left out.
    """

    name: str
    kind: str
    goal: str
    program: Path
    hidden: Path
    fail_to_pass: Sequence[str]
    pass_to_pass: Sequence[str]
    edits: dict[Claimant, list[Edit]]


def repairs(only: Sequence[str] = (), *, folder: Path = CASES) -> list[Repair]:
    """The cases by name; `only` are beginnings of the names that are wanted.

    Raises:
        InputError: a case cannot be used, or nothing is called like that.
    """
    found = [load(case) for case in sorted(folder.glob("[0-9]*")) if _wanted(case.name, only)]
    if not found:
        raise InputError(
            f"There is no case whose name begins with {' or '.join(only)}; see {folder}.",
            op="repairs.cases",
        )
    return found


def load(folder: Path) -> Repair:
    """One case.

    Raises:
        InputError: its case.yaml cannot be used; the message names line and field.
    """
    file = folder / "case.yaml"
    told = read_model(
        read_yaml(file, what="repair case", op="repairs.load", max_bytes=MAX_YAML), Told
    )
    return Repair(
        name=folder.name,
        kind=told.kind,
        goal=told.goal.strip(),
        program=folder / "program",
        hidden=folder / "hidden",
        fail_to_pass=told.fail_to_pass,
        pass_to_pass=told.pass_to_pass,
        edits={who: [Edit(edited(diff), diff)] for who, diff in told.patches.items()},
    )


def edited(diff: str) -> str:
    """The path that a diff of one file is for.

    Raises:
        InputError: it names none.
    """
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            return line.removeprefix("+++ b/")
    raise InputError("A patch names no file: a line '+++ b/PATH' is missing.", op="repairs.load")


def files_below(folder: Path) -> Iterator[Path]:
    """Every file of a folder, caches left out, as paths in it."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(folder)


def _wanted(name: str, only: Sequence[str]) -> bool:
    return not only or name.startswith(tuple(only))
