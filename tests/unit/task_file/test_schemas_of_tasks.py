"""The published schema of task files: what an editor says of one is what the loader says."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import schemas
from jsonschema import Draft202012Validator
from project_files import ROOT

from checkrein.adapters.task_file import load_task
from checkrein.errors import InputError
from checkrein.file_schemas import file_name
from checkrein.strict_yaml import read_yaml

LINE = re.compile(r"# yaml-language-server: \$schema=(\S+)")
TASKS = sorted(
    file
    for file in (ROOT / "examples").glob("*/*.yaml")
    if re.search(r"^success:", file.read_text(encoding="utf-8"), re.MULTILINE)
)
GOOD = """\
version: 1
goal: g
risk: low
plan_mode: false
requested_by: alice
workspace: {path: ., mode: copy}
capabilities: [workspace.read]
budgets: {steps: 30, repairs: 2}
constraints: [{unchanged: [tests/**]}, prose]
approvals: {roles: {approver: [bob]}}
success:
  - command: {argv: [pytest], timeout_s: 60}
  - text_match: {file: a.txt, contains: x, ignoring: [case]}
"""


def fits(text_file: Path, name: str = "task") -> bool:
    """Whether a file follows a published schema, read as the loader reads it."""
    schema = json.loads((schemas.ROOT / schemas.FOLDER / file_name(name)).read_text("utf-8"))
    document = read_yaml(text_file, what="task file", op="test", max_bytes=1 << 20)
    validator: Any = Draft202012Validator(schema)
    return bool(validator.is_valid(document.value))


@pytest.mark.parametrize("file", TASKS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_example_names_its_schema_and_follows_it(file: Path) -> None:
    """Protects authors who start from an example: their editor knows it from the first line on."""
    found = LINE.fullmatch(file.read_text(encoding="utf-8").splitlines()[0])
    assert found is not None
    named = (file.parent / found[1]).resolve()
    assert named == schemas.ROOT / schemas.FOLDER / file_name("task")
    assert fits(file)
    load_task(file, {})


def test_examples_are_found() -> None:
    """Protects the test above from looking at nothing."""
    assert len(TASKS) >= 6


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("goal: g", "goal: g"),
        ("steps: 30", 'steps: "${STEPS:-30}"'),
        ("risk: low", "risk: ${RISK:-low}"),
        ("plan_mode: false", "plan_mode: ${PLAN:-false}"),
        ("alice", "${WHO:-alice}"),
        ("mode: copy", 'mode: "${MODE:-copy}"'),
        ("timeout_s: 60", 'timeout_s: "${SECONDS_LEFT:-60}"'),
        ("[bob]", '["${WHO:-bob}"]'),
        ("workspace.read", '"workspace.${WHAT:-read}"'),
        ("[case]", '["${HOW:-case}"]'),
    ],
)
def test_variables_stand_where_values_do(tmp_path: Path, old: str, new: str) -> None:
    """Protects authors from an editor that underlines what the loader takes."""
    file = tmp_path / "task.yaml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    assert fits(file)
    load_task(file, {})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("goal: g", "gaol: g"),
        ("goal: g\n", ""),
        ("goal: g", "goal: 7"),
        ("version: 1", "version: 2"),
        ("risk: low", "risk: none"),
        ("risk: low", "risk: ${risk"),
        ("steps: 30", "steps: 0"),
        ("steps: 30", 'steps: "30"'),
        ("steps: 30", "stepz: 30"),
        ("false", "no"),
        ("mode: copy", "mode: link"),
        ("[bob]", "bob"),
        ("[pytest]", "[]"),
        ("- command", "- comand"),
        ("unchanged", "unchangd"),
        ("success:", "include: base.yaml\nsuccess:"),
        ("success:", "include: [7]\nsuccess:"),
    ],
)
def test_what_the_loader_refuses_the_schema_refuses(tmp_path: Path, old: str, new: str) -> None:
    """Protects authors: what is wrong is underlined before anything runs."""
    file = tmp_path / "task.yaml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    assert not fits(file)
    with pytest.raises(InputError):
        load_task(file, {})


def test_a_part_of_a_task_may_leave_out_what_another_file_says(tmp_path: Path) -> None:
    """Protects teams: neither the base nor what builds on it is underlined for what it lacks."""
    base, task = tmp_path / "base.yaml", tmp_path / "task.yaml"
    base.write_text("success: [{command: {argv: [make]}}]\n")
    task.write_text("include: [base.yaml]\ngoal: g\n")
    assert fits(task) and fits(base, "task_base") and not fits(base)
    load_task(task, {})
    base.write_text("succes: []\n")
    assert not fits(base, "task_base")
