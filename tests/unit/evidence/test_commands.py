"""`checkrein evidence`: exit codes and words, and one JSON object for programs."""

from pathlib import Path

import loops
import pytest
from command_line import CommandLine, task_file

WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))


@pytest.fixture
def checkrein(environment: dict[str, str]) -> CommandLine:
    """The command line on the test's home and database."""
    return CommandLine(environment)


@pytest.mark.shows(10)
def test_export_and_verify(checkrein: CommandLine, tmp_path: Path) -> None:
    """Protects: exporting by the task's id, and checking where there is no database."""
    report = checkrein("run", task_file(tmp_path, [WRITE, loops.DONE]), "--json").json
    out = tmp_path / "evidence"
    exported = checkrein("evidence", "export", report["task_id"], "--out", out, "--json")
    assert exported.code == 0
    assert exported.json["attempt_id"] == report["attempt_id"]
    assert exported.json["head"] == report["evidence"]

    alone = CommandLine({"PATH": "", "CHECKREIN_DATABASE_URL": "postgresql://127.0.0.1:1/none"})
    verified = alone("evidence", "verify", out, "--json")
    assert verified.code == 0
    assert verified.json["ok"]
    assert verified.json["root"] == exported.json["root"]
    for_people = alone("evidence", "verify", out)
    assert for_people.code == 0
    assert "whole:" in for_people.out
    assert "alice: change a.txt" in for_people.out
    assert "COMMITTED file:a.txt" in for_people.out

    again = checkrein("evidence", "export", report["task_id"], "--out", out, "--json")
    assert (again.code, again.error["code"]) == (2, "out_not_empty")


@pytest.mark.shows(10)
def test_verify_names_the_file_and_the_problem(evidence: Path) -> None:
    """Protects: exit code 1, and a person knows which file is not what it was."""
    alone = CommandLine({"PATH": ""})
    path = evidence / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b"bob", b"eve", 1))
    wrong = alone("evidence", "verify", evidence, "--json")
    assert wrong.code == 1
    assert not wrong.json["ok"]
    assert [finding["file"] for finding in wrong.json["findings"]] == ["events.jsonl"]
    for_people = alone("evidence", "verify", evidence)
    assert for_people.code == 1
    assert "events.jsonl: its content is not what was sealed" in for_people.out


def test_unusable_input_is_exit_code_2(checkrein: CommandLine, tmp_path: Path) -> None:
    """Protects: one clear message with what, where and what to do next."""
    file = tmp_path / "file"
    file.write_text("x")
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "nowhere", file, tmp_path / "empty"):
        ran = checkrein("evidence", "verify", folder, "--json")
        assert (ran.code, ran.error["code"]) == (2, "no_evidence")
        assert str(folder) in ran.error["message"]
        assert "checkrein evidence export" in ran.error["message"]
    ran = checkrein("evidence", "export", "no-such-task", "--out", tmp_path / "x", "--json")
    assert (ran.code, ran.error["code"]) == (2, "unknown_task")
    assert not (tmp_path / "x").exists()


def test_a_task_that_has_not_ended_has_no_evidence(checkrein: CommandLine, tmp_path: Path) -> None:
    """Protects: what waits proves nothing yet, and that is said with the attempt's status."""
    task = task_file(tmp_path, [WRITE, loops.DONE], policy=str(loops.ASK_WRITES))
    report = checkrein("run", task, "--json").json
    ran = checkrein("evidence", "export", report["task_id"], "--out", tmp_path / "x", "--json")
    assert (ran.code, ran.error["code"]) == (2, "attempt_not_ended")
    assert "WAITING_FOR_APPROVAL" in ran.error["message"]


def test_text_in_evidence_cannot_steer_a_terminal(evidence: Path) -> None:
    """Protects: a folder that somebody made up is shown, never obeyed."""
    (evidence / "\x1b[2J.txt").write_text("x")
    ran = CommandLine({"PATH": ""})("evidence", "verify", evidence)
    assert ran.code == 1
    assert "\x1b" not in ran.out
