"""Cancel asked for by another process: heard within a second or so, and nothing is left running."""

import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import CommandLine, task_file
from held_writes import held_write, waited
from loops import DONE, call, model_calls, says
from process_trees import alive, below, until_gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))
HEARD_S = 2.5
"""One second until it is heard, and the rest for a machine that runs other tests meanwhile."""


@pytest.fixture
def child(environment: dict[str, str]) -> CommandLine:
    """Commands in processes of their own."""
    return CommandLine(environment)


def stubborn(folder: Path, marker: str) -> dict[str, Any]:
    """A check that takes a minute, with grandchildren in sessions of their own; none hears TERM."""
    script = (
        f"trap '' TERM; setsid sh -c 'setsid sleep {marker} & sleep {marker}' & "
        f"echo on > {folder / 'begun'}; sleep {marker}; wait"
    )
    return {"command": {"argv": ["sh", "-c", script], "timeout_s": 120}}


def cancelled(
    child: CommandLine, process: "subprocess.Popen[str]"
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Cancel from another process; the run's last word, and the attempt's events."""
    (found,) = child("status", "--json").json["attempts"]
    asked = child("cancel", found["attempt_id"], "--reason", "enough", "--as", "alice", "--json")
    assert (asked.code, asked.json["status"]) == (0, "CANCELLING")
    return ended(child, process, found["attempt_id"])


def ended(
    child: CommandLine, process: "subprocess.Popen[str]", attempt: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The run's last word, and the attempt's events, once it has ended as cancelled."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == 5, err
    assert child("trace", "verify", attempt).code == 0
    report: dict[str, Any] = child("status", attempt, "--json").json
    assert report["status"] == "CANCELLED", out
    events: list[dict[str, Any]] = child("trace", attempt, "--json").json["events"]
    return report, events


def moment(events: list[dict[str, Any]], kind: str) -> datetime:
    """When the one event of a type was stored."""
    (at,) = [event["at"] for event in events if event["type"] == kind]
    return datetime.fromisoformat(at)


@pytest.mark.shows(99, 133, 135)
def test_during_a_verifier(child: CommandLine, tmp_path: Path) -> None:
    """Protects: `cancelled` means that the whole tree is gone, those that ignore SIGTERM too."""
    marker = f"61.{os.getpid()}"
    check = stubborn(tmp_path, marker)
    process = child.started("run", task_file(tmp_path, [WRITE, DONE], success=[check]), "--json")
    waited(lambda: len(alive(f"sleep {marker}")) >= 4)
    tree = below(process.pid)
    report, events = cancelled(child, process)
    assert (until_gone(tree, 1), alive(marker)) == ([], [])
    received, quiet = moment(events, "cancel_requested"), moment(events, "cancelled")
    assert 0 < (quiet - received).total_seconds() < HEARD_S, "two events, one after the other"
    assert [event["type"] for event in events[-3:]] == [
        "cancel_requested",
        "cancelled",
        "attempt_ended",
    ]
    assert report["effects"] == {"COMMITTED": 1}, "what happened stays on the record"


def test_during_a_model_call(child: CommandLine, tmp_path: Path) -> None:
    """Protects: a call that is broken off may have been paid: its reservation is settled so."""
    slow = task_file(tmp_path, [WRITE | {"delay_s": 60}, DONE])
    process = child.started("run", slow, "--json")
    waited(lambda: len(model_calls(tmp_path)) == 1)
    report, events = cancelled(child, process)
    received, quiet = moment(events, "cancel_requested"), moment(events, "cancelled")
    assert 0 < (quiet - received).total_seconds() < HEARD_S
    tokens = report["budgets"]["model_tokens"]
    assert (tokens["reserved"], tokens["spent"] > 4096) == (0, True)
    assert (report["effects"], model_calls(tmp_path)) == ({}, ["turn 1"])


def statuses(database_url: str) -> tuple[str, str]:
    """Those of the one attempt and of its one effect."""
    with psycopg.connect(database_url) as connection:
        query = "SELECT a.status, e.status FROM checkrein.attempts a JOIN checkrein.effects e"
        row = connection.execute(query + " USING (attempt_id)").fetchone()
    assert row is not None
    return row


@pytest.mark.shows(133)
def test_during_a_send(child: CommandLine, home: Path, database_url: str, tmp_path: Path) -> None:
    """Protects: a write in flight is not broken off; CANCELLING until its fate is known."""
    process = child.started("run", task_file(tmp_path, [WRITE | {"delay_s": 1.5}, DONE]), "--json")
    waited(lambda: len(model_calls(tmp_path)) == 1)
    with held_write(home, database_url) as (attempt, workspace):
        assert child("cancel", attempt, "--reason", "enough", "--as", "alice").code == 0
        time.sleep(HEARD_S)
        # By a query and not by a command: the write does not wait for long.
        assert statuses(database_url) == ("CANCELLING", "EXECUTING")
        assert process.poll() is None
    report, events = ended(child, process, attempt)
    assert report["effects"] == {"COMMITTED": 1}
    kinds = [event["type"] for event in events]
    places = [kinds.index(k) for k in ("cancel_requested", "effect_committed", "cancelled")]
    assert places == sorted(places)
    assert (Path(workspace) / "a.txt").read_text() == "two\n"
