"""Task files: what a good one means, and that every bad one gets one clear refusal."""

import os
from pathlib import Path

import pytest

from checkrein.adapters.task_file import load_task
from checkrein.adapters.task_includes import MAX_TASK_BYTES
from checkrein.contracts.check import CommandCheck
from checkrein.contracts.task import NetworkConstraint, UnchangedConstraint
from checkrein.errors import InputError

GOOD = """\
version: 1
goal: Make parse_price() accept plain decimals and amounts like "￥12.5"; keep the rest.
tenant: local
requested_by: alice
risk: low
model: scripted:decisions.yaml
workspace: {path: workspace, mode: copy}
policy: policy
capabilities: [workspace.read, workspace.list, workspace.apply_patch]
constraints:
  - Keep the style of the code.
  - unchanged: [tests/**]
  - network: none
budgets: {steps: 30, model_tokens: 120000, wall_time_s: 900, tool_calls: 60, repairs: 2}
approvals: {roles: {approver: [bob, carol]}, separation_of_duty: false}
success:
  - command: {argv: [python, -m, pytest, -q], timeout_s: 60}
artifacts: [diff, test_report]
commit_authority: bob
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "task.yaml"


def refusal(file: Path, text: str) -> str:
    """What a person reads about a task file; the folder's name is left out."""
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_task(file)
    assert caught.value.op == "task.load"
    return str(caught.value).replace(str(file), "task.yaml")


@pytest.mark.shows(21)
def test_good_file_becomes_a_contract_that_code_can_enforce(file: Path) -> None:
    file.write_text(GOOD, encoding="utf-8")
    contract = load_task(file).contract
    assert contract.budgets.model_dump(exclude_none=True) == {
        "steps": 30,
        "model_tokens": 120_000,
        "wall_time_s": 900,
        "tool_calls": 60,
        "repairs": 2,
    }
    assert contract.constraints[1:] == [
        UnchangedConstraint(unchanged=["tests/**"]),
        NetworkConstraint(network="none"),
    ]
    assert contract.offline
    assert contract.protected == ["tests/**"]
    (check,) = contract.success
    assert isinstance(check, CommandCheck)
    assert check.command.argv == ["python", "-m", "pytest", "-q"]


def test_paths_start_from_the_files_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(GOOD, encoding="utf-8")
    monkeypatch.chdir(file.parent.parent)
    loaded = load_task(Path(file.parent.name) / "task.yaml")
    folder = file.parent
    assert loaded.base == folder
    assert loaded.file == file
    assert loaded.contract.workspace is not None
    assert loaded.contract.workspace.path == str(folder / "workspace")
    assert loaded.contract.policy == str(folder / "policy")
    assert loaded.contract.model == f"scripted:{folder / 'decisions.yaml'}"


def test_workspace_may_be_named_elsewhere(file: Path) -> None:
    file.write_text(GOOD.replace("workspace: {", "# workspace: {"), encoding="utf-8")
    assert load_task(file).contract.workspace is None


def test_other_models_are_left_as_they_are(file: Path) -> None:
    file.write_text(GOOD.replace("scripted:decisions.yaml", "openai:gpt-5"), encoding="utf-8")
    assert load_task(file).contract.model == "openai:gpt-5"


def test_warns_of_prose_constraints_and_of_no_capabilities(file: Path) -> None:
    text = GOOD.replace("capabilities:", "# capabilities:")
    file.write_text(text, encoding="utf-8")
    prose, none_granted = load_task(file).warnings
    assert prose.startswith(f"{file}:11:5: constraints[0]: prose guides the model")
    assert "capabilities: none are granted" in none_granted


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("goal: Make", "gaol: Make", "2:1: gaol: is no known field; did you mean 'goal'?"),
        ("goal: Make", "gaol: Make", "1:1: goal: is missing; add it: say"),
        ("version: 1\n", "version: 2\n", "1:1: version: must be 1, not 2"),
        ("risk: low", "risk: hihg", "5:1: risk: must be 'low', 'medium' or 'high', not \"hihg\""),
        ("risk: low", "risk: hihg", "did you mean 'high'?"),
        ("mode: copy", "mode: inplace", "7:30: workspace.mode: must be 'copy' or 'in_place'"),
        ("path: workspace, ", "", "7:1: workspace.path: is missing; add it"),
        ("{path: workspace, mode: copy}", "ws", 'must be a mapping of fields, not "ws": write'),
        ("scripted:decisions.yaml", "'scripted:'", "model: names no script; write scripted:FILE"),
        ("workspace.list", "Workspace List", "9:32: capabilities[1]: must be of the form"),
        ("workspace.list", "workspace.read", "capabilities names one capability twice"),
        ("network: none", "network: all", "13:5: constraints[2].network: must be 'none'"),
        ("network: none", "netwrok: none", "13:5: constraints[2]: is of no known form; write"),
        ("network: none", "netwrok: none", "did you mean 'network'?"),
        ("network: none", "17", "13:5: constraints[2]: is of no known form; write"),
        ("[tests/**]", "[]", "12:5: constraints[1].unchanged: must not be empty"),
        ("steps: 30", "steps: 0", "14:11: budgets.steps: must be greater than 0, not 0"),
        ("steps: 30", "steps: -3", "budgets.steps: must be greater than 0, not -3"),
        ("steps: 30", "steps: many", 'budgets.steps: must be a whole number, not "many"'),
        ("steps: 30", "steps: 1.5", "budgets.steps: must be a whole number, not 1.5"),
        ("steps: 30", "steps: true", "budgets.steps: must be a whole number, not true"),
        ("steps: 30", "step: 30", "budgets.step: is no known field; did you mean 'steps'?"),
        ("repairs: 2", "repairs: -1", "budgets.repairs: must be at least 0, not -1: 0 means"),
        ("of_duty: false", "of_duty: no", 'of_duty: must be true or false, not "no"'),
        ("[bob, carol]", "bob", 'approvals.roles.approver: must be a list, not "bob"'),
        ("[python, -m, pytest, -q]", "[]", "17:15: success[0].command.argv: must not be empty"),
        ("[python, -m, pytest, -q]", "[]", "name the program to run"),
        ("argv: [python, -m, pytest, -q], ", "", "success[0].command.argv: is missing; add it"),
        ("[python, -m, pytest, -q]", "pytest", 'argv: must be a list, not "pytest"'),
        ("-q]", "7]", "argv[3]: must be text, not 7; put it in quotes"),
        ("timeout_s: 60", "timeout_s: 0", "success[0].command.timeout_s: must be greater than 0"),
        ("- command", "- comand", "17:5: success[0]: is of no known form; write one of command, "),
        ("- command: {argv: [python, -m, pytest, -q], timeout_s: 60}", "", "must be a list"),
        ("[diff, test_report]", "[dif]", "artifacts[0]: must be 'diff' or 'test_report'"),
        ("goal: Make", 'goal: "\\0"\n#', "2:1: goal: contains a NUL character"),
        ("goal: Make", 'goal: "\\ud800"\n#', "2:1: goal: contains a lone surrogate"),
        ("steps: 30", "steps: .inf", "14:11: budgets.steps: is no finite number"),
        ("steps: 30", "steps: 9007199254740993", "budgets.steps: is an integer beyond 2**53-1"),
    ],
)
def test_fault_is_named_with_its_place_and_remedy(
    file: Path, old: str, new: str, message: str
) -> None:
    assert old in GOOD
    assert message in refusal(file, GOOD.replace(old, new))


def test_every_fault_is_told_at_once(file: Path) -> None:
    text = GOOD.replace("steps: 30", "steps: 0").replace("risk: low", "risk: none")
    lines = refusal(file, text).splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["task.yaml:5:1", "task.yaml:14:11"]


def test_repairs_may_be_zero(file: Path) -> None:
    file.write_text(GOOD.replace("repairs: 2", "repairs: 0"), encoding="utf-8")
    assert load_task(file).contract.budgets.repairs == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("# nothing\n", "task.yaml:1:1: the task file holds no value"),
        ("[1, 2]", "task.yaml:1:1: must be a mapping of fields"),
        ("a: [1,", "task.yaml:1:7: not valid YAML"),
        ("a: 1\n\tb: 2", "task.yaml:2:1: not valid YAML"),
        ("a: 1\nb: 2\na: 3", "task.yaml:3:1: 'a' stands here again (first in line 1)"),
        ("a: 1\n---\nb: 2", "task.yaml:2:1: a second document begins"),
        ("a: *gone", "task.yaml:1:4: not valid YAML: found undefined alias"),
        ("a: !!python/name:os.system x", "the tag !!python/name:os.system is not allowed"),
        ("a: !!binary aGk=", "the tag !!binary is not allowed"),
        ("1: a", "task.yaml:1:1: a field name must be text"),
        ("? [a]\n: b", "a field name must be text"),
        ("a: &a [*a]", "nested deeper than 64 levels"),
        ("[" * 5000, "nested too deeply"),
        ("a: " + "9" * 5000, "this is no usable int"),
        ("a: b\x07", "task.yaml:1:5: not valid YAML: special characters are not allowed"),
        ('a: "\\U99999999"', "not valid YAML"),
    ],
)
def test_yaml_fault_is_named_with_its_place(file: Path, text: str, message: str) -> None:
    assert message in refusal(file, text)


def test_aliases_cannot_blow_up(file: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 20):
        lines.append(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]")
    assert "aliases repeat too much" in refusal(file, "\n".join(lines))


def test_few_aliases_are_fine(file: Path) -> None:
    text = GOOD.replace("[bob, carol]", "&people [bob, carol], viewer: *people")
    file.write_text(text, encoding="utf-8")
    assert load_task(file).contract.approvals.roles["viewer"] == ["bob", "carol"]


def test_words_that_yaml_bends_stay_text(file: Path) -> None:
    text = GOOD.replace("alice", "no").replace("commit_authority: bob", "commit_authority: on")
    file.write_text(text, encoding="utf-8")
    contract = load_task(file).contract
    assert (contract.requested_by, contract.commit_authority) == ("no", "on")


def test_byte_order_mark_is_no_part_of_the_file(file: Path) -> None:
    file.write_text("\ufeff" + GOOD, encoding="utf-8")
    assert load_task(file).contract.requested_by == "alice"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: \xe4\n")
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (MAX_TASK_BYTES + 1))
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    for path, message in (
        (tmp_path / "none.yaml", "does not exist"),
        (tmp_path, "is a folder"),
        (pipe, "is no regular file"),
        (tmp_path / "a\0b", "cannot be read"),
        (tmp_path / "none.yaml" / "deeper", "does not exist"),
        (latin, "latin.yaml:2: the task file is not UTF-8"),
        (large, "is larger than 1,048,576 bytes"),
    ):
        with pytest.raises(InputError) as caught:
            load_task(path)
        assert message in str(caught.value)
        assert caught.value.code in {"file_unusable", "not_utf8"}


def test_unreadable_file_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(GOOD, encoding="utf-8")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # The tests may run as root, whom no mode of a file keeps out.
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        load_task(file)


def test_error_holds_its_place_for_programs(file: Path) -> None:
    file.write_text(GOOD.replace("steps: 30", "steps: 0"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_task(file)
    assert caught.value.context == {
        "file": str(file),
        "line": 14,
        "column": 11,
        "path": "budgets.steps",
    }
    assert caught.value.code == "invalid_fields"
