"""Processes that die, are interrupted, or meet: what the commands say and do about it."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, Ran, task_file
from loops import ASK_WRITES, DONE, call, model_calls, says

Cli = Callable[..., Ran]

WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))
LOOK = says("I look.", call("workspace.read", path="a.txt"))
SLOW = says("I think.", call("workspace.read", path="a.txt"), delay_s=2.5)


def killed(child: CommandLine, place: str, *args: object) -> None:
    """Run a command that ends itself with SIGKILL at a named place."""
    ran = child(*args, CHECKREIN_FAILPOINT=place)
    assert ran.code == -signal.SIGKILL, ran


def attempt_at_work(cli: Cli, folder: Path, turns: int = 1) -> str:
    """The newest attempt, once its model has been asked so many times."""
    for _ in range(600):
        if len(model_calls(folder)) >= turns:
            break
        time.sleep(0.1)
    found: str = cli("status", "--json").json["attempts"][0]["attempt_id"]
    return found


@pytest.mark.shows(117)
def test_killed_after_the_write_and_recovered(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: a dead owner can be followed at once, and nothing is done a second time."""
    killed(child, "after_file_write", "run", task_file(tmp_path, [WRITE, DONE]))
    (found,) = cli("status", "--json").json["attempts"]
    stands = cli("status", found["attempt_id"], "--json")
    assert (stands.code, stands.json["status"]) == (6, "RUNNING")
    assert f"`checkrein recover {found['attempt_id']}` takes over" in stands.json["next_note"]
    ran = cli("recover", found["attempt_id"], "--json")
    assert (ran.code, ran.json["status"]) == (0, "CANDIDATE_VERIFIED")
    assert ran.json["effects"] == {"COMMITTED": 1}
    events = cli("trace", found["attempt_id"], "--json").json["events"]
    assert "action_deduplicated" in [event["type"] for event in events]
    assert cli("trace", "verify", found["attempt_id"]).code == 0
    assert model_calls(tmp_path) == ["turn 1", "turn 2"]


def test_recover_all_takes_each_and_tells_of_each(
    child: CommandLine, cli: Cli, tmp_path: Path
) -> None:
    """Protects: one that cannot be recovered keeps none of the others from it."""
    killed(child, "after_receipt", "run", task_file(tmp_path / "good", [WRITE, DONE]))
    killed(child, "after_raw_output", "run", task_file(tmp_path / "bad", [LOOK, DONE]))
    (tmp_path / "bad" / "decisions.yaml").unlink()
    ran = cli("recover", "--all", "--json")
    assert ran.code == 2
    good, bad = ran.json["attempts"]
    assert (good["status"], good["effects"]) == ("CANDIDATE_VERIFIED", {"COMMITTED": 1})
    assert "decisions.yaml" in bad["error"]["message"]
    task_file(tmp_path / "bad", [LOOK, DONE])
    ran = cli("recover", "--all")
    assert (ran.code, "CANDIDATE_VERIFIED" in ran.out) == (0, True)
    assert cli("recover", "--all", "--json").json == {"attempts": []}


def test_approvals_are_offered_though_the_process_died_before(
    child: CommandLine, cli: Cli, tmp_path: Path
) -> None:
    """Protects: what was stored and not yet offered is offered by whoever looks next."""
    task = task_file(tmp_path, [WRITE, DONE], policy=str(ASK_WRITES))
    killed(child, "after_checkpoint", "run", task)
    (request,) = cli("approvals", "--json").json["approvals"]
    assert cli("approve", request["approval_id"], "--as", "bob").code == 0
    assert cli("resume", request["attempt_id"]).code == 0


def test_interrupted_and_recovered(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: Ctrl-C ends with 130, says how to go on, and leaves nothing held."""
    process = child.started("run", task_file(tmp_path, [LOOK, SLOW, DONE]), "--json")
    attempt = attempt_at_work(cli, tmp_path, turns=2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    ran = Ran(process.returncode, out, err)
    assert (ran.code, ran.error["code"]) == (130, "interrupted")
    assert ran.error["context"] == {"next": [f"checkrein recover {attempt}"]}
    assert f"checkrein recover {attempt}" in ran.error["message"]
    assert "Traceback" not in err
    listed = cli("status", "--json").json["attempts"]
    assert (listed[0]["status"], listed[0]["lease_alive"]) == ("RUNNING", False)
    assert cli("recover", attempt).code == 0


def test_two_at_once(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: one owns an attempt; the other is told so with exit code 6 and touches nothing."""
    process = child.started("run", task_file(tmp_path, [SLOW, DONE]))
    attempt = attempt_at_work(cli, tmp_path)
    busy = cli("resume", attempt, "--json")
    assert (busy.code, busy.error["code"], busy.error["retryable"]) == (6, "attempt_busy", True)
    stands = cli("status", attempt, "--json")
    assert (stands.code, stands.json["next"]) == (6, [])
    assert "A process works on it" in stands.json["next_note"]
    assert cli("recover", "--all").code == 6
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert len(model_calls(tmp_path)) == 2


@pytest.mark.shows(138)
def test_paused_at_a_safe_point(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: a pause stops at the next safe point and keeps what was reached."""
    process = child.started("run", task_file(tmp_path, [SLOW, LOOK, DONE]), "--json")
    attempt = attempt_at_work(cli, tmp_path)
    assert cli("pause", attempt, "--as", "alice").code == 0
    ran = finished(process)
    assert (ran.code, ran.json["status"], ran.json["turns"]) == (3, "PAUSED", 1)
    assert ran.json["next"] == [f"checkrein resume {attempt}"]
    assert len(model_calls(tmp_path)) == 1
    assert cli("resume", attempt).code == 0
    assert len(model_calls(tmp_path)) == 3


@pytest.mark.shows(99)
def test_cancelled_while_at_work(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: a cancel that was received is not yet one that has taken effect."""
    process = child.started("run", task_file(tmp_path, [SLOW, WRITE, DONE]), "--json")
    attempt = attempt_at_work(cli, tmp_path)
    asked = cli("cancel", attempt, "--reason", "enough", "--as", "alice", "--json")
    assert (asked.code, asked.json["status"]) == (0, "CANCELLING")
    ran = finished(process)
    assert (ran.code, ran.json["status"], ran.json["effects"]) == (5, "CANCELLED", {})
    kinds = [e["type"] for e in cli("trace", attempt, "--json").json["events"]]
    assert kinds.index("cancel_requested") < kinds.index("cancelled")
    assert len(model_calls(tmp_path)) == 1


def finished(process: "subprocess.Popen[str]") -> Ran:
    """What a started command did, once it has ended."""
    out, err = process.communicate(timeout=60)
    return Ran(process.returncode, out, err)


def test_a_scripted_model_that_runs_out(cli: Cli, tmp_path: Path) -> None:
    """Protects: a model that cannot answer ends 4 as MODEL_ERROR; turns left over are warned of."""
    ran = cli("run", task_file(tmp_path / "short", [LOOK]), "--json")
    assert (ran.code, ran.json["status"]) == (4, "MODEL_ERROR")
    assert "turn 2 was asked for" in ran.json["detail"]
    ran = cli("run", task_file(tmp_path / "long", [DONE, DONE]), "--json")
    warnings: list[Any] = ran.json["warnings"]
    assert (ran.code, ["left over" in text for text in warnings]) == (0, [True])
