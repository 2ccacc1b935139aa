"""Checks: what proves a result, each in a form that code runs. A task lists them under `success`.

A check is written as its kind and what belongs to it, for example `- pytest: {paths: [tests]}`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, cast, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from checkrein.contracts.check_base import (
    STRENGTH_ORDER,
    Glob,
    Globs,
    InWorkspace,
    Scalar,
    Seconds,
    SecretName,
    Strength,
    Word,
)
from checkrein.contracts.check_tests import (
    CommandCheck,
    CommandSpec,
    JunitCheck,
    JunitSpec,
    Level,
    NamedTests,
    PytestCheck,
    PytestSpec,
    SarifCheck,
    SarifSpec,
)
from checkrein.contracts.codec import Frozen

__all__ = [
    "ArtifactCheck",
    "ArtifactSpec",
    "Check",
    "CommandCheck",
    "CommandSpec",
    "DiffWithinCheck",
    "DiffWithinSpec",
    "FileStateCheck",
    "FileStateSpec",
    "Glob",
    "HttpStateCheck",
    "HttpStateSpec",
    "HumanCheck",
    "HumanSpec",
    "JsonSchemaCheck",
    "JsonSchemaSpec",
    "JunitCheck",
    "JunitSpec",
    "KINDS",
    "Level",
    "ModelJudgeCheck",
    "ModelJudgeSpec",
    "NamedTests",
    "Normal",
    "PolicyObeyedCheck",
    "PolicyObeyedSpec",
    "PytestCheck",
    "PytestSpec",
    "STRENGTH_ORDER",
    "SarifCheck",
    "SarifSpec",
    "Scalar",
    "SecretName",
    "SqlStateCheck",
    "SqlStateSpec",
    "Strength",
    "TextMatchCheck",
    "TextMatchSpec",
    "UnchangedCheck",
    "kind_of",
    "same_model",
    "secrets_of",
]


class JsonSchemaSpec(Frozen):
    """A JSON file of the workspace that must be valid under a JSON Schema (2020-12).

    `against`: the schema itself, or a file beside the task file, which no model can change.
    """

    file: InWorkspace
    against: Annotated[str, Field(min_length=1, max_length=4096)] | dict[str, Any]


class JsonSchemaCheck(Frozen):
    """Success needs a file of this form."""

    strength: ClassVar[Strength] = Strength.OUTPUT
    json_schema: JsonSchemaSpec


class FileStateSpec(Frozen):
    """What a file of the workspace must be at the end."""

    path: InWorkspace
    exists: bool = True
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    equals: Annotated[str, Field(max_length=100_000)] | None = None
    contains: list[Word] = Field(default_factory=list[Word], max_length=64)
    lacks: list[Word] = Field(default_factory=list[Word], max_length=64)


class FileStateCheck(Frozen):
    """Success needs a file to be in this state."""

    strength: ClassVar[Strength] = Strength.STATE
    file_state: FileStateSpec


class SqlStateSpec(Frozen):
    """What a query of a database must answer; it runs in a transaction that can only read.

    Attributes:
        connection: the secret that holds the Postgres URL. Give it a role that may only read.
        rows: the whole answer, in order; `count` alone tells how many there must be.
    """

    connection: SecretName
    query: Annotated[str, Field(min_length=1, max_length=20_000)]
    rows: list[list[Scalar]] | None = Field(default=None, max_length=1_000)
    count: int | None = Field(default=None, ge=0, strict=True)
    timeout_s: Seconds = 30

    @model_validator(mode="after")
    def _says_something(self) -> "SqlStateSpec":
        if self.rows is None and self.count is None:
            raise ValueError("sql_state needs `rows` or `count`: what the query must answer")
        return self


class SqlStateCheck(Frozen):
    """Success needs a database to be in this state."""

    strength: ClassVar[Strength] = Strength.STATE
    sql_state: SqlStateSpec


class HttpStateSpec(Frozen):
    """What a GET of a service must answer.

    Attributes:
        fields: JSON Pointers (RFC 6901) into the answer, and the values that must stand there.
        bearer: the secret that is sent as bearer token, if any.
    """

    url: Annotated[str, Field(min_length=1, max_length=4096, pattern=r"^https?://")]
    status: int = Field(default=200, ge=100, le=599, strict=True)
    fields: dict[str, Scalar] = Field(default_factory=dict[str, Scalar], max_length=256)
    bearer: SecretName | None = None
    timeout_s: Seconds = 30


class HttpStateCheck(Frozen):
    """Success needs a service to be in this state."""

    strength: ClassVar[Strength] = Strength.STATE
    http_state: HttpStateSpec


class UnchangedCheck(Frozen):
    """Success needs these paths to be unchanged."""

    strength: ClassVar[Strength] = Strength.GUARD
    unchanged: Globs


class DiffWithinSpec(Frozen):
    """How far the changes may go. `lines`: added and removed together, of text files."""

    paths: Globs
    files: int | None = Field(default=None, ge=0, strict=True)
    lines: int | None = Field(default=None, ge=0, strict=True)


class DiffWithinCheck(Frozen):
    """Success needs every change to lie within these paths and bounds."""

    strength: ClassVar[Strength] = Strength.GUARD
    diff_within: DiffWithinSpec


class ArtifactSpec(Frozen):
    """A file that the task is to leave. `against` as in `json_schema`, for JSON."""

    path: InWorkspace
    media_type: Annotated[str, Field(pattern=r"^[a-z]+/[a-z0-9.+-]+$", max_length=128)]
    min_bytes: int = Field(default=1, ge=0, strict=True)
    max_bytes: int = Field(default=100_000_000, ge=1, le=10**10, strict=True)
    against: Annotated[str, Field(min_length=1, max_length=4096)] | dict[str, Any] | None = None


class ArtifactCheck(Frozen):
    """Success needs this artifact to be present and well formed."""

    strength: ClassVar[Strength] = Strength.OUTPUT
    artifact: ArtifactSpec


class PolicyObeyedSpec(Frozen):
    """Nothing to say."""


class PolicyObeyedCheck(Frozen):
    """Success needs every effect to have been allowed or approved. Always looked at besides."""

    strength: ClassVar[Strength] = Strength.GUARD
    policy_obeyed: PolicyObeyedSpec


class Normal(StrEnum):
    """What does not count when texts are compared: case, or how white space is written."""

    CASE = "case"
    SPACE = "space"


class TextMatchSpec(Frozen):
    """What a text file of the workspace must say. One of the three forms.

    `matches`: a regular expression of Python that must be found.
    """

    file: InWorkspace
    equals: Annotated[str, Field(max_length=100_000)] | None = None
    contains: Annotated[str, Field(min_length=1, max_length=100_000)] | None = None
    matches: Annotated[str, Field(min_length=1, max_length=2_000)] | None = None
    ignoring: list[Normal] = Field(default_factory=list[Normal], max_length=2)

    @model_validator(mode="after")
    def _one_form(self) -> "TextMatchSpec":
        if [self.equals, self.contains, self.matches].count(None) != 2:
            raise ValueError("text_match needs exactly one of `equals`, `contains`, `matches`")
        return self


class TextMatchCheck(Frozen):
    """Success needs exact or normalised output."""

    strength: ClassVar[Strength] = Strength.OUTPUT
    text_match: TextMatchSpec


class ModelJudgeSpec(Frozen):
    """Another model's opinion, for goals that nothing else can measure.

    Attributes:
        model: a LangChain model string; it must not be the model that did the work.
        rubric: what is to be judged, as questions that yes or no answers.
        files: patterns of what it is shown.
        sample: the share of its verdicts, 0 to 1, that a person is asked to look at.
    """

    model: Annotated[str, Field(min_length=1, max_length=512)]
    rubric: Annotated[str, Field(min_length=1, max_length=20_000)]
    files: Globs
    sample: float = Field(default=0.1, ge=0, le=1)


class ModelJudgeCheck(Frozen):
    """Success needs an independent model to agree."""

    strength: ClassVar[Strength] = Strength.JUDGE
    model_judge: ModelJudgeSpec


class HumanSpec(Frozen):
    """A person looks at the sealed candidate and says pass or fail. `role`: who may."""

    role: Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.@+-]+$")]
    question: Annotated[str, Field(min_length=1, max_length=4_000)]


class HumanCheck(Frozen):
    """Success needs a person of this role to say so."""

    strength: ClassVar[Strength] = Strength.PERSON
    human: HumanSpec


def kind_of(check: object) -> str:
    """The kind of a check, also of one that is still a mapping; what it is not is no kind."""
    if isinstance(check, Mapping):
        return next((str(key) for key in cast("Mapping[object, object]", check)), "")
    return next((kind for kind, form in KINDS.items() if isinstance(check, form)), "")


REPORTS_TESTS = frozenset({"command", "pytest", "junit"})
"""The kinds of checks that run tests and keep what those said: a test report. An opinion and the
log of a scan are none."""


def same_model(one: str, other: str) -> bool:
    """Whether two model strings name one model, with or without its provider."""
    if "scripted:" in (one[:9], other[:9]):
        return one == other
    return one.rpartition(":")[2].casefold() == other.rpartition(":")[2].casefold()


def secrets_of(check: object) -> list[str]:
    """The secrets that a check is lent: those that the person who wrote it named in it."""
    if isinstance(check, SqlStateCheck):
        return [check.sql_state.connection]
    if isinstance(check, HttpStateCheck) and check.http_state.bearer is not None:
        return [check.http_state.bearer]
    return []


def _tag(check: object) -> str:
    # Another word than the field's, so that a fault's place never takes one for the other.
    return f"{kind_of(check)} check"


Check = Annotated[
    Annotated[CommandCheck, Tag("command check")]
    | Annotated[PytestCheck, Tag("pytest check")]
    | Annotated[JunitCheck, Tag("junit check")]
    | Annotated[SarifCheck, Tag("sarif check")]
    | Annotated[JsonSchemaCheck, Tag("json_schema check")]
    | Annotated[FileStateCheck, Tag("file_state check")]
    | Annotated[SqlStateCheck, Tag("sql_state check")]
    | Annotated[HttpStateCheck, Tag("http_state check")]
    | Annotated[UnchangedCheck, Tag("unchanged check")]
    | Annotated[DiffWithinCheck, Tag("diff_within check")]
    | Annotated[ArtifactCheck, Tag("artifact check")]
    | Annotated[PolicyObeyedCheck, Tag("policy_obeyed check")]
    | Annotated[TextMatchCheck, Tag("text_match check")]
    | Annotated[ModelJudgeCheck, Tag("model_judge check")]
    | Annotated[HumanCheck, Tag("human check")],
    Discriminator(_tag),
]

_FORMS: list[type[Frozen]] = [get_args(tagged)[0] for tagged in get_args(get_args(Check)[0])]

KINDS: Mapping[str, type[Frozen]] = {next(iter(form.model_fields)): form for form in _FORMS}
"""Every kind of check, by the word that it is written with."""
