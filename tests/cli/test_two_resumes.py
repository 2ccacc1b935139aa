"""Two people press resume at the same moment, on two machines."""

import json
from pathlib import Path

import pytest
from command_line import CommandLine, task_file
from loops import ASK_WRITES, DONE, call, model_calls, says


@pytest.mark.shows(108)
def test_one_resumes_and_the_other_is_busy(environment: dict[str, str], tmp_path: Path) -> None:
    """Protects: one effect, one owner; the other process exits 6."""
    child = CommandLine(environment)
    write = says("", call("workspace.write_file", path="a.txt", content="two\n"))
    # The answer after the write takes a while, so that both are surely at work at once.
    task = task_file(tmp_path, [write, DONE | {"delay_s": 3.0}], policy=str(ASK_WRITES))
    waits = child("run", task, "--json")
    assert (waits.code, waits.json["status"]) == (3, "WAITING_FOR_APPROVAL")
    assert child("approve", waits.json["approvals"][0]["approval_id"], "--as", "bob").code == 0
    attempt = waits.json["attempt_id"]
    both = [child.started("resume", attempt, "--json") for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in both]
    assert sorted(process.returncode for process in both) == [0, 6], said
    won = next(json.loads(out) for out, p in zip(said, both, strict=True) if p.returncode == 0)
    assert won["effects"] == {"COMMITTED": 1}
    assert (Path(won["workspace"]) / "a.txt").read_text() == "two\n"
    assert model_calls(tmp_path) == ["turn 1", "turn 2"]
