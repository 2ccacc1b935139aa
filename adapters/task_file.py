"""Task files: from YAML on disk to a task contract with absolute paths, or one clear refusal."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from checkrein.adapters.source_form import Mapped, from_source_form, is_source_form
from checkrein.contracts.check import Check, JunitCheck, NamedTests, PytestCheck, kind_of
from checkrein.contracts.codec import Frozen
from checkrein.contracts.task import TaskContract, WorkspaceSpec
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
    """Load one task file. Reads this file and nothing else; changes nothing.

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
    if contract.model is not None and contract.model.startswith(SCRIPTED):
        script = contract.model.removeprefix(SCRIPTED).strip()
        if not script:
            problem = "names no script; write scripted:FILE, for example scripted:decisions.yaml"
            raise document.refusal(("model",), problem)
        changed["model"] = SCRIPTED + os.path.abspath(base / script)
    changed["success"] = [
        _with_hidden(document, n, check, base, contract.workspace)
        for n, check in enumerate(contract.success)
    ]
    return contract.model_copy(update=changed)


def _with_hidden(
    document: YamlDocument, n: int, check: Check, base: Path, workspace: WorkspaceSpec | None
) -> Check:
    """The check with its hidden tests where they are, which must be out of the model's reach."""
    kind, spec = kind_of(check), _tests_of(check)
    if spec is None or spec.hidden is None:
        return check
    folder = Path(os.path.abspath(base / spec.hidden))
    where = ("success", n, kind, "hidden")
    if not folder.is_dir():
        raise document.refusal(where, "is no folder; name the folder that holds the hidden tests")
    if workspace is not None:
        work, real = (base / workspace.path).resolve(), folder.resolve()
        if real.is_relative_to(work) or work.is_relative_to(real):
            problem = "and the workspace lie one in the other, so that the model could read them"
            raise document.refusal(where, f"{problem}; put the hidden tests elsewhere")
    return check.model_copy(update={kind: spec.model_copy(update={"hidden": str(folder)})})


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
    warnings += [
        document.line(
            ("success", n),
            "no test is named or hidden and nothing is protected, so that the model can change "
            "the tests that judge it; add fail_to_pass, or - unchanged: [tests/**]",
        )
        for n, check in enumerate(contract.success)
        if _judges_itself(contract, check)
    ]
    if not contract.capabilities:
        warnings.append(
            document.line(
                ("capabilities",),
                "none are granted, so that the model can neither read nor act",
            )
        )
    return warnings


def _judges_itself(contract: TaskContract, check: Check) -> bool:
    """Whether nothing says that the tests of a check are the author's."""
    spec = _tests_of(check)
    if spec is None:
        return False
    return not (spec.fail_to_pass or spec.pass_to_pass or spec.hidden or contract.protected)


def _tests_of(check: Check) -> NamedTests | None:
    """The tests of a check that runs any that can be named."""
    if isinstance(check, PytestCheck):
        return check.pytest
    return check.junit if isinstance(check, JunitCheck) else None
