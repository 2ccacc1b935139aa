"""Any noun with every field filled in, made from its annotations alone, the same each time."""

from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Gt
from pydantic import BaseModel, SecretStr

from checkrein.contracts.approval import Said
from checkrein.contracts.attempt import Attempt
from checkrein.contracts.budget import Money
from checkrein.contracts.check import (
    ArtifactSpec,
    FileStateSpec,
    HttpStateSpec,
    ModelJudgeSpec,
    TextMatchSpec,
)
from checkrein.contracts.decision import DecisionOutput, Verdict
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.contracts.environment import EnvironmentSpec
from checkrein.contracts.event import EffectRefused, EffectUnknown
from checkrein.contracts.mcp import McpPin, McpReviewed, McpServer
from checkrein.contracts.permission import Bound, Reach, Scope
from checkrein.contracts.task import CommitAct, TaskContract
from checkrein.ports.capability import Permit
from checkrein.ports.command_runner import Confinement
from checkrein.ports.verifier import Examination

Noun = TypeVar("Noun", bound=BaseModel)

TEXT = "x1"
"""Fits every pattern of a name or a code."""

# What the annotations cannot say: fields that go together.
FIXED: dict[type[BaseModel], dict[str, Any]] = {
    Attempt: {"purpose": "commit"},
    TaskContract: {"commit": CommitAct(capability="final.act", args={"text": TEXT})},
    ArtifactSpec: {"media_type": "text/plain"},
    EnvironmentSpec: {"on_missing": "ask", "tools": {"git": ">=2.30"}, "packages": {"pytest": "9"}},
    FileStateSpec: {"sha256": "0" * 64},
    HttpStateSpec: {"url": "http://127.0.0.1/", "status": 200},
    ModelJudgeSpec: {"sample": 0.5},
    TextMatchSpec: {"contains": None, "matches": None},
    McpPin: {"digest": f"sha256:{'0' * 64}"},
    McpReviewed: {"reached": f"sha256:{'0' * 64}"},
    McpServer: {"env": {"KEY": TEXT}, "url": None, "headers": {}},
    Money: {"currency": "EUR"},
    Bound: {"at_least": 1, "at_most": 2, "one_of": None, "below": None},
    Reach: {"scope": Scope.CLASS},
    # Values of secrets are in no JSON, on purpose.
    Permit: {"secrets": {}},
    Confinement: {"secrets": {}},
    Examination: {"secrets": {}},
    Said: {"args": None},
    DecisionOutput: {"decision": Verdict.REQUIRE_APPROVAL},
    EffectRefused: {"outcome": Outcome(status=EffectStatus.REFUSED, error_type=TEXT)},
    EffectUnknown: {"outcome": Outcome(status=EffectStatus.UNKNOWN_EFFECT, message=TEXT)},
}

PLAIN: dict[Any, Any] = {
    str: TEXT,
    bool: True,
    float: 1.5,
    bytes: b"raw",
    SecretStr: SecretStr(TEXT),
    datetime: datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    Path: Path("/somewhere/else"),
    Any: {"text": 'ä ￥12.5 "q"\n', "none": None, "list": [1, -2.5, True]},
}


def filled(noun: type[Noun]) -> Noun:
    """An instance whose optional fields are all there."""
    values = {
        name: _value(field.annotation, field.metadata) for name, field in noun.model_fields.items()
    }
    return noun.model_validate(values | FIXED.get(noun, {}))


def _value(annotation: Any, metadata: list[Any]) -> Any:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _value(args[0], [*metadata, *args[1:]])
    if annotation is int:
        return _least(metadata)
    if origin is Literal:
        return args[0]
    if origin in {Union, UnionType}:
        return _value(next(arg for arg in args if arg is not NoneType), metadata)
    if origin is list:
        return [_value(args[0], [])]
    if origin is frozenset:
        return frozenset([_value(args[0], [])])
    if origin is dict:
        return {_value(args[0], []): _value(args[1], [])}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return filled(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next(iter(annotation))
    return PLAIN[annotation]


def _least(metadata: list[Any]) -> int:
    """The least whole number, from 1 on, that the bounds let pass."""
    least = 1
    for bound in metadata:
        if isinstance(bound, Ge):
            least = max(least, int(bound.ge))  # type: ignore[call-overload]
        elif isinstance(bound, Gt):
            least = max(least, int(bound.gt) + 1)  # type: ignore[call-overload]
    return least
