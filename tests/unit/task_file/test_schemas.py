"""The published JSON Schemas are those of the code, and say what the loader says."""

import json
from pathlib import Path
from typing import Any

import pytest
import schemas
import yaml
from jsonschema import Draft202012Validator

from checkrein.contracts.budget import Budget, BudgetLimits
from checkrein.contracts.codec import to_text
from checkrein.contracts.decision import DecisionOutput, Verdict
from checkrein.contracts.event import BudgetReserved, TurnStopped
from checkrein.contracts.task import Risk, Task
from checkrein.file_schemas import file_name

TASK = """\
goal: g
capabilities: [workspace.read]
constraints: [{unchanged: [tests/**]}, {network: none}, prose]
success: [{command: {argv: [pytest]}}]
"""


def published(name: str) -> Any:
    path = schemas.ROOT / schemas.FOLDER / file_name(name)
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.shows(13)
def test_published_schemas_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert schemas.main(["--check"]) == 0, capsys.readouterr().err


def test_check_finds_what_is_stale_missing_or_left_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = ["--root", str(tmp_path)]
    assert schemas.main(["--check", *root]) == 1
    assert schemas.main(root) == 0
    assert schemas.main(["--check", *root]) == 0
    folder = tmp_path / schemas.FOLDER
    (folder / "task.v1.schema.json").write_text("{}", encoding="utf-8")
    (folder / "effect.v1.schema.json").unlink()
    (folder / "gone.v1.schema.json").write_text("{}", encoding="utf-8")
    capsys.readouterr()
    assert schemas.main(["--check", *root]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[0].rpartition("/")[2] for line in told] == [
        "effect.v1.schema.json",
        "gone.v1.schema.json",
        "task.v1.schema.json",
    ]
    assert schemas.main(root) == 0
    assert schemas.main(["--check", *root]) == 0


def test_every_schema_is_a_schema() -> None:
    for text in schemas.schemas().values():
        Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.parametrize(
    ("old", "new", "good"),
    [
        ("goal", "goal", True),
        ("goal: g", "gaol: g", False),
        ("[pytest]", "[]", False),
        ("network: none", "network: all", False),
        ("workspace.read", "Workspace", False),
    ],
)
def test_task_schema_judges_like_the_loader(old: str, new: str, good: bool) -> None:
    document: Any = yaml.safe_load(TASK.replace(old, new))
    assert published("task").is_valid(document) is good


@pytest.mark.shows(13)
def test_what_is_stored_follows_its_schema() -> None:
    task = Task(
        task_id="t",
        tenant="local",
        contract_version="sha256:0",
        risk=Risk.LOW,
        budget=BudgetLimits.model_validate({}),
        requested_by="alice",
    )
    output = DecisionOutput(decision=Verdict.ALLOW, reason_code="read", reasons=["read"])
    for name, noun in (
        ("stored_task", task),
        ("decision_output", output),
        ("event_payload", TurnStopped(turn=1, why="empty_reply")),
        ("event_payload", BudgetReserved(turn=1, amounts={Budget.STEPS: 1})),
    ):
        published(name).validate(json.loads(to_text(noun)))
    with_more = json.loads(to_text(task)) | {"mood": "good"}
    assert not published("stored_task").is_valid(with_more)
