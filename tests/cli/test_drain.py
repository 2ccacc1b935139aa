"""SIGTERM to a command at work: it stops at a safe point, in ten seconds, and loses nothing."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, Ran, task_file
from held_writes import held_write, waited
from loops import DONE, call, model_calls, says
from process_trees import below, until_gone

Cli = Callable[..., Ran]

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))
LIMIT_S = 10.0
BARE = {"backends": ["local"], "network": "host"}
"""Without a sandbox, so that a check can leave a sign outside of its copy."""


def slow_check(folder: Path) -> dict[str, Any]:
    """A check that takes a minute until the file `go` exists; it notes that it runs."""
    script = f"echo on >> {folder / 'begun'}; test -e {folder / 'go'} || sleep 60"
    return {"command": {"argv": ["sh", "-c", script], "timeout_s": 120}}


def stopped(process: "subprocess.Popen[str]") -> tuple[Ran, float]:
    """Send SIGTERM; how the command ended, and after how many seconds."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    return Ran(process.returncode, out, err), time.monotonic() - began


def attempt_of(cli: Cli) -> dict[str, Any]:
    """The one attempt that there is."""
    found: dict[str, Any] = cli("status", "--json").json["attempts"][0]
    return found


def kinds(cli: Cli, attempt: str) -> list[str]:
    """The types of its events, once its chain has been found whole."""
    assert cli("trace", "verify", attempt).code == 0
    return [event["type"] for event in cli("trace", attempt, "--json").json["events"]]


@LINUX
@pytest.mark.shows(149)
def test_in_the_middle_of_a_verifier(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: a verifier gets its grace, then it is ended with its tree; a checkpoint, exit 0."""
    task = task_file(tmp_path, [WRITE, DONE], success=[slow_check(tmp_path)], environment=BARE)
    process = child.started("run", task, "--json")
    waited((tmp_path / "begun").exists)
    tree = below(process.pid)
    ran, took = stopped(process)
    assert (ran.code, ran.json["status"]) == (0, "VERIFYING"), ran
    assert 5 < took < LIMIT_S, "it had its grace, and no more"
    attempt = ran.json["attempt_id"]
    assert ran.json["next"] == [f"checkrein recover {attempt}"]
    assert "stopped at a safe point" in ran.json["warnings"][0]
    assert (ran.json["lease_alive"], until_gone(tree, 5)) == (False, [])
    assert kinds(cli, attempt)[-1] == "checkpoint_saved"
    (tmp_path / "go").touch()
    again = cli("recover", attempt, "--json")
    assert (again.code, again.json["status"]) == (0, "CANDIDATE_VERIFIED")
    assert again.json["effects"] == {"COMMITTED": 1}
    assert kinds(cli, attempt).count("effect_committed") == 1
    assert model_calls(tmp_path) == ["turn 1", "turn 2"]


@pytest.mark.shows(149)
def test_in_the_middle_of_a_turn(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: an answer that comes within the grace is kept; no action of it begins any more."""
    task = task_file(tmp_path, [WRITE | {"delay_s": 2.5}, DONE])
    process = child.started("run", task)
    waited(lambda: len(model_calls(tmp_path)) == 1)
    ran, took = stopped(process)
    attempt = attempt_of(cli)["attempt_id"]
    assert (ran.code, took < LIMIT_S) == (0, True), ran
    assert ran.out.startswith(f"RUNNING  attempt {attempt}")
    assert f"next: checkrein recover {attempt}" in ran.out
    assert "SIGTERM: nothing new begins" in ran.err
    assert kinds(cli, attempt)[-1] == "checkpoint_saved"
    assert "effect_executing" not in kinds(cli, attempt)
    assert cli("recover", "--all").code == 0
    assert kinds(cli, attempt).count("effect_committed") == 1
    assert model_calls(tmp_path) == ["turn 1", "turn 2"], "no turn is paid for twice"


@pytest.mark.shows(149)
def test_a_model_that_takes_too_long(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: a call that is broken off is settled at its worst case, and made again later."""
    process = child.started("run", task_file(tmp_path, [WRITE | {"delay_s": 60}, DONE]), "--json")
    waited(lambda: len(model_calls(tmp_path)) == 1)
    ran, took = stopped(process)
    assert (ran.code, ran.json["status"]) == (0, "RUNNING"), ran
    assert 5 < took < LIMIT_S
    tokens = ran.json["budgets"]["model_tokens"]
    assert (tokens["reserved"], tokens["spent"] > 4096) == (0, True)
    assert ran.json["budgets"]["steps"] == {
        "limit": 30,
        "reserved": 0,
        "spent": 0,
        "pool": None,
    }
    task_file(tmp_path, [WRITE, DONE])
    assert cli("recover", ran.json["attempt_id"]).code == 0
    assert kinds(cli, ran.json["attempt_id"]).count("effect_committed") == 1
    assert model_calls(tmp_path) == ["turn 1", "turn 1", "turn 2"]


@LINUX
def test_a_second_one_ends_it_at_once(child: CommandLine, cli: Cli, tmp_path: Path) -> None:
    """Protects: nobody has to wait, no child is left, and nothing is lost all the same."""
    task = task_file(tmp_path, [WRITE, DONE], success=[slow_check(tmp_path)], environment=BARE)
    process = child.started("run", task)
    waited((tmp_path / "begun").exists)
    tree = below(process.pid)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    ran, took = stopped(process)
    assert (ran.code, took < 2) == (143, True), ran
    attempt = attempt_of(cli)["attempt_id"]
    assert f"checkrein recover {attempt}" in ran.err
    assert until_gone(tree, 10) == []
    (tmp_path / "go").touch()
    assert cli("recover", attempt).code == 0
    assert kinds(cli, attempt).count("effect_committed") == 1
    assert model_calls(tmp_path) == ["turn 1", "turn 2"]


@pytest.mark.shows(149)
def test_a_send_in_flight_does_not_keep_it(
    child: CommandLine, cli: Cli, home: Path, database_url: str, tmp_path: Path
) -> None:
    """Protects: the process ends in time with a write in flight, whose fate recovery finds out."""
    task = task_file(tmp_path, [WRITE | {"delay_s": 2}, DONE])
    process = child.started("run", task, "--json")
    waited(lambda: len(model_calls(tmp_path)) == 1)
    with held_write(home, database_url) as (attempt, _):
        ran, took = stopped(process)
    assert (ran.code, took < LIMIT_S) == (0, True), ran
    assert ran.json["next"] == [f"checkrein recover {attempt}"]
    assert "effect_committed" not in kinds(cli, attempt)
    assert cli("status", attempt, "--json").json["effects"] == {"EXECUTING": 1}
    assert cli("recover", attempt).code == 0
    assert kinds(cli, attempt).count("effect_committed") == 1
    assert model_calls(tmp_path) == ["turn 1", "turn 2"]
