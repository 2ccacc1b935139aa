"""Task files that build on others: what merges, what replaces, and whose fault a fault is."""

import os
from pathlib import Path

import pytest

from checkrein.adapters.task_file import load_task
from checkrein.adapters.task_includes import MAX_FILES, MAX_INCLUDE_DEPTH, MAX_TASK_BYTES
from checkrein.contracts.check import CommandCheck, JsonSchemaCheck
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError

TEAM = """\
requested_by: ${WHO:-alice}
policy: policy
model: scripted:decisions.yaml
capabilities: [workspace.read, workspace.list]
budgets: {steps: 10, repairs: 1}
approvals:
  roles: {approver: [bob], owner: [olga]}
success:
  - command: {argv: [make, test]}
"""
TASK = """\
include: [team/base.yaml]
goal: g
workspace: {path: work}
capabilities: [workspace.read]
budgets: {steps: 20}
approvals:
  roles: {approver: [carol]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "team").mkdir()
    return tmp_path


def written(folder: Path, **texts: str) -> Path:
    """Files by name, `__` for a slash; the path of the task."""
    for name, text in ({"team__base": TEAM, "task": TASK} | texts).items():
        file = folder / f"{name.replace('__', '/')}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder / "task.yaml"


def loaded(folder: Path, **texts: str) -> TaskContract:
    return load_task(written(folder, **texts), {}).contract


def refusal(folder: Path, **texts: str) -> InputError:
    file = written(folder, **texts)
    with pytest.raises(InputError) as caught:
        load_task(file, {})
    return caught.value


def told(folder: Path, **texts: str) -> str:
    """What a person reads; the folder's name is left out."""
    return str(refusal(folder, **texts)).replace(f"{folder}/", "")


def test_mappings_merge_and_lists_replace(folder: Path) -> None:
    """Protects what a team has agreed on: a task changes what it names, and nothing else."""
    contract = loaded(folder)
    assert (contract.budgets.steps, contract.budgets.repairs) == (20, 1)
    assert contract.capabilities == ["workspace.read"]
    assert contract.approvals.roles == {"approver": ["carol"], "owner": ["olga"]}
    assert contract.requested_by == "alice"
    (check,) = contract.success
    assert isinstance(check, CommandCheck)
    assert check.command.argv == ["make", "test"]


def test_a_path_starts_from_the_file_it_stands_in(folder: Path) -> None:
    """Protects a shared base: its policy is the one beside it, whoever includes it."""
    schema = "success: [{json_schema: {file: a.json, against: a.schema.json}}]\n"
    (folder / "team" / "a.schema.json").write_text('{"type": "object"}')
    contract = loaded(folder, team__base=TEAM.partition("success:")[0] + schema)
    assert contract.policy == str(folder / "team" / "policy")
    assert contract.model == f"scripted:{folder / 'team' / 'decisions.yaml'}"
    assert contract.workspace is not None
    assert contract.workspace.path == str(folder / "work")
    (check,) = contract.success
    assert isinstance(check, JsonSchemaCheck)
    assert check.json_schema.against == str(folder / "team" / "a.schema.json")


def test_later_ones_win_and_the_file_itself_is_last(folder: Path) -> None:
    """Protects the order: what stands further down is what counts."""
    task = "include: [a.yaml, b.yaml]\nsuccess: [{command: {argv: [make]}}]\nrequested_by: me\n"
    contract = loaded(
        folder,
        task=task,
        a="goal: of a\nrisk: high\nrequested_by: a\n",
        b="include: [c.yaml]\ngoal: of b\n",
        c="goal: of c\nrisk: medium\npolicy: null\n",
    )
    assert (contract.goal, contract.risk, contract.requested_by) == ("of b", "medium", "me")


def test_one_base_may_be_reached_by_two_ways(folder: Path) -> None:
    """Protects against taking for a circle what is none."""
    task = TASK.replace("[team/base.yaml]", "[a.yaml, b.yaml]")
    side = "include: [team/base.yaml]\n"
    assert loaded(folder, task=task, a=side, b=side).budgets.repairs == 1


def test_a_name_may_hold_a_variable(folder: Path) -> None:
    """Protects one task for several places."""
    task = TASK.replace("team/base.yaml", "'${TEAM:-team}/base.yaml'")
    assert loaded(folder, task=task).budgets.repairs == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps: 10, repairs: 1", "repairs: -1", "team/base.yaml:5:11: budgets.repairs: must be"),
        ("budgets: {", "budgets: {step: 1, ", "team/base.yaml:5:11: budgets.step: is no known"),
        ("[olga]", "olga", "team/base.yaml:7:28: approvals.roles.owner: must be a list"),
        ("policy: policy", "polcy: policy", "team/base.yaml:2:1: polcy: is no known field"),
        ("${WHO:-alice}", "${WHO}", "team/base.yaml:1:1: requested_by: the variable WHO is not"),
        ("requested_by:", "requested_by", "team/base.yaml:2:7: not valid YAML"),
        ("[make, test]", "[]", "team/base.yaml:9:15: success[0].command.argv: must not be empty"),
        ("scripted:decisions.yaml", "'scripted:'", "team/base.yaml:3:1: model: names no script"),
    ],
)
def test_a_fault_is_told_where_it_stands(folder: Path, old: str, new: str, message: str) -> None:
    """Protects authors: the line of the file that holds the faulty key, and not that of another."""
    error = refusal(folder, team__base=TEAM.replace(old, new))
    assert message in str(error).replace(f"{folder}/", "")
    assert error.context["file"] == str(folder / "team" / "base.yaml")


def test_what_the_task_replaces_is_the_tasks_fault(folder: Path) -> None:
    """Protects authors: a base that was right is not blamed, and what is replaced counts not."""
    assert "task.yaml:7:11: approvals.roles.approver: must be a list" in told(
        folder, task=TASK.replace("[carol]", "carol")
    )
    assert "task.yaml:5:11: budgets.steps" in told(folder, task=TASK.replace("20", "0"))
    assert loaded(folder, team__base=TEAM.replace("[bob]", "bob")).approvals.roles["approver"]
    without = TEAM.partition("success:")[0]
    assert "task.yaml:1:1: success: is missing" in told(folder, team__base=without)


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ("none.yaml", "task.yaml:1:1: include: must be a list of files"),
        ("[7]", "task.yaml:1:11: include[0]: must name a file"),
        ("['']", "include[0]: must name a file"),
        ("[none.yaml]", "task.yaml:1:11: include[0]: The included file none.yaml does not exist"),
        ("[team]", "include[0]: The included file team is a folder"),
        ("[pipe]", "include[0]: The included file pipe is no regular file"),
        ('["a\\0b"]', "task.yaml:1:11: include[0]: The included file"),
        ("[large.yaml]", "include[0]: The included file large.yaml is larger than 1,048,576"),
        ("[list.yaml]", "list.yaml:1:1: must be a mapping of fields"),
        ("[deep.yaml]", "deep.yaml:1:11: include[0]: The included file gone.yaml does not exist"),
    ],
)
def test_what_cannot_be_included_is_told(folder: Path, include: str, message: str) -> None:
    """Protects authors: which include it is, in which file."""
    os.mkfifo(folder / "pipe")
    (folder / "large.yaml").write_bytes(b"#" * (MAX_TASK_BYTES + 1))
    task = TASK.replace("[team/base.yaml]", include)
    said = told(folder, task=task, list="[1]", deep="include: [gone.yaml]\n")
    assert message in said
    assert said.count("include[0]") <= 1


def test_circles_are_refused_by_name(folder: Path) -> None:
    """Protects the loader: from a file that includes itself, by whatever way."""
    said = told(folder, task=TASK.replace("team/base.yaml", "./task.yaml"))
    assert said.startswith("task.yaml:1:11: include[0]: leads back to itself: task.yaml -> task")
    (folder / "link.yaml").symlink_to("task.yaml")
    said = told(folder, team__base="include: [../link.yaml]\n")
    assert "team/base.yaml:1:11: include[0]: leads back to itself" in said
    assert "task.yaml -> team/base.yaml -> task.yaml" in said


def test_depth_and_number_are_bounded(folder: Path) -> None:
    """Protects the loader: from files that include more and more."""
    deep = {f"d{n}": f"include: [d{n + 1}.yaml]\n" for n in range(MAX_INCLUDE_DEPTH)}
    task = TASK.replace("team/base.yaml", "d0.yaml")
    within = loaded(folder, task=task, **(deep | {f"d{MAX_INCLUDE_DEPTH - 1}": TEAM}))
    assert within.budgets.repairs == 1
    last = f"d{MAX_INCLUDE_DEPTH - 1}.yaml:1:11: include[0]: is included more than"
    assert last in told(folder, task=task, **deep)
    names = ", ".join(["a.yaml"] * MAX_FILES)
    many = TASK.replace("team/base.yaml", names)
    assert f"include[{MAX_FILES - 1}]: makes more than {MAX_FILES} files" in told(
        folder, task=many, a=TEAM
    )


def test_no_part_of_a_task_lies_where_a_model_may_change_it(folder: Path) -> None:
    """Protects the next run: a model that works in place could else write its own rights."""
    task = TASK.replace("{path: work}", "{path: team, mode: in_place}")
    assert "include[0]: lies in the workspace, where a model may change it" in told(
        folder, task=task
    )
    assert loaded(folder, task=TASK.replace("{path: work}", "{path: team}")).workspace is not None
