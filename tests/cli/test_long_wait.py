"""Three days, three restarts, two machines: the same approval, and no model call paid twice."""

from datetime import timedelta
from pathlib import Path

import pytest
from asking import asking, move_clock
from command_line import CommandLine, task_file
from loops import DONE, call, says

from checkrein.settings import Settings

WRITE = says("I write.", call("workspace.write_file", path="a.txt", content="two\n"))


@pytest.mark.shows(86)
def test_a_wait_of_days(child: CommandLine, tmp_path: Path, settings: Settings) -> None:
    """Protects: who waits holds nothing; any process on the database goes on from what is stored.

    Each command is a process of its own. The other machine has another home, the same database,
    and the workspace on a shared disk.
    """
    policy = asking(tmp_path, '"roles": ["approver"], "expires_in_s": 604800')
    work = tmp_path / "workspace"
    task = task_file(
        tmp_path,
        [WRITE, DONE],
        policy=str(policy),
        workspace={"path": str(work), "mode": "in_place"},
    )
    there = {"CHECKREIN_HOME": str(tmp_path / "elsewhere")}
    started = child("run", task, "--json")
    assert started.code == 3
    attempt = started.json["attempt_id"]
    asked = started.json["approvals"][0]["approval_id"]
    for day, machine in enumerate((there, {}, there), start=1):
        move_clock(settings, timedelta(days=day))
        still = child("resume", attempt, "--json", **machine)
        assert (still.code, still.json["status"]) == (3, "WAITING_FOR_APPROVAL")
        assert [one["approval_id"] for one in still.json["approvals"]] == [asked]
    assert child("approve", asked, "--as", "bob", **there).code == 0
    done = child("resume", attempt, "--json", **there)
    assert (done.code, done.json["status"]) == (0, "CANDIDATE_VERIFIED")
    assert (work / "a.txt").read_text() == "two\n"
    calls = (tmp_path / "calls.log").read_text().splitlines()
    assert calls == ["turn 1", "turn 2"], "one call a turn, over all processes"
    events = child("trace", attempt, "--json", **there).json["events"]
    types = [event["type"] for event in events]
    assert types.count("model_requested") == 2
    assert types.count("run_resumed") == types.count("approval_requested") == 1
