"""The design sources' own short task form loads, by a mapping that is written down and tested."""

from pathlib import Path
from typing import Any

import pytest

from checkrein.adapters.source_form import from_source_form
from checkrein.adapters.task_file import load_task
from checkrein.contracts.check import CommandCheck, CommandSpec
from checkrein.contracts.task import NetworkConstraint, UnchangedConstraint
from checkrein.errors import InputError

SOURCE = """\
goal: "修复 issue 并让指定测试通过"
success:
  evaluator: "pytest tests/regression_test.py"
constraints:
  - "不得改动测试"
  - "不得访问公网"
budgets:
  steps: 30
  wall_time_s: 900
  model_tokens: 120000
artifacts:
  - "git diff"
  - "test report"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "task.yaml"


@pytest.mark.shows(21)
def test_the_sources_example_loads_as_it_stands(file: Path) -> None:
    file.write_text(SOURCE, encoding="utf-8")
    loaded = load_task(file)
    contract = loaded.contract
    assert contract.goal == "修复 issue 并让指定测试通过"
    assert contract.success == [
        CommandCheck(command=CommandSpec(argv=["pytest", "tests/regression_test.py"]))
    ]
    assert contract.constraints == [
        UnchangedConstraint(unchanged=["tests/**", "**/test_*.py", "**/*_test.py"]),
        NetworkConstraint(network="none"),
    ]
    limits = contract.budgets
    assert (limits.steps, limits.wall_time_s, limits.model_tokens) == (30, 900, 120_000)
    assert contract.artifacts == ["diff", "test_report"]
    assert [(one.source, one.target) for one in loaded.mapping] == [
        ("goal", "goal"),
        ("budgets", "budgets"),
        ("success.evaluator", "success[0].command.argv"),
        ("constraints[0]", "constraints[0].unchanged"),
        ("constraints[1]", "constraints[1].network"),
        ("artifacts[0]", "artifacts[0]"),
        ("artifacts[1]", "artifacts[1]"),
    ]


def test_authority_is_never_invented(file: Path) -> None:
    file.write_text(SOURCE, encoding="utf-8")
    loaded = load_task(file)
    assert loaded.contract.capabilities == []
    assert any("none are granted" in warning for warning in loaded.warnings)


def test_fields_of_the_contract_may_stand_beside(file: Path) -> None:
    more = "workspace: {path: ws}\ncapabilities: [workspace.read]\nmodel: scripted:s.yaml\n"
    file.write_text(SOURCE + more, encoding="utf-8")
    contract = load_task(file).contract
    assert contract.capabilities == ["workspace.read"]
    assert contract.model == f"scripted:{file.parent / 's.yaml'}"


def test_other_prose_stays_prose_and_is_warned_of(file: Path) -> None:
    file.write_text(SOURCE.replace("不得访问公网", "Be kind."), encoding="utf-8")
    loaded = load_task(file)
    assert loaded.contract.constraints[1] == "Be kind."
    assert "constraints[1]: prose guides the model" in loaded.warnings[0]
    assert loaded.mapping[4].meaning == "stays prose: guides the model only"


@pytest.mark.parametrize(
    ("evaluator", "message"),
    [
        ('""', "names no command"),
        ("7", "names no command"),
        ('"pytest \'a"', "has unbalanced quotes"),
        ("pytest | tee log", "needs a shell for '|'"),
        ("A=1 pytest", "needs a shell for 'A=1'"),
        ('"pytest $(ls)"', "needs a shell"),
    ],
)
def test_evaluator_must_be_one_command(file: Path, evaluator: str, message: str) -> None:
    text = SOURCE.replace('"pytest tests/regression_test.py"', evaluator)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_task(file)
    assert str(caught.value).startswith(f"{file}:3:3: success.evaluator: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  evaluator:", "  timeout: 5\n  evaluator:", "3:3: success.timeout: is no known field"),
        ("  steps: 30", "  steps: 0", "8:3: budgets.steps: must be greater than 0"),
        ('"git diff"', '"git dif"', "12:5: artifacts[0]: must be 'diff' or 'test_report'"),
        ('goal: "修', 'aim: "修', "1:1: goal: is missing"),
    ],
)
def test_faults_are_named_where_they_stand(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(SOURCE.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_task(file)
    assert message in str(caught.value)


def test_mapping_leaves_its_input_alone() -> None:
    source: dict[str, Any] = {"goal": "g", "success": {"evaluator": "true"}, "constraints": ["x"]}
    from_source_form(source)
    assert source == {"goal": "g", "success": {"evaluator": "true"}, "constraints": ["x"]}
