"""A task that a person names to the server: a file that lies there."""

import os
from collections.abc import Mapping
from pathlib import Path

from checkrein.compose import load_task
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError
from checkrein.studio_people import Person

TASKS = "CHECKREIN_TASKS"
"""The folder that task files come from; unset, the folder that the server was started in."""

_OP = "studio.task"


def tasks_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder, absolute and without symlinks."""
    return Path(environ.get(TASKS) or ".").expanduser().resolve()


def read_task(given: str, folder: Path, person: Person) -> TaskContract:
    """The contract of a task file, requested by the person whatever the file says. It blocks.

    A task names the commands that the harness runs and the people who may approve. So it is a
    file that the owner of the server put there, never a text that comes from a client.

    Raises:
        InputError: it lies elsewhere, cannot be used, or belongs to another tenant.
    """
    contract = _of_file(given.strip(), folder)
    check_tenant(contract, person)
    return contract.model_copy(update={"requested_by": person.person})


def check_tenant(contract: TaskContract, person: Person) -> None:
    """Refuse the tasks of other tenants.

    Raises:
        InputError: other_tenant.
    """
    if contract.tenant != person.tenant:
        raise InputError(
            f"The task is for the tenant {contract.tenant}, and {person.person} is signed in for "
            f"{person.tenant}. Write `tenant: {person.tenant}`, or sign in there.",
            op=_OP,
            code="other_tenant",
        )


def _of_file(name: str, folder: Path) -> TaskContract:
    """A file below the folder: the owner of the server put it there, and may name any path."""
    if not name or "\0" in name or "\n" in name:
        raise InputError(f"Name a task file below {folder}.", op=_OP, code="no_task_file")
    file = _inside(folder / name, folder, "The task file")
    return load_task(file).contract


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
