"""Paths in a task file: relative to its folder, and absolute in the contract."""

import os
from pathlib import Path

from checkrein.adapters.schema_source import Unfit, check_closed, read_schema
from checkrein.contracts.check import (
    ArtifactCheck,
    Check,
    JsonSchemaCheck,
    JunitCheck,
    ModelJudgeCheck,
    NamedTests,
    PytestCheck,
    kind_of,
)
from checkrein.contracts.task import TaskContract, WorkspaceSpec
from checkrein.yaml_document import DataPath, YamlDocument

SCRIPTED = "scripted:"
"""Prefix of a model that answers from a script file."""


def absolute(document: YamlDocument, place: DataPath, path: str) -> str:
    """A path that stands in a task file, from the folder of the very file that it stands in."""
    return os.path.abspath(document.folder_of(place) / path)


def absolute_model(document: YamlDocument, place: DataPath, model: str) -> str:
    """A model string, its script's path absolute.

    Raises:
        InputError: it names no script.
    """
    if not model.startswith(SCRIPTED):
        return model
    script = model.removeprefix(SCRIPTED).strip()
    if not script:
        problem = "names no script; write scripted:FILE, for example scripted:decisions.yaml"
        raise document.refusal(place, problem)
    return SCRIPTED + absolute(document, place, script)


def absolute_check(document: YamlDocument, n: int, check: Check, contract: TaskContract) -> Check:
    """Check `n` of the task with every path that lies beside the task made absolute.

    Raises:
        InputError: what it names is not there, cannot be used, or is in a model's reach.
    """
    if isinstance(check, ModelJudgeCheck):
        place = ("success", n, "model_judge", "model")
        model = absolute_model(document, place, check.model_judge.model)
        return ModelJudgeCheck(model_judge=check.model_judge.model_copy(update={"model": model}))
    if tests_of(check) is not None:
        return _with_hidden(document, n, check, contract.workspace)
    return _with_schema(document, n, check, contract)


def tests_of(check: Check) -> NamedTests | None:
    """The tests of a check that runs any that can be named."""
    if isinstance(check, PytestCheck):
        return check.pytest
    return check.junit if isinstance(check, JunitCheck) else None


def _with_hidden(
    document: YamlDocument, n: int, check: Check, workspace: WorkspaceSpec | None
) -> Check:
    """The check with its hidden tests where they are, which must be out of the model's reach."""
    kind, spec = kind_of(check), tests_of(check)
    if spec is None or spec.hidden is None:
        return check
    where = ("success", n, kind, "hidden")
    folder = Path(absolute(document, where, spec.hidden))
    if not folder.is_dir():
        raise document.refusal(where, "is no folder; name the folder that holds the hidden tests")
    if workspace is not None:
        work, real = _root(document, workspace).resolve(), folder.resolve()
        if real.is_relative_to(work) or work.is_relative_to(real):
            problem = "and the workspace lie one in the other, so that the model could read them"
            raise document.refusal(where, f"{problem}; put the hidden tests elsewhere")
    return check.model_copy(update={kind: spec.model_copy(update={"hidden": str(folder)})})


def in_place_root(document: YamlDocument, space: WorkspaceSpec | None) -> Path | None:
    """The folder that a model changes where it is: what judges its work must not lie in there."""
    if space is None or space.mode != "in_place":
        return None
    return _root(document, space).resolve()


def _root(document: YamlDocument, space: WorkspaceSpec) -> Path:
    return document.folder_of(("workspace", "path")) / space.path


def _with_schema(document: YamlDocument, n: int, check: Check, contract: TaskContract) -> Check:
    """The check with its schema's path made absolute, once it is known that it can be used."""
    if isinstance(check, JsonSchemaCheck):
        against = check.json_schema.against
    elif isinstance(check, ArtifactCheck) and check.artifact.against is not None:
        against = check.artifact.against
    else:
        return check
    kind = kind_of(check)
    place = ("success", n, kind, "against")
    file = Path(absolute(document, place, against)) if isinstance(against, str) else None
    try:
        check_closed(against if isinstance(against, dict) else read_schema(Path(file or "")))
    except Unfit as error:
        raise document.refusal(place, f"{error}") from error
    if file is None:
        return check
    root = in_place_root(document, contract.workspace)
    if root is not None and file.resolve().is_relative_to(root):
        problem = "lies in the workspace, where a model may change it; put it beside the task"
        raise document.refusal(place, problem)
    spec = getattr(check, kind).model_copy(update={"against": str(file)})
    return check.model_copy(update={kind: spec})
