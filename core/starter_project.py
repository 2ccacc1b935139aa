"""A first project: a task file, rules and a scripted model that run as they are."""

import asyncio
import json
import os
import re
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import NoReturn

from checkrein.contracts.codec import Frozen
from checkrein.errors import InputError
from checkrein.file_schemas import file_name, schema_text, task_schemas
from checkrein.policy_rego.starter import write_starter
from checkrein.testing.scripted_model import Script

TASK_FILE = "checkrein.yaml"
"""The task file that `checkrein run` takes where none is named."""

FOLDER = ".checkrein"
"""What belongs to the task file: rules, script and schemas."""

_OP = "project.init"
_TEST_FOLDERS = ("tests", "test")
_TEST_FILE = re.compile(r"(test_.*|.*_test)\.py")
_NOT_OURS = frozenset({"node_modules", "site-packages", "build", "dist"})
_MAX_LOOKED_AT = 20_000
# Names that YAML reads as text without quotes.
_PLAIN = re.compile(r"(?!(?:true|false|null)$)[a-z_][a-z0-9_.-]*", re.IGNORECASE)


class Started(Frozen):
    """What was written, and whether the folder's tests are among the checks."""

    task: Path
    files: list[Path]
    pytest: bool


async def start_project(folder: Path, person: str) -> Started:
    """Write a first task with all that it needs into a folder, which is made where it is missing.

    Args:
        person: asks for the task, and approves what it does.

    Raises:
        InputError: something is in the way (in_the_way), or the folder cannot be written
            (folder_unusable). Nothing was written then.
    """
    return await asyncio.to_thread(_start, folder, person)


def _start(folder: Path, person: str) -> Started:
    _refuse_what_is_there(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        runs_pytest = _has_tests(folder)
        # Filled under another name and then renamed, so that nothing is ever there by half.
        partial = Path(tempfile.mkdtemp(prefix=".checkrein-", dir=folder))
        try:
            _fill(partial, folder, person, runs_pytest)
            _put_in_place(partial, folder)
        finally:
            shutil.rmtree(partial)
    except OSError as error:
        raise InputError(
            f"The project cannot be written into {folder}: {error.strerror} ({error.filename}). "
            "Name a folder that can be written to.",
            op=_OP,
            code="folder_unusable",
            context={"path": str(folder)},
        ) from error
    below = [path for path in sorted((folder / FOLDER).rglob("*")) if path.is_file()]
    task = folder / TASK_FILE
    return Started(task=task, files=[task, *below], pytest=runs_pytest)


def _refuse_what_is_there(folder: Path) -> None:
    # lexists, since a link that leads nowhere is in the way as well.
    there = [name for name in (TASK_FILE, FOLDER) if os.path.lexists(folder / name)]
    if there:
        _refuse_in_the_way(folder, there)


def _refuse_in_the_way(folder: Path, names: list[str]) -> NoReturn:
    paths = [str(folder / name) for name in names]
    verb = "is" if len(paths) == 1 else "are"
    raise InputError(
        f"{' and '.join(paths)} {verb} there already, and nothing is ever overwritten. "
        "Move that away, or name another folder. Nothing was written.",
        op=_OP,
        code="in_the_way",
        context={"paths": paths},
    )


def _fill(partial: Path, folder: Path, person: str, runs_pytest: bool) -> None:
    """Write all files under a folder of another name."""
    own = partial / FOLDER
    own.mkdir()
    write_starter(own / "policy")
    names = {
        "file": _free_name(folder),
        "person": person if _PLAIN.fullmatch(person) else json.dumps(person),
        "unchanged": ", ".join(_unchanged(folder, runs_pytest)),
        "checks": _template("pytest.yaml") if runs_pytest else "",
    }
    texts = {
        partial / TASK_FILE: _filled("checkrein.yaml", names),
        own / "decisions.yaml": _filled("decisions.yaml", names),
        own / file_name("task"): task_schemas()[file_name("task")],
        own / file_name("script"): schema_text("script", Script),
    }
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")


def _put_in_place(partial: Path, folder: Path) -> None:
    """Give both their names; whoever made one of them meanwhile keeps theirs."""
    own, task = folder / FOLDER, folder / TASK_FILE
    try:
        # Made first, since a rename would replace an empty folder of theirs without a word.
        own.mkdir()
    except FileExistsError:
        _refuse_in_the_way(folder, [FOLDER])
    try:
        os.rename(partial / FOLDER, own)
        _write_new(task, (partial / TASK_FILE).read_text(encoding="utf-8"))
    except OSError as error:
        shutil.rmtree(own)
        if isinstance(error, FileExistsError):
            _refuse_in_the_way(folder, [TASK_FILE])
        raise


def _write_new(file: Path, text: str) -> None:
    """Write a file that is not there yet, whole or not at all."""
    with file.open("x", encoding="utf-8") as stream:
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            file.unlink()
            raise


def _free_name(folder: Path) -> str:
    """A name for the file that the first task writes, which the project does not have."""
    names = ("hello.txt", *(f"hello-{n}.txt" for n in range(2, 100)))
    return next((name for name in names if not os.path.lexists(folder / name)), names[0])


def _unchanged(folder: Path, runs_pytest: bool) -> list[str]:
    """Patterns of what judges the work, in the quotes that YAML wants around a star."""
    found = [TASK_FILE, f"{FOLDER}/**"]
    if runs_pytest:
        found += [f"{name}/**" for name in _TEST_FOLDERS if (folder / name).is_dir()]
        found += ["'**/test_*.py'", "'**/*_test.py'", "'**/conftest.py'"]
    return found


def _has_tests(folder: Path) -> bool:
    """Whether there is a file that pytest takes for tests, as far as one looks."""
    looked_at = 0
    for place, folders, names in os.walk(folder):
        if any(map(_TEST_FILE.fullmatch, names)):
            return True
        looked_at += len(names) + len(folders)
        if looked_at > _MAX_LOOKED_AT:
            return False
        # Environments and what was installed or built hold tests of others.
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and name not in _NOT_OURS
            and not (Path(place) / name / "pyvenv.cfg").exists()
        ]
    return False


def _filled(template: str, names: dict[str, str]) -> str:
    text = _template(template)
    for name, value in names.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def _template(name: str) -> str:
    return (files("checkrein") / "starter" / name).read_text(encoding="utf-8")
