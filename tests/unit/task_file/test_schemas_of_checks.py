"""Schemas that a task file names: found beside it, and refused where they cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest

from checkrein.adapters.task_file import load_task
from checkrein.contracts.check import ArtifactCheck, JsonSchemaCheck
from checkrein.errors import InputError

SCHEMA = {"type": "object"}


def task(folder: Path, against: Any, mode: str = "copy") -> Path:
    (folder / "work").mkdir(parents=True, exist_ok=True)
    file = folder / "task.yaml"
    file.write_text(
        json.dumps(
            {
                "version": 1,
                "goal": "x",
                "workspace": {"path": "work", "mode": mode},
                "capabilities": ["workspace.read"],
                "success": [
                    {"json_schema": {"file": "a.json", "against": against}},
                    {
                        "artifact": {
                            "path": "a.json",
                            "media_type": "application/json",
                            "against": against,
                        }
                    },
                ],
            }
        )
    )
    return file


def test_a_schema_beside_the_task_is_found_from_anywhere(tmp_path: Path) -> None:
    """Protects: the contract names one file, wherever the harness was started."""
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    first, second = load_task(task(tmp_path, "schema.json")).contract.success
    assert isinstance(first, JsonSchemaCheck) and isinstance(second, ArtifactCheck)
    assert first.json_schema.against == str(tmp_path / "schema.json")
    assert second.artifact.against == str(tmp_path / "schema.json")


def test_a_schema_in_the_task_stays_as_it_is(tmp_path: Path) -> None:
    """Protects: what is written in the task is part of its digest, word for word."""
    (first, _) = load_task(task(tmp_path, SCHEMA)).contract.success
    assert isinstance(first, JsonSchemaCheck) and first.json_schema.against == SCHEMA


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        ("{", "no JSON"),
        ("[]", "no JSON object"),
        (json.dumps({"$ref": "https://example.com/x.json"}), "only # is followed"),
        (json.dumps({"$schema": "http://json-schema.org/draft-07/schema#"}), "another dialect"),
        (json.dumps({"a": "x" * 300_000}), "larger than"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_before_anything_runs(
    content: str | None, told: str, tmp_path: Path
) -> None:
    """Protects: the author hears it with the line, and no model is paid for nothing."""
    if content is not None:
        (tmp_path / "schema.json").write_text(content)
    with pytest.raises(InputError, match=told) as refused:
        load_task(task(tmp_path, "schema.json"))
    assert "against" in str(refused.value)


def test_a_schema_that_the_model_could_change_is_refused(tmp_path: Path) -> None:
    """Protects the check from whom it judges, also by way of a link."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work/schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "link.json").symlink_to("work/schema.json")
    for name in ("work/schema.json", "link.json"):
        with pytest.raises(InputError, match="lies in the workspace"):
            load_task(task(tmp_path, name, mode="in_place"))
        assert load_task(task(tmp_path, name)).contract.success
