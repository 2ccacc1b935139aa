"""What people say: stored once, when it is said, by who may say it, about what is still open."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import Ran, task_file
from loops import ASK_WRITES, DONE, call, says

Cli = Callable[..., Ran]

WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))


@pytest.fixture
def asked(cli: Cli, tmp_path: Path) -> dict[str, Any]:
    """An attempt that waits for approval, as its JSON tells it."""
    task = task_file(tmp_path, [WRITE, DONE], policy=str(ASK_WRITES))
    ran = cli("run", task, "--json")
    assert ran.code == 3
    return ran.json


def approval_of(asked: dict[str, Any]) -> str:
    """The id of what is asked."""
    found: str = asked["approvals"][0]["approval_id"]
    return found


def test_an_approval_is_answered_once(cli: Cli, asked: dict[str, Any]) -> None:
    """Protects: the second answer is told that there is one, and by whom."""
    ran = cli("approve", approval_of(asked), "--as", "bob", "--reason", "looks right", "--json")
    assert (ran.code, ran.json["approval"]["status"]) == (0, "GRANTED")
    assert ran.json["next"] == [f"checkrein resume {asked['attempt_id']}"]
    for args in (["approve"], ["reject", "--reason", "no"]):
        again = cli(args[0], approval_of(asked), "--as", "carol", *args[1:], "--json")
        assert (again.code, again.error["code"]) == (2, "approval_not_open")
        assert "GRANTED by bob" in again.error["message"]
    events = cli("trace", asked["attempt_id"], "--json").json["events"]
    (said,) = [e["payload"] for e in events if e["type"] == "approval_decided"]
    assert (said["approver"], said["authenticated"]) == ("bob", False)
    assert said["reason"] == "looks right"


def test_who_may_not_approve_is_told_who_may(cli: Cli, asked: dict[str, Any]) -> None:
    """Protects: a yes counts only from whom the task names."""
    ran = cli("approve", approval_of(asked), "--as", "mallory")
    assert ran.code == 2
    assert "mallory may not" in ran.err
    assert "bob, carol" in ran.err
    assert len(cli("approvals", "--json").json["approvals"]) == 1


@pytest.mark.shows(82)
def test_a_rejection_reaches_the_model_and_changes_nothing(cli: Cli, asked: dict[str, Any]) -> None:
    """Protects: a no is recorded with its reason, and nothing runs."""
    assert cli("reject", approval_of(asked), "--as", "carol", "--reason", "not today").code == 0
    ran = cli("resume", asked["attempt_id"], "--json")
    assert ran.json["effects"] == {}
    assert (Path(ran.json["workspace"]) / "a.txt").read_text() == "one\n"
    events = cli("trace", asked["attempt_id"], "--json").json["events"]
    (seen,) = [e["payload"]["observation"] for e in events if e["type"] == "observation"]
    assert seen["status"] == "rejected"
    assert "not today" in str(seen)


def test_an_expired_approval_cannot_be_answered(
    cli: Cli, asked: dict[str, Any], database_url: str
) -> None:
    """Protects: a yes that comes too late is none; the attempt goes on without it."""
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE checkrein.approvals SET expires_at = now() - interval '1 s'")
    ran = cli("approve", approval_of(asked), "--as", "bob", "--json")
    assert (ran.code, ran.error["code"]) == (2, "approval_not_open")
    assert "is EXPIRED" in ran.error["message"]
    now = cli("status", asked["attempt_id"], "--json")
    assert (now.code, now.json["approvals"]) == (3, [])
    assert now.json["next"] == [f"checkrein resume {asked['attempt_id']}"]
    assert cli("resume", asked["attempt_id"], "--json").json["effects"] == {}


def test_what_is_cancelled_cannot_be_approved(cli: Cli, asked: dict[str, Any]) -> None:
    """Protects: the end of an attempt is the end of what it asked for."""
    ran = cli(
        "cancel", asked["attempt_id"], "--reason", "changed my mind", "--as", "alice", "--json"
    )
    assert (ran.code, ran.json["status"], ran.json["effects"]) == (0, "CANCELLED", {})
    assert "changed my mind" in ran.json["detail"]
    late = cli("approve", approval_of(asked), "--as", "bob", "--json")
    assert (late.code, late.error["code"]) == (2, "approval_not_open")
    assert "REVOKED" in late.error["message"]
    assert cli("status", asked["attempt_id"]).code == 5
    assert cli("resume", asked["attempt_id"]).code == 5
    again = cli("cancel", asked["attempt_id"], "--reason", "once more", "--json")
    assert (again.code, again.error["code"]) == (2, "attempt_ended")


def test_resume_before_the_answer_changes_nothing(cli: Cli, asked: dict[str, Any]) -> None:
    """Protects: going on without an answer only says again what is waited for."""
    before = cli("trace", asked["attempt_id"], "--json").json
    ran = cli("resume", asked["attempt_id"], "--json")
    assert (ran.code, ran.json) == (3, asked | {"warnings": []})
    assert cli("trace", asked["attempt_id"], "--json").json == before


def test_approvals_of_one_attempt_are_shown_whole(cli: Cli, asked: dict[str, Any]) -> None:
    """Protects: a person sees what, why, by whom, on what, the diff, and what a yes covers."""
    ran = cli("approvals", asked["attempt_id"][:12])
    for words in (
        f"Approval {approval_of(asked)} is PENDING, until ",
        "workspace.write_file@1 on file:a.txt",
        "the model says: I change it.",
        "asked by     alice; rule ",
        "bob, carol (as approver)",
        "it can be undone",
        "this action once, on version sha256:",
        "    -one\n    +two\n",
        f"checkrein reject {approval_of(asked)} --as WHO --reason TEXT",
    ):
        assert words in ran.out


def test_question_and_answer(cli: Cli, tmp_path: Path) -> None:
    """Protects: the model's question reaches a person, and the person's answer the model."""
    task = task_file(tmp_path, [says("", call("ask_user", question="Which file?")), DONE])
    ran = cli("run", task, "--json")
    assert (ran.code, ran.json["status"]) == (3, "WAITING_FOR_USER")
    assert ran.json["waiting_for"] == "Which file?"
    attempt = ran.json["attempt_id"]
    assert ran.json["next"] == [f"checkrein answer {attempt} TEXT", f"checkrein resume {attempt}"]
    ran = cli("answer", attempt, "a.txt, please", "--as", "alice", "--json")
    assert (ran.code, ran.json["next"]) == (0, [f"checkrein resume {attempt}"])
    again = cli("answer", attempt, "or b.txt", "--json")
    assert (again.code, "nothing waits for an answer" in again.error["message"].lower()) == (
        2,
        True,
    )
    assert cli("resume", attempt).code == 0


def test_a_used_up_budget_says_how_it_is_raised(cli: Cli, tmp_path: Path) -> None:
    """Protects: which budget it is, what is unfinished, and the commands that go on."""
    read = says("I look.", call("workspace.read", path="a.txt"))
    ran = cli("run", task_file(tmp_path, [read, read, DONE], budgets={"steps": 1}), "--json")
    attempt = ran.json["attempt_id"]
    assert (ran.code, ran.json["status"]) == (3, "BUDGET_EXHAUSTED")
    assert ran.json["next"] == [f"checkrein budget show {attempt}"]
    assert f"checkrein budget raise {attempt} steps LIMIT" in ran.json["waiting_for"]
    assert ran.json["unfinished"] == ["check 1 (command) has not passed"]
    assert f"checkrein resume {attempt}" in ran.json["next_note"]


def test_pause_where_nothing_works(cli: Cli, asked: dict[str, Any]) -> None:
    """Protects: what waits already is told so."""
    ran = cli("pause", asked["attempt_id"], "--json")
    assert (ran.code, ran.error["code"]) == (2, "already_waiting")


def test_status_lists_attempts_and_takes_beginnings(
    cli: Cli, asked: dict[str, Any], tmp_path: Path
) -> None:
    """Protects: attempts are found again, by a short id where it is the only one."""
    assert cli("run", task_file(tmp_path / "other", [DONE])).code == 0
    listed = cli("status", "--json").json["attempts"]
    assert [one["status"] for one in listed] == ["CANDIDATE_VERIFIED", "WAITING_FOR_APPROVAL"]
    assert listed[1]["attempt_id"] == asked["attempt_id"]
    assert cli("status", asked["attempt_id"][:8], "--json").json["status"] == asked["status"]
    lines = cli("status").out.splitlines()
    assert lines[0].split("\t")[:2] == ["attempt", "status"]
    assert lines[2].split("\t")[:2] == [asked["attempt_id"], "WAITING_FOR_APPROVAL"]


def test_an_edit_on_the_command_line(cli: Cli, asked: dict[str, Any], tmp_path: Path) -> None:
    """Protects: other arguments from an option or a file; what is unusable changes nothing."""
    unusable: list[tuple[list[str], str]] = [
        (["--args", "[1]"], "one JSON object"),
        (["--args", '{"path":'], "line 1 column"),
        (["--args", '{"path": "b.txt"}'], "add content"),
        (["--args-file", str(tmp_path / "none.json")], "cannot be read"),
        (["--args", "{}", "--args-file", "x"], "give one of them"),
        ([], "set EDITOR"),
    ]
    for args, told in unusable:
        ran = cli("edit", approval_of(asked), "--as", "bob", *args)
        assert ran.code == 2, ran
        assert told in ran.err
    wanted = tmp_path / "args.json"
    wanted.write_text('{"path": "b.txt", "content": "three\\n"}')
    ran = cli("edit", approval_of(asked), "--as", "bob", "--args-file", str(wanted), "--json")
    assert (ran.code, ran.json["approval"]["status"]) == (0, "SUPERSEDED")
    again = cli("resume", asked["attempt_id"], "--json")
    assert again.code == 3
    assert again.json["approvals"][0]["args"] == {"path": "b.txt", "content": "three\n"}


def test_a_response_on_the_command_line(cli: Cli, asked: dict[str, Any]) -> None:
    """Protects: the person's text is the result, and the tool does not run."""
    ran = cli("respond", approval_of(asked), "It is done by hand.", "--as", "bob", "--json")
    assert (ran.code, ran.json["approval"]["status"]) == (0, "SUPERSEDED")
    done = cli("resume", asked["attempt_id"], "--json")
    assert done.json["effects"] == {}
