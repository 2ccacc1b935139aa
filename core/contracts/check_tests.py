"""Checks that run something of the candidate: commands, tests, scans."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from checkrein.contracts.check_base import (
    Argv,
    InWorkspace,
    Module,
    Seconds,
    Strength,
    TestId,
    Word,
)
from checkrein.contracts.codec import Frozen


class CommandSpec(Frozen):
    """A command that must exit 0, run in a copy of the workspace that the model cannot write to."""

    argv: Argv
    timeout_s: Seconds = 60


class CommandCheck(Frozen):
    """Success needs this command to exit 0."""

    strength: ClassVar[Strength] = Strength.TESTS
    command: CommandSpec


class NamedTests(Frozen):
    """Which tests count. Without any, all that ran must pass, and at least one must have run.

    Attributes:
        fail_to_pass: must pass now. That they failed before is the author's word.
        pass_to_pass: passed before and must still pass.
        hidden: a folder beside the task file, outside of the workspace, whose files are laid over
            the copy that is judged. No model ever sees them, their names or their output.
    """

    fail_to_pass: list[TestId] = Field(default_factory=list[TestId], max_length=10_000)
    pass_to_pass: list[TestId] = Field(default_factory=list[TestId], max_length=10_000)
    hidden: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    timeout_s: Seconds = 120


class PytestSpec(NamedTests):
    """Tests that pytest runs and reports; paths relative to the workspace, none means all.

    `plugins`: modules of pytest plugins to load, for example pytest_asyncio.plugin; no other is.
    """

    paths: list[InWorkspace] = Field(default_factory=list[InWorkspace], max_length=256)
    plugins: list[Module] = Field(default_factory=list[Module], max_length=32)


class PytestCheck(Frozen):
    """Success needs these tests to pass, read from pytest's own report and not from its words."""

    strength: ClassVar[Strength] = Strength.TESTS
    pytest: PytestSpec


class JunitSpec(NamedTests):
    """Any runner that writes a JUnit XML file at `report` when `argv` runs."""

    argv: Argv
    report: InWorkspace


class JunitCheck(Frozen):
    """Success needs the tests of a JUnit report to pass. The exit status must be 0 as well."""

    strength: ClassVar[Strength] = Strength.TESTS
    junit: JunitSpec


def hides_tests(checks: Sequence[object]) -> bool:
    """Whether any of them runs tests that no model may see."""
    return any(
        (isinstance(check, PytestCheck) and check.pytest.hidden is not None)
        or (isinstance(check, JunitCheck) and check.junit.hidden is not None)
        for check in checks
    )


class Level(StrEnum):
    """Levels of SARIF 2.1.0, least first."""

    NONE = "none"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class SarifSpec(Frozen):
    """A scan that writes SARIF 2.1.0 at `report`. Findings above `worst` fail.

    Attributes:
        allow: ids of rules whose findings a person has looked at.
        count_suppressed: a model can write a suppression into the code as well as a person, so
            that suppressed findings count unless this is false.
    """

    argv: Argv
    report: InWorkspace
    worst: Level = Level.NOTE
    allow: list[Word] = Field(default_factory=list[Word], max_length=1_000)
    count_suppressed: bool = True
    timeout_s: Seconds = 120


class SarifCheck(Frozen):
    """Success needs a scan without findings above a level."""

    strength: ClassVar[Strength] = Strength.TESTS
    sarif: SarifSpec
