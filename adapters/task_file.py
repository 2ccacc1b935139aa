"""Task files: from YAML on disk to a task contract with absolute paths, or one clear refusal."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from checkrein.adapters.schema_source import Unfit, check_closed, read_schema
from checkrein.adapters.source_form import Mapped, from_source_form, is_source_form
from checkrein.contracts.check import (
    ArtifactCheck,
    Check,
    JsonSchemaCheck,
    ModelJudgeCheck,
    kind_of,
)
from checkrein.contracts.codec import Frozen
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError
from checkrein.schema_faults import read_model
from checkrein.strict_yaml import YamlDocument, read_yaml

MAX_TASK_BYTES = 1024 * 1024
"""The largest task file that is read: 1 MiB."""

SCRIPTED = "scripted:"
"""Prefix of a model that answers from a script file."""

_OP = "task.load"
_ADVICE = {
    "goal": "say in a sentence or two what is to be achieved",
    "success": "list at least one verifier, for example - command: {argv: [python, -m, pytest]}",
    "success[].command": "write {argv: [program, argument, ...]}",
    "success[].command.argv": "name the program to run, for example [python, -m, pytest, -q]",
    "success[].command.argv[]": "arguments are text, one a list entry",
    "capabilities[]": "capabilities are named like workspace.read",
    "budgets.repairs": "0 means that nothing may be repaired",
    "workspace": "write {path: FOLDER, mode: copy}",
    "commit_authority": "name one person",
}


class LoadedTask(Frozen):
    """A task file as loaded.

    Attributes:
        contract: with absolute paths of workspace, policy and script.
        file: the task file, absolute.
        base: its folder, which relative paths in it start from.
        warnings: for people; nothing in them stops the task.
        mapping: where the file is written in the sources' short form, what each field became.
    """

    contract: TaskContract
    file: Path
    base: Path
    warnings: list[str]
    mapping: list[Mapped]


def load_task(path: Path) -> LoadedTask:
    """Load one task file. Reads it, and the schemas that its checks name; changes nothing.

    Raises:
        InputError: the file or what stands in it cannot be used. The message names file, line,
            column and field, says what is wrong with each and what to do.
    """
    document = read_yaml(path, what="task file", op=_OP, max_bytes=MAX_TASK_BYTES)
    document, mapping = _in_contract_form(document)
    contract = read_model(document, TaskContract, advice=_ADVICE)
    file = Path(os.path.abspath(path))
    return LoadedTask(
        contract=_absolute(document, contract, file.parent),
        file=file,
        base=file.parent,
        warnings=_warnings(document, contract),
        mapping=mapping,
    )


def _in_contract_form(document: YamlDocument) -> tuple[YamlDocument, list[Mapped]]:
    if not is_source_form(document.value):
        return document, []
    try:
        form = from_source_form(document.value)
    except InputError as error:
        path, _, problem = str(error).partition(": ")
        raise document.refusal(tuple(path.split(".")), problem) from error
    return dataclasses.replace(document, value=form.contract), form.mapping


def _absolute(document: YamlDocument, contract: TaskContract, base: Path) -> TaskContract:
    """The contract with every path joined to the task file's folder."""
    changed: dict[str, Any] = {}
    if contract.workspace is not None:
        path = os.path.abspath(base / contract.workspace.path)
        changed["workspace"] = contract.workspace.model_copy(update={"path": path})
    if contract.policy is not None and not contract.policy.startswith("opa:"):
        changed["policy"] = os.path.abspath(base / contract.policy)
    if contract.model is not None:
        changed["model"] = _model(document, ("model",), contract.model, base)
    checks = list(enumerate(contract.success))
    changed["success"] = [_with_paths(document, n, check, contract, base) for n, check in checks]
    return contract.model_copy(update=changed)


def _model(document: YamlDocument, place: tuple[str | int, ...], model: str, base: Path) -> str:
    """A model string, its script's path absolute."""
    if not model.startswith(SCRIPTED):
        return model
    script = model.removeprefix(SCRIPTED).strip()
    if not script:
        problem = "names no script; write scripted:FILE, for example scripted:decisions.yaml"
        raise document.refusal(place, problem)
    return SCRIPTED + os.path.abspath(base / script)


def _with_paths(
    document: YamlDocument, n: int, check: Check, contract: TaskContract, base: Path
) -> Check:
    """The check with every path that lies beside the task made absolute."""
    if isinstance(check, ModelJudgeCheck):
        place = ("success", n, "model_judge", "model")
        model = _model(document, place, check.model_judge.model, base)
        return ModelJudgeCheck(model_judge=check.model_judge.model_copy(update={"model": model}))
    return _with_schema(document, n, check, contract, base)


def _with_schema(
    document: YamlDocument, n: int, check: Check, contract: TaskContract, base: Path
) -> Check:
    """The check with its schema's path made absolute, once it is known that it can be used."""
    if isinstance(check, JsonSchemaCheck):
        against = check.json_schema.against
    elif isinstance(check, ArtifactCheck) and check.artifact.against is not None:
        against = check.artifact.against
    else:
        return check
    kind = kind_of(check)
    place = ("success", n, kind, "against")
    file = Path(os.path.abspath(base / against)) if isinstance(against, str) else None
    try:
        check_closed(against if isinstance(against, dict) else read_schema(Path(base, against)))
    except Unfit as error:
        raise document.refusal(place, f"{error}") from error
    if file is None:
        return check
    space = contract.workspace
    if space is not None and space.mode == "in_place":
        root = os.path.realpath(base / space.path)
        if os.path.realpath(file).startswith(f"{root}{os.sep}"):
            problem = "lies in the workspace, where a model may change it; put it beside the task"
            raise document.refusal(place, problem)
    spec = getattr(check, kind).model_copy(update={"against": str(file)})
    return check.model_copy(update={kind: spec})


def _warnings(document: YamlDocument, contract: TaskContract) -> list[str]:
    warnings = [
        document.line(
            ("constraints", n),
            "prose guides the model and is not enforced; enforced forms are "
            "{unchanged: [PATTERN, ...]} and {network: none}",
        )
        for n, item in enumerate(contract.constraints)
        if isinstance(item, str)
    ]
    if not contract.capabilities:
        warnings.append(
            document.line(
                ("capabilities",),
                "none are granted, so that the model can neither read nor act",
            )
        )
    return warnings
