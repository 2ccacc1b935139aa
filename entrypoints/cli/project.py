"""init, and the task file that `run` takes where none is named."""

import asyncio
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import out, out_json, shown, warn
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import InputError

TASK_HERE = "checkrein.yaml"
"""The task file of a folder, as `checkrein init` writes it."""


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to; made if it is missing.")
    ] = Path(),
    json: Json = False,
) -> int:
    """Write a first task, rules and a scripted model that run as they are.

    Nothing is ever overwritten.
    """
    be_quiet()
    with Live("Checkrein to load"):
        from checkrein.starter_project import start_project

        started = asyncio.run(start_project(folder, words.myself()))
    here = os.path.abspath(folder) == os.getcwd()
    steps = ["checkrein run"] if here else [f"cd {shlex.quote(str(folder))}", "checkrein run"]
    if json:
        found = [str(path) for path in started.files]
        out_json({"task": str(started.task), "files": found, "next": [" && ".join(steps)]})
        return Exit.DONE
    for path in started.files:
        out(shown(path))
    if started.pytest:
        out("The tests of this folder are among the checks: pytest.")
    out(f"next: {' && '.join(steps)}")
    return Exit.DONE


def task_here() -> Path:
    """The task file of this folder, told aloud since nobody named it."""
    task = Path(TASK_HERE)
    if not task.is_file():
        raise InputError(
            f"No task file is named, and there is no {TASK_HERE} in this folder. Name one, or let "
            "`checkrein init` write a first one.",
            op="cli.run",
            code="usage",
        )
    warn(f"the task file is {task}, in this folder", "note")
    return task
