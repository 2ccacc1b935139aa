"""checkrein mcp: a review is what a person saw and agreed to."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from mcp_tasks import SERVER, mood


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task file with one server, never reviewed."""
    mood(tmp_path / "shelf")
    file = tmp_path / "task.yaml"
    given: dict[str, Any] = {
        "version": 1,
        "goal": "look",
        "capabilities": ["mcp.shelf.look"],
        "mcp": {
            "shelf": {
                "command": sys.executable,
                "args": [str(SERVER), str(tmp_path / "shelf")],
                "tools": {"look": {"effect": "read"}},
            }
        },
        "success": [{"command": {"argv": ["true"]}}],
    }
    file.write_text(json.dumps(given))
    return file


def test_pinned_is_what_a_person_agreed_to(task: Path, cli: CommandLine) -> None:
    """Without a yes nothing is written; what was pinned is told from what changed since."""
    lock = task.with_name("mcp.lock.json")
    assert cli("mcp", "pin", task).code == 2
    assert not lock.exists()
    assert cli("mcp", "pin", task, "--yes").code == 0
    assert json.loads(lock.read_text())["shelf"]["tools"].keys() == {"look"}
    assert cli("mcp", "list", task).code == 0
    mood(task.parent / "shelf", words="Look \x1b[2J and tell.", version="2")
    listed = cli("mcp", "list", task)
    assert listed.code == 1
    assert "look is described otherwise" in listed.out
    assert "it was shelf 1.0 and is shelf 2" in listed.out
    assert "\x1b" not in listed.out
    found = cli("mcp", "list", task, "--json")
    assert json.loads(found.out)["servers"][0]["others"] == ["removeAll"]


def test_a_lock_that_is_none_is_refused(task: Path, cli: CommandLine) -> None:
    """A damaged review is no review."""
    task.with_name("mcp.lock.json").write_text("{]")
    said = cli("mcp", "list", task)
    assert said.code == 2
    assert "pin anew" in said.err
