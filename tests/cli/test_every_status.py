"""Every status in which an attempt can wait or end, from a task file, by commands alone."""

import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, Ran, task_file
from loops import ASK_WRITES, DONE, call, model_calls, says
from project_files import ROOT

from checkrein.contracts.attempt import SUSPENDED, TERMINAL, AttemptStatus
from checkrein.contracts.retrying import RETRY

Cli = Callable[..., Ran]
Way = Callable[[CommandLine, Path], Ran]

PAGE = ROOT / "docs" / "failures.md"
WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))
LOOK = says("I look.", call("workspace.read", path="a.txt"))
QUESTION = says("", call("ask_user", question="Which?"))
PAY = says("I pay.", call("shop.pay", order="o1"))
PATCH = "@@ -1 +1 @@\n-one\n+two\n"
FAILS = [{"command": {"argv": ["false"]}}]


def ran(cli: CommandLine, folder: Path, turns: list[Any], **fields: Any) -> Ran:
    """Run a task file to its first pause or its end."""
    return cli("run", task_file(folder, turns, **fields), "--json")


def waiting_for_approval(cli: CommandLine, folder: Path) -> Ran:
    """A policy asks for every write."""
    return ran(cli, folder, [WRITE, DONE], policy=str(ASK_WRITES))


def approval_stale(cli: CommandLine, folder: Path) -> Ran:
    """The file changes after the yes."""
    patch = says("", call("workspace.apply_patch", path="a.txt", patch=PATCH))
    asked = ran(
        cli,
        folder,
        [patch, DONE],
        policy=str(ASK_WRITES),
        capabilities=["workspace.apply_patch"],
    ).json
    (Path(asked["workspace"]) / "a.txt").write_text("one\nmore\n", encoding="utf-8")
    assert cli(*asked["next"][0].split()[1:]).code == 0
    return cli("resume", asked["attempt_id"], "--json")


def waiting_for_effect(cli: CommandLine, folder: Path) -> Ran:
    """Another run has the key of the same act, and nobody knows yet what became of it."""
    first = ran(cli, folder / "first", [PAY, DONE], capabilities=["shop.pay"])
    assert first.json["status"] == "RECONCILE_REQUIRED"
    return ran(cli, folder / "second", [PAY, DONE], capabilities=["shop.pay"])


def reconcile_required(cli: CommandLine, folder: Path) -> Ran:
    """The answer to a payment got lost."""
    return ran(cli, folder, [PAY, DONE], capabilities=["shop.pay"])


def waiting_for_user(cli: CommandLine, folder: Path) -> Ran:
    """The model asks; one that goes in circles comes to the same (tests/loop/test_no_progress)."""
    return ran(cli, folder, [QUESTION, DONE])


def budget_exhausted(cli: CommandLine, folder: Path) -> Ran:
    """One step, and more to do."""
    return ran(cli, folder, [LOOK, DONE], budgets={"steps": 1})


def turn_stopped(cli: CommandLine, folder: Path) -> Ran:
    """The model says nothing at all."""
    return ran(cli, folder, [says(""), DONE])


def paused(cli: CommandLine, folder: Path) -> Ran:
    """A person asks for a pause while the model thinks."""
    slow = says("", call("workspace.read", path="a.txt"), delay_s=3)
    process = cli.started("run", task_file(folder, [slow, DONE]), "--json")
    deadline = time.monotonic() + 50
    while not model_calls(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    attempt = cli("status", "--json").json["attempts"][0]["attempt_id"]
    assert cli("pause", attempt, "--as", "alice").code == 0
    out, err = process.communicate(timeout=60)
    return Ran(process.returncode, out, err)


def candidate_verified(cli: CommandLine, folder: Path) -> Ran:
    """It is done, and the checks say so."""
    return ran(cli, folder, [WRITE, DONE])


def failed_verification(cli: CommandLine, folder: Path) -> Ran:
    """It is claimed to be done, and the checks say no."""
    return ran(cli, folder, [DONE], success=FAILS, budgets={"repairs": 0})


def policy_blocked(cli: CommandLine, folder: Path) -> Ran:
    """Three turns of nothing but denials under the shipped rules."""
    secret = says("", call("workspace.write_file", path=".env", content="x"))
    return ran(cli, folder, [secret] * 3, policy=None)


def environment_error(cli: CommandLine, folder: Path) -> Ran:
    """The folder that it works in is gone when it is to go on."""
    asked = ran(cli, folder, [QUESTION, DONE]).json
    shutil.rmtree(asked["workspace"])
    assert cli("answer", asked["attempt_id"], "This.", "--as", "alice").code == 0
    return cli("resume", asked["attempt_id"], "--json")


def model_error(cli: CommandLine, folder: Path) -> Ran:
    """Three turns of calls that nobody can use."""
    return ran(cli, folder, [says("", call("no_such_tool"))] * 3)


def failed(cli: CommandLine, folder: Path) -> Ran:
    """What the task calls essential fails for good."""
    ask = says("", call("shop.ask", what="bread"))
    return ran(cli, folder, [ask, DONE], capabilities=["shop.ask"], essential=["shop.ask"])


def cancelled(cli: CommandLine, folder: Path) -> Ran:
    """A person ends it while it waits."""
    asked = waiting_for_approval(cli, folder).json
    assert cli("cancel", asked["attempt_id"], "--reason", "enough", "--as", "alice").code == 0
    return cli("status", asked["attempt_id"], "--json")


WAYS: dict[AttemptStatus, Way] = {
    AttemptStatus.WAITING_FOR_APPROVAL: waiting_for_approval,
    AttemptStatus.APPROVAL_STALE: approval_stale,
    AttemptStatus.WAITING_FOR_EFFECT: waiting_for_effect,
    AttemptStatus.RECONCILE_REQUIRED: reconcile_required,
    AttemptStatus.WAITING_FOR_USER: waiting_for_user,
    AttemptStatus.BUDGET_EXHAUSTED: budget_exhausted,
    AttemptStatus.TURN_STOPPED: turn_stopped,
    AttemptStatus.PAUSED: paused,
    AttemptStatus.CANDIDATE_VERIFIED: candidate_verified,
    AttemptStatus.FAILED_VERIFICATION: failed_verification,
    AttemptStatus.POLICY_BLOCKED: policy_blocked,
    AttemptStatus.ENVIRONMENT_ERROR: environment_error,
    AttemptStatus.MODEL_ERROR: model_error,
    AttemptStatus.FAILED: failed,
    AttemptStatus.CANCELLED: cancelled,
}


def documented() -> dict[str, tuple[int, str, str]]:
    """The page's table: for each status the exit code, `retry by machine`, and the next command."""
    row = re.compile(
        r"^\| `([A-Z_]+)` \| (\d) \| ([a-z-]+) \| (?:`checkrein (\w+)|-)", re.MULTILINE
    )
    found = row.findall(PAGE.read_text("utf-8"))
    return {status: (int(code), retry, command) for status, code, retry, command in found}


@pytest.mark.shows(195)
def test_the_page_names_every_status() -> None:
    """Protects: no status without an exit code, a way to it, and what comes next."""
    assert set(documented()) == {str(s) for s in WAYS} == {str(s) for s in SUSPENDED | TERMINAL}
    assert set(RETRY) == TERMINAL


@pytest.mark.shows(195, 203)
@pytest.mark.parametrize("status", WAYS, ids=str)
def test_every_status_is_reached_from_a_task_file(
    status: AttemptStatus, child: CommandLine, tmp_path: Path
) -> None:
    """Protects: each status as programs meet it, with its exit code and what to do now."""
    child.environment |= {
        "CHECKREIN_CAPABILITIES": "closing_shop:TOOLS",
        "PYTHONPATH": str(ROOT / "tests" / "support"),
    }
    found = WAYS[status](child, tmp_path)
    assert found.json["status"] == status, found
    code, retry, command = documented()[status]
    told = child("status", found.json["attempt_id"], "--json")
    assert {told.code, found.code} == {code}
    assert told.json["next"] == found.json["next"]
    steps = [step.split()[1] for step in found.json["next"]]
    assert steps[:1] == ([command] if command else [])
    assert steps or found.json["next_note"]
    if status in TERMINAL:
        assert found.json["retry_by_machine"] == RETRY[status].model_dump(mode="json")
        assert retry == RETRY[status].may
    else:
        assert (found.json["retry_by_machine"], retry) == (None, "-")
    people = child("status", found.json["attempt_id"])
    assert people.out.startswith(f"{status}  attempt ")
    assert f"next: {found.json['next'][0]}" in people.out if steps else found.json["next_note"]
    assert child("trace", "verify", found.json["attempt_id"]).code == 0


def test_attempts_are_counted_by_class(child: CommandLine, tmp_path: Path) -> None:
    """Protects: failures of four kinds are four lines, each with the error that ended it."""
    child.environment |= {
        "CHECKREIN_CAPABILITIES": "closing_shop:TOOLS",
        "PYTHONPATH": str(ROOT / "tests" / "support"),
    }
    assert child("attempts-report", "--json").json["total"] == 0
    for n, way in enumerate((model_error, failed, policy_blocked, failed, candidate_verified)):
        assert way(child, tmp_path / str(n)).code in {0, 4}
    found = child("attempts-report", "--since", "1h", "--json").json
    classes = {(c["status"], c["error_type"]): c["attempts"] for c in found["classes"]}
    assert classes == {
        ("FAILED", "closed"): 2,
        ("MODEL_ERROR", "protocol_error"): 1,
        ("POLICY_BLOCKED", "secret_path"): 1,
        ("CANDIDATE_VERIFIED", None): 1,
    }
    errors = {(e["capability"], e["error_type"]): e["calls"] for e in found["errors"]}
    assert errors["shop.ask", "closed"] == 2
    assert errors["no_such_tool", "unknown_tool"] == 3
    assert found["retry_by_machine"]["MODEL_ERROR"]["may"] == "changed"
    assert "FAILED\tclosed\t2" in child("attempts-report").out


def test_killed_and_recovered_it_is_noticed_the_same(child: CommandLine, tmp_path: Path) -> None:
    """Protects: what is noticed is computed from the database; a crash changes nothing of it."""
    whole = ran(child, tmp_path / "whole", [LOOK] * 20)
    assert whole.json["status"] == "WAITING_FOR_USER"
    task = task_file(tmp_path / "killed", [LOOK] * 20)
    fate = child("run", task, CHECKREIN_FAILPOINT="before_decisions:4")
    assert fate.code == -signal.SIGKILL
    attempt = child("status", "--json").json["attempts"][0]["attempt_id"]
    for place in ("after_raw_output:2", "before_decisions:1"):
        assert child("recover", attempt, CHECKREIN_FAILPOINT=place).code == -signal.SIGKILL
    again = child("recover", attempt, "--json")
    assert (again.json["status"], again.json["turns"]) == ("WAITING_FOR_USER", whole.json["turns"])
    assert noticed(child, attempt) == noticed(child, whole.json["attempt_id"])
    assert child("trace", "verify", attempt).code == 0


def noticed(child: CommandLine, attempt: str) -> list[dict[str, Any]]:
    """The notices of one attempt, without ids of its own."""
    events = child("trace", attempt, "--json").json["events"]
    found = [e["payload"] for e in events if e["type"] == "no_progress_noticed"]
    assert found
    return [{**p, "action_ids": len(p["action_ids"])} for p in found]
