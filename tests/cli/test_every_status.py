"""Every status in which an attempt can wait or end, from a task file, by commands alone."""

import re
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, Ran, task_file
from loops import ASK_WRITES, DONE, call, model_calls, says
from project_files import ROOT

from checkrein.contracts.attempt import SUSPENDED, TERMINAL, AttemptStatus
from checkrein.contracts.retrying import RETRY

Cli = Callable[..., Ran]


@dataclass(frozen=True)
class Shell:
    """Commands in this process, and in one of their own where that is what it takes."""

    cli: Cli
    child: CommandLine

    def __call__(self, *args: object) -> Ran:
        """Run one command to its end."""
        return self.cli(*args)


Way = Callable[[Shell, Path], Ran]

PAGE = ROOT / "docs" / "failures.md"
WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))
LOOK = says("I look.", call("workspace.read", path="a.txt"))
QUESTION = says("", call("ask_user", question="Which?"))
PAY = says("I pay.", call("shop.pay", order="o1"))
PATCH = "@@ -1 +1 @@\n-one\n+two\n"
FAILS = [{"command": {"argv": ["false"]}}]


def ran(cli: Shell, folder: Path, turns: list[Any], **fields: Any) -> Ran:
    """Run a task file to its first pause or its end."""
    return cli("run", task_file(folder, turns, **fields), "--json")


def waiting_for_approval(cli: Shell, folder: Path) -> Ran:
    """A policy asks for every write."""
    return ran(cli, folder, [WRITE, DONE], policy=str(ASK_WRITES))


def approval_stale(cli: Shell, folder: Path) -> Ran:
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


def waiting_for_effect(cli: Shell, folder: Path) -> Ran:
    """Another run has the key of the same act, and nobody knows yet what became of it."""
    first = ran(cli, folder / "first", [PAY, DONE], capabilities=["shop.pay"])
    assert first.json["status"] == "RECONCILE_REQUIRED"
    return ran(cli, folder / "second", [PAY, DONE], capabilities=["shop.pay"])


def reconcile_required(cli: Shell, folder: Path) -> Ran:
    """The answer to a payment got lost."""
    return ran(cli, folder, [PAY, DONE], capabilities=["shop.pay"])


def waiting_for_user(cli: Shell, folder: Path) -> Ran:
    """The model asks; one that goes in circles comes to the same (tests/loop/test_no_progress)."""
    return ran(cli, folder, [QUESTION, DONE])


def budget_exhausted(cli: Shell, folder: Path) -> Ran:
    """One step, and more to do."""
    return ran(cli, folder, [LOOK, DONE], budgets={"steps": 1})


def turn_stopped(cli: Shell, folder: Path) -> Ran:
    """The model says nothing at all."""
    return ran(cli, folder, [says(""), DONE])


def paused(cli: Shell, folder: Path) -> Ran:
    """A person asks for a pause while the model thinks."""
    slow = says("", call("workspace.read", path="a.txt"), delay_s=3)
    process = cli.child.started("run", task_file(folder, [slow, DONE]), "--json")
    deadline = time.monotonic() + 50
    while not model_calls(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    attempt = cli("status", "--json").json["attempts"][0]["attempt_id"]
    assert cli("pause", attempt, "--as", "alice").code == 0
    out, err = process.communicate(timeout=60)
    return Ran(process.returncode, out, err)


def candidate_verified(cli: Shell, folder: Path) -> Ran:
    """It is done, and the checks say so."""
    return ran(cli, folder, [WRITE, DONE])


def failed_verification(cli: Shell, folder: Path) -> Ran:
    """It is claimed to be done, and the checks say no."""
    return ran(cli, folder, [DONE], success=FAILS, budgets={"repairs": 0})


def policy_blocked(cli: Shell, folder: Path) -> Ran:
    """Three turns of nothing but denials under the shipped rules."""
    secret = says("", call("workspace.write_file", path=".env", content="x"))
    return ran(cli, folder, [secret] * 3, policy=None)


def environment_error(cli: Shell, folder: Path) -> Ran:
    """The folder that it works in is gone when it is to go on."""
    asked = ran(cli, folder, [QUESTION, DONE]).json
    shutil.rmtree(asked["workspace"])
    assert cli("answer", asked["attempt_id"], "This.", "--as", "alice").code == 0
    return cli("resume", asked["attempt_id"], "--json")


def model_error(cli: Shell, folder: Path) -> Ran:
    """Three turns of calls that nobody can use."""
    return ran(cli, folder, [says("", call("no_such_tool"))] * 3)


def failed(cli: Shell, folder: Path) -> Ran:
    """What the task calls essential fails for good."""
    ask = says("", call("shop.ask", what="bread"))
    return ran(cli, folder, [ask, DONE], capabilities=["shop.ask"], essential=["shop.ask"])


def cancelled(cli: Shell, folder: Path) -> Ran:
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


@pytest.fixture
def shell(cli: Cli, child: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Commands that know the tools of closing_shop."""
    monkeypatch.setenv("CHECKREIN_CAPABILITIES", "closing_shop:TOOLS")
    child.environment |= {
        "CHECKREIN_CAPABILITIES": "closing_shop:TOOLS",
        "PYTHONPATH": str(ROOT / "tests" / "support"),
    }
    return Shell(cli, child)


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
    status: AttemptStatus, shell: Shell, tmp_path: Path
) -> None:
    """Protects: each status as programs meet it, with its exit code and what to do now."""
    found = WAYS[status](shell, tmp_path)
    assert found.json["status"] == status, found
    code, retry, command = documented()[status]
    told = shell("status", found.json["attempt_id"], "--json")
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
    people = shell("status", found.json["attempt_id"])
    assert people.out.startswith(f"{status}  attempt ")
    assert f"next: {found.json['next'][0]}" in people.out if steps else found.json["next_note"]
    assert shell("trace", "verify", found.json["attempt_id"]).code == 0


def test_attempts_are_counted_by_class(shell: Shell, tmp_path: Path) -> None:
    """Protects: failures of four kinds are four lines, each with the error that ended it."""
    assert shell("attempts-report", "--json").json["total"] == 0
    for n, way in enumerate((model_error, failed, policy_blocked, failed, candidate_verified)):
        assert way(shell, tmp_path / str(n)).code in {0, 4}
    found = shell("attempts-report", "--since", "1h", "--json").json
    classes = {(c["status"], c["error_type"]): c["attempts"] for c in found["classes"]}
    assert classes == {
        ("FAILED", "closed"): 2,
        ("MODEL_ERROR", "protocol_error"): 1,
        ("POLICY_BLOCKED", "protected_path"): 1,
        ("CANDIDATE_VERIFIED", None): 1,
    }
    errors = {(e["capability"], e["error_type"]): e["calls"] for e in found["errors"]}
    assert errors["shop.ask", "closed"] == 2
    assert errors["no_such_tool", "unknown_tool"] == 3
    assert found["retry_by_machine"]["MODEL_ERROR"]["may"] == "changed"
    assert "FAILED\tclosed\t2" in shell("attempts-report").out


def test_killed_and_recovered_it_is_noticed_the_same(shell: Shell, tmp_path: Path) -> None:
    """Protects: what is noticed is computed from the database; a crash changes nothing of it."""
    whole = ran(shell, tmp_path / "whole", [LOOK] * 20)
    assert whole.json["status"] == "WAITING_FOR_USER"
    task = task_file(tmp_path / "killed", [LOOK] * 20)
    fate = shell.child("run", task, CHECKREIN_FAILPOINT="before_decisions:4")
    assert fate.code == -signal.SIGKILL
    attempt = shell("status", "--json").json["attempts"][0]["attempt_id"]
    for place in ("after_raw_output:2", "before_decisions:1"):
        assert shell.child("recover", attempt, CHECKREIN_FAILPOINT=place).code == -signal.SIGKILL
    again = shell("recover", attempt, "--json")
    assert (again.json["status"], again.json["turns"]) == ("WAITING_FOR_USER", whole.json["turns"])
    assert noticed(shell, attempt) == noticed(shell, whole.json["attempt_id"])
    assert shell("trace", "verify", attempt).code == 0


def noticed(shell: Shell, attempt: str) -> list[dict[str, Any]]:
    """The notices of one attempt, without ids of its own."""
    events = shell("trace", attempt, "--json").json["events"]
    found = [e["payload"] for e in events if e["type"] == "no_progress_noticed"]
    assert found
    return [{**p, "action_ids": len(p["action_ids"])} for p in found]
