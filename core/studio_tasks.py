"""A task that a person hands to the server: a file that lies there, or the YAML text itself."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checkrein.compose import load_task
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError
from checkrein.studio_people import Person

TASKS = "CHECKREIN_TASKS"
"""The folder that task files come from; unset, the folder that the server was started in."""

_OP = "studio.task"
_SCRIPTED = "scripted:"


def tasks_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder, absolute and without symlinks."""
    return Path(environ.get(TASKS) or ".").expanduser().resolve()


def read_task(given: str, folder: Path, person: Person) -> TaskContract:
    """The contract of a task, requested by the person whatever the file says. It blocks.

    Raises:
        InputError: it lies elsewhere, cannot be used, or belongs to another tenant.
    """
    text = given.strip()
    is_text = "\n" in text or text.startswith("{")
    contract = _of_text(given, folder) if is_text else _of_file(text, folder)
    if contract.tenant != person.tenant:
        raise InputError(
            f"The task is for the tenant {contract.tenant}, and {person.person} is signed in for "
            f"{person.tenant}. Write `tenant: {person.tenant}`, or sign in there.",
            op=_OP,
            code="other_tenant",
        )
    return contract.model_copy(update={"requested_by": person.person})


def _of_file(name: str, folder: Path) -> TaskContract:
    """A file below the folder: the owner of the server put it there, and may name any path."""
    if not name or "\0" in name:
        raise InputError("Name a task file, or give the task's YAML text.", op=_OP)
    file = _inside(folder / name, folder, "The task file")
    return load_task(file).contract


def _of_text(text: str, folder: Path) -> TaskContract:
    """A text: the person wrote it, so that every path in it must stay below the folder."""
    with tempfile.TemporaryDirectory(prefix="checkrein-task-") as made:
        file = Path(made).resolve() / "task.yaml"
        file.write_text(text, encoding="utf-8", errors="strict")
        try:
            contract = load_task(file).contract
        except InputError as error:
            message = str(error).replace(str(file), "task")
            raise InputError(message, op=error.op, code=error.code) from error
        return contract.model_copy(update=_moved(contract, file.parent, folder))


def _moved(contract: TaskContract, from_: Path, to: Path) -> dict[str, Any]:
    """The paths of a contract, as if its file had lain in another folder."""

    def moved(path: str, what: str) -> str:
        given = Path(path)
        there = to / given.relative_to(from_) if given.is_relative_to(from_) else given
        return str(_inside(there, to, what))

    changed: dict[str, Any] = {}
    if contract.workspace is not None:
        path = moved(contract.workspace.path, "The workspace")
        changed["workspace"] = contract.workspace.model_copy(update={"path": path})
    if contract.policy is not None:
        changed["policy"] = moved(contract.policy, "The policy")
    if contract.model is not None and contract.model.startswith(_SCRIPTED):
        script = moved(contract.model.removeprefix(_SCRIPTED), "The model's script")
        changed["model"] = _SCRIPTED + script
    return changed


def _inside(path: Path, folder: Path, what: str) -> Path:
    """The path without symlinks; it must lie below the folder."""
    resolved = path.resolve()
    if not resolved.is_relative_to(folder):
        raise InputError(
            f"{what} must lie below {folder}, the folder that {TASKS} names; {path} does not.",
            op=_OP,
            code="outside_tasks",
        )
    return resolved
