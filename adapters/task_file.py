"""Task files: from YAML on disk to a task contract with absolute paths, or one clear refusal."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checkrein.adapters.mcp_lock import LOCK, read_lock
from checkrein.adapters.source_form import Mapped, from_source_form, is_source_form
from checkrein.adapters.task_includes import Inclusion, TaskFiles
from checkrein.adapters.task_paths import (
    absolute,
    absolute_check,
    absolute_model,
    in_place_root,
    tests_of,
)
from checkrein.adapters.task_variables import as_wanted
from checkrein.contracts.budget import BudgetLimits, Money, SharedLimits
from checkrein.contracts.check import Check
from checkrein.contracts.codec import Frozen
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError
from checkrein.schema_faults import read_model
from checkrein.yaml_document import DataPath, YamlDocument

_OP = "task.load"
_ADVICE = {
    "goal": "say in a sentence or two what is to be achieved",
    "success": "list at least one verifier, for example - command: {argv: [python, -m, pytest]}",
    "success[].command": "write {argv: [program, argument, ...]}",
    "success[].command.argv": "name the program to run, for example [python, -m, pytest, -q]",
    "success[].command.argv[]": "arguments are text, one a list entry",
    "capabilities[]": "capabilities are named like workspace.read",
    "budgets.money": "write {limit: 500, currency: EUR, input_per_million: 300, "
    "output_per_million: 1500}, in minor units (cents)",
    "budgets.repairs": "0 means that nothing may be repaired",
    "workspace": "write {path: FOLDER, mode: copy}",
    "commit_authority": "name one person, or a role of approvals.roles",
    "mcp.*": "write {command: PROGRAM, args: [...], tools: {NAME: {effect: read}}}, or url: in "
    "place of command and args",
    "environment.image": "pin it by its digest, NAME@sha256:...",
    "environment.tools.*": "write a least version, for example git: '>=2.30'",
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


def load_task(path: Path, environ: Mapping[str, str] = os.environ) -> LoadedTask:
    """Load one task file. Reads it, the schemas that its checks name, and mcp.lock.json.

    Changes nothing.

    Args:
        environ: the variables that its texts may name.

    Raises:
        InputError: the file or what stands in it cannot be used. The message names file, line,
            column and field, says what is wrong with each and what to do.
    """
    reading = TaskFiles(environ, _OP)
    document, mapping = _in_contract_form(reading.read(path))
    document = as_wanted(document, TaskContract)
    contract = read_model(document, TaskContract, advice=_ADVICE)
    _check_included(document, contract, reading.included)
    file = Path(os.path.abspath(path))
    return LoadedTask(
        contract=_reviewed(document, _absolute(document, contract), file.parent / LOCK),
        file=file,
        base=file.parent,
        warnings=_warnings(document, contract),
        mapping=mapping,
    )


def _in_contract_form(document: YamlDocument) -> tuple[YamlDocument, list[Mapped]]:
    if not is_source_form(document.value):
        return document, []
    evaluator: DataPath = ("success", "evaluator")
    if evaluator in document.filled:
        # Split into words, a value would be more than the one text that it is.
        problem = "takes no variable; write success: [{command: {argv: [program, argument]}}]"
        raise document.refusal(evaluator, problem)
    try:
        form = from_source_form(document.value)
    except InputError as error:
        path, _, problem = str(error).partition(": ")
        raise document.refusal(tuple(path.split(".")), problem) from error
    return dataclasses.replace(document, value=form.contract), form.mapping


def _check_included(
    document: YamlDocument, contract: TaskContract, included: list[Inclusion]
) -> None:
    """Refuse a file of the task that lies where a model may change it."""
    root = in_place_root(document, contract.workspace)
    for by, place, file in included:
        if root is not None and file.is_relative_to(root):
            problem = "lies in the workspace, where a model may change it; put it elsewhere"
            raise by.refusal(place, problem)


def _absolute(document: YamlDocument, contract: TaskContract) -> TaskContract:
    """The contract with every path joined to the folder of the file that it stands in."""
    changed: dict[str, Any] = {}
    if contract.workspace is not None:
        path = absolute(document, ("workspace", "path"), contract.workspace.path)
        changed["workspace"] = contract.workspace.model_copy(update={"path": path})
    if contract.environment is not None:
        mounts = [
            mount.model_copy(
                update={
                    "path": absolute(document, ("environment", "mounts", n, "path"), mount.path)
                }
            )
            for n, mount in enumerate(contract.environment.mounts)
        ]
        changed["environment"] = contract.environment.model_copy(update={"mounts": mounts})
    if contract.policy is not None and not contract.policy.startswith("opa:"):
        changed["policy"] = absolute(document, ("policy",), contract.policy)
    for field in ("model", "fallback_model", "reviewer"):
        named: str | None = getattr(contract, field)
        if named is not None:
            changed[field] = absolute_model(document, (field,), named)
    pools: dict[str, BudgetLimits | SharedLimits | None] = {
        "budgets": contract.budgets,
        "shared_budgets": contract.shared_budgets,
    }
    for field, limits in pools.items():
        if limits is not None and limits.money is not None:
            money = _absolute_prices(document, field, limits.money)
            changed[field] = limits.model_copy(update={"money": money})
    checks = list(enumerate(contract.success))
    changed["success"] = [absolute_check(document, n, check, contract) for n, check in checks]
    return contract.model_copy(update=changed)


def _reviewed(document: YamlDocument, contract: TaskContract, lock: Path) -> TaskContract:
    """The contract with what people reviewed of its MCP servers, by the lock beside the task."""
    if not contract.mcp:
        return contract
    reviewed = read_lock(lock)
    servers = {
        name: server.model_copy(
            update={
                "reviewed": reviewed.get(name),
                "folder": absolute(document, ("mcp", name), "."),
            }
        )
        for name, server in contract.mcp.items()
    }
    return contract.model_copy(update={"mcp": servers})


def _absolute_prices(document: YamlDocument, field: str, money: Money) -> Money:
    """Prices that name models as the contract does, the path of a script absolute."""
    models = {
        absolute_model(document, (field, "money", "models", name), name): price
        for name, price in money.models.items()
    }
    return money.model_copy(update={"models": models})


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
    spec = tests_of(check)
    if spec is None:
        return False
    return not (spec.fail_to_pass or spec.pass_to_pass or spec.hidden or contract.protected)
