"""What every kind of check is made of: its words, its bounds, and how much it proves."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

Word = Annotated[str, Field(min_length=1, max_length=4096)]
"""One argument of a command."""

Argv = Annotated[list[Word], Field(min_length=1, max_length=256)]

Seconds = Annotated[int, Field(gt=0, le=86_400, strict=True)]

Glob = Annotated[str, Field(min_length=1, max_length=512)]
"""A pattern of workspace paths; ** crosses folders."""

Globs = Annotated[list[Glob], Field(min_length=1, max_length=256)]

InWorkspace = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[^/\x00][^\x00]*$")]
"""A path of the workspace, relative, with forward slashes."""

TestId = Annotated[str, Field(min_length=1, max_length=2048)]
"""One test by its name, as the runner writes it: tests/test_a.py::test_b, or class.name."""

Module = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$", max_length=256)]
"""A module of Python that is installed beside Checkrein."""

SecretName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""The name of a secret of this installation; its value is in no contract."""

Scalar = str | int | float | bool | None


class Strength(StrEnum):
    """How much a kind of check proves; in order of what it can see.

    A guard only says that something bad did not happen. A judge is a model: for soft goals alone.
    What a model says of its own work is no check at all. (The order is that of the sources'
    levels: target state, executable tests, exact output, independent judge.)
    """

    GUARD = "guard"
    JUDGE = "judge"
    PERSON = "person"
    OUTPUT = "output"
    TESTS = "tests"
    STATE = "state"


STRENGTH_ORDER = tuple(Strength)
"""Weakest first."""
