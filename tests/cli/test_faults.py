"""How a command ends: an exit code for every status and error, and our own faults in one line."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import psycopg
import pytest
from command_line import COMMAND, Ran, task_file
from loops import DONE, call, says

from checkrein import compose
from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.decision import ApprovalTerms
from checkrein.contracts.task import TaskContract
from checkrein.entrypoints.cli import exits
from checkrein.entrypoints.cli.next_steps import next_steps, people
from checkrein.errors import (
    BudgetExceededError,
    BusyError,
    CheckreinError,
    ConflictError,
    EnvironmentFault,
    InputError,
    IntegrityError,
    LeaseLostError,
    StoreError,
)
from checkrein.graph.report import Report

Cli = Callable[..., Ran]

CONTRACT = TaskContract.model_validate(
    {
        "goal": "g",
        "success": [{"command": {"argv": ["true"]}}],
        "approvals": {"roles": {"approver": ["alice", "bob"], "owner": ["bob", "dora"]}},
    }
)


def report(status: AttemptStatus, *, waits: str | None = None, alive: bool = False) -> Report:
    """An attempt that stands so."""
    return Report(
        task_id="t" * 36,
        attempt_id="a" * 36,
        status=status,
        waiting_for=waits,
        workspace="/w",
        lease_alive=alive,
    )


def request(*roles: str, separate: bool = False) -> ApprovalRequest:
    """A request that these roles may answer."""
    return ApprovalRequest.model_validate(
        {
            "approval_id": "apr_1",
            "terms": ApprovalTerms(roles=list(roles), separation_of_duty=separate),
            "requested_by": "alice",
            "args": {},
            "request_revision": 1,
            "reversible": True,
        }
        | dict.fromkeys(
            [
                *("action_id", "attempt_id", "capability", "operation_hash", "resource"),
                *("resource_version", "contract_version", "policy_version", "reason_code"),
                *("purpose", "preview", "on_failure"),
            ],
            "x",
        )
    )


@pytest.mark.parametrize("status", AttemptStatus)
def test_every_status_has_its_exit_code(status: AttemptStatus) -> None:
    """Protects: a program can tell the endings apart without reading a word."""
    code = exits.of_report(report(status))
    if status.is_suspended:
        assert code == 3
    elif status.is_terminal:
        assert code == {"CANDIDATE_VERIFIED": 0, "CANCELLED": 5}.get(status, 4)
    else:
        assert code == 3  # it waits for `recover`
        assert exits.of_report(report(status, alive=True)) == 6


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InputError, 2),
        (ConflictError, 2),
        (StoreError, 2),
        (EnvironmentFault, 2),
        (BusyError, 6),
        (LeaseLostError, 6),
        (IntegrityError, 1),
        (BudgetExceededError, 70),
        (CheckreinError, 70),
    ],
)
def test_every_error_has_its_exit_code(kind: type[CheckreinError], code: int) -> None:
    """Protects: unusable input, a busy attempt and a fault of ours are three things."""
    assert exits.of_error(kind("message", op="test")) == code


@pytest.mark.parametrize("status", AttemptStatus)
@pytest.mark.parametrize("waits", [None, "somebody"])
def test_every_status_says_what_comes_next(status: AttemptStatus, waits: str | None) -> None:
    """Protects: nobody is left with a status and no way on; no way on is said to be none."""
    found = report(status, waits=waits)
    for alive in (False, True):
        steps = next_steps(found.model_copy(update={"lease_alive": alive}), CONTRACT)
        assert steps.commands or steps.note
        assert all(command.startswith("checkrein ") for command in steps.commands)


def test_who_may_answer_is_named_in_the_command() -> None:
    """Protects: the command that is offered can be run as it stands."""
    found = report(AttemptStatus.WAITING_FOR_APPROVAL, waits="a person")
    for asked, person in (
        (request("approver"), "alice"),
        (request("approver", separate=True), "bob"),
        (request("owner", "approver"), "bob"),
    ):
        steps = next_steps(found.model_copy(update={"approvals": [asked]}), CONTRACT)
        assert steps.commands == [
            f"checkrein approve apr_1 --as {person}",
            f"checkrein resume {found.attempt_id}",
        ]
    assert people(CONTRACT, request("owner", "approver")) == ["bob", "dora", "alice"]
    nobody = found.model_copy(update={"approvals": [request("judge")]})
    assert next_steps(nobody, CONTRACT).commands == []
    assert "names nobody" in next_steps(nobody, CONTRACT).note


def test_a_fault_of_ours_is_one_message(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: people see no traceback unless they ask, and know that it is not their fault."""

    def broken(*args: object, **more: object) -> NoReturn:
        raise ZeroDivisionError("by\x1b[0m zero")

    monkeypatch.setattr(compose, "composed", broken)
    ran = cli("run", task_file(tmp_path, [DONE]))
    assert ran.code == 70
    assert ran.err.startswith(
        "checkrein: A fault of Checkrein, not of yours: ZeroDivisionError: by"
    )
    assert "CHECKREIN_DEBUG=1" in ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    ran = cli("run", tmp_path / "task.yaml", "--json")
    assert (ran.code, ran.error["code"], ran.err) == (70, "internal", "")
    monkeypatch.setenv("CHECKREIN_DEBUG", "1")
    ran = cli("run", tmp_path / "task.yaml", "--json")
    assert "Traceback" in ran.err
    assert ran.error["code"] == "internal"


def test_a_write_that_the_store_refuses_is_a_fault_of_ours(
    cli: Cli, tmp_path: Path, database_url: str
) -> None:
    """Protects: a conflict that no person caused is not blamed on one, and says how to go on."""
    task = task_file(tmp_path, [says("I look.", call("workspace.read", path="a.txt")), DONE])
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT * FROM checkrein.transitions")
        connection.execute("DELETE FROM checkrein.transitions WHERE machine = 'action'")
    ran = cli("run", task, "--json")
    assert ran.code == 70
    attempt = ran.error["context"]["attempt_id"]
    assert f"checkrein recover {attempt}" in ran.error["message"]
    with psycopg.connect(database_url) as connection:
        connection.execute("DELETE FROM checkrein.transitions")
        connection.execute("INSERT INTO checkrein.transitions SELECT * FROM kept")
    assert cli("recover", attempt).code == 0


def test_a_reader_that_goes_away_is_no_fault() -> None:
    """Protects: `checkrein ... | head` ends quietly."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, "graph"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(write)
    assert done.returncode == 141
    assert "rror" not in done.stderr
