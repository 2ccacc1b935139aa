"""`checkrein inbox` on a real terminal and a real database: keys in, answers recorded."""

import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import CommandLine, Ran, task_file
from loops import ASK_WRITES, DONE, call, says
from screens import OnTerminal

Cli = Callable[..., Ran]

UP, DOWN = "\x1b[A", "\x1b[B"


@pytest.fixture
def two(cli: Cli, tmp_path: Path) -> list[dict[str, Any]]:
    """Two attempts that wait for approval."""
    found: list[dict[str, Any]] = []
    for name in ("first", "second"):
        write = says(
            f"I make {name}.", call("workspace.write_file", path=f"{name}.txt", content=name)
        )
        ran = cli(
            "run", task_file(tmp_path / name, [write, DONE], policy=str(ASK_WRITES)), "--json"
        )
        assert ran.code == 3
        found.append(ran.json["approvals"][0])
    return found


@pytest.fixture
def inbox(two: list[dict[str, Any]], environment: dict[str, str]) -> Generator[OnTerminal]:
    """Bob's inbox, with both on it."""
    with OnTerminal(["inbox", "--as", "bob"], environment) as terminal:
        terminal.sees("2 waiting", "first.txt", "second.txt")
        yield terminal


def status(database_url: str) -> dict[str, str]:
    """Approval id to its status."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT approval_id, status FROM checkrein.approvals").fetchall()
    return dict(rows)


def test_a_preview_is_read_and_approved(
    inbox: OnTerminal, two: list[dict[str, Any]], database_url: str
) -> None:
    """Protects: what is approved is what was marked, after a yes that names it."""
    inbox.press(DOWN)
    inbox.sees("why            the model says: I make second.")
    inbox.press("\r")
    inbox.sees("q back to the list", "preview (diff):", "+second")
    inbox.press("a")
    inbox.sees(f"Approve {two[1]['approval_id']}", "y approves")
    inbox.press("x")
    inbox.sees("Nothing was said.")
    assert set(status(database_url).values()) == {"PENDING"}
    inbox.press("a")
    inbox.sees("y approves")
    inbox.press("y")
    inbox.sees("is GRANTED by bob", "checkrein resume", "1 waiting")
    assert status(database_url) == {
        two[0]["approval_id"]: "PENDING",
        two[1]["approval_id"]: "GRANTED",
    }
    inbox.press("q")
    assert inbox.ended() == 0
    assert inbox.restored()
    assert not inbox.screen.second


def test_a_no_takes_its_reason(
    inbox: OnTerminal, two: list[dict[str, Any]], database_url: str
) -> None:
    """Protects: a reason is written in a line, in any letters, and can be taken back."""
    inbox.press("1r")
    inbox.sees("because: ", "enter sends")
    inbox.press("\r")
    inbox.sees("Say something")
    inbox.press("niет\x7f\x7fcht heute")
    inbox.sees("cht heute")
    inbox.press("\r")
    inbox.sees("is REJECTED by bob", "1 waiting")
    inbox.press("o")
    inbox.sees("Answer in place of workspace.write_file@1")
    inbox.press("\x1b")
    inbox.sees("Nothing was said.")
    inbox.press("oIt is there.\r")
    inbox.sees("is SUPERSEDED by bob", "nothing waits for approval")
    assert status(database_url) == {
        two[0]["approval_id"]: "REJECTED",
        two[1]["approval_id"]: "SUPERSEDED",
    }


def test_an_edit_goes_through_the_editor(
    two: list[dict[str, Any]], environment: dict[str, str], tmp_path: Path, database_url: str
) -> None:
    """Protects: the editor has the terminal to itself, and the inbox takes it back."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho editing\nsed -i s/first.txt/other.txt/ "$1"\n')
    editor.chmod(0o755)
    more = {**environment, "EDITOR": str(editor)}
    with OnTerminal(["inbox", "--as", "bob"], more) as inbox:
        inbox.sees("2 waiting")
        inbox.press("1e")
        inbox.sees("is SUPERSEDED by bob", "1 waiting")
        assert b"editing" in inbox.raw
        inbox.press("e")
        inbox.sees("Nothing was changed")
    assert status(database_url)[two[0]["approval_id"]] == "SUPERSEDED"


def test_two_inboxes_at_once_make_one_decision(
    inbox: OnTerminal, two: list[dict[str, Any]], environment: dict[str, str], database_url: str
) -> None:
    """Protects: the slower one is told, its keys reach no other request, and it goes on."""
    with OnTerminal(["inbox", "--as", "carol"], environment) as other:
        other.sees("2 waiting")
        other.press("1r")
        other.sees("because: ")
        inbox.press("1ay")
        inbox.sees("is GRANTED by bob", "1 waiting")
        other.sees("is not open any more", "1 waiting", without="because: ")
        assert status(database_url)[two[1]["approval_id"]] == "PENDING"
        other.press("ro, this one\r")
        other.sees("is REJECTED by carol")
        inbox.sees("nothing waits for approval")
    assert status(database_url)[two[0]["approval_id"]] == "GRANTED"


def test_who_may_not_is_told_and_the_inbox_goes_on(
    two: list[dict[str, Any]], environment: dict[str, str], database_url: str
) -> None:
    """Protects: a refusal is a message, not an end."""
    with OnTerminal(["inbox", "--as", "mallory"], environment) as inbox:
        inbox.sees("2 waiting")
        inbox.press("ay")
        inbox.sees("mallory may not answer this request")
        inbox.press("q")
        assert inbox.ended() == 0
    assert set(status(database_url).values()) == {"PENDING"}


def test_another_size_is_followed(inbox: OnTerminal) -> None:
    """Protects: the list works in any size that a window has."""
    inbox.resize(40, 10)
    inbox.sees("2 waiting", "on file:fir")
    inbox.resize(120, 30)
    inbox.sees("q quit", "may answer     bob, carol")


def test_the_terminal_is_as_before_after_sigterm(inbox: OnTerminal) -> None:
    """Protects: whatever ends the inbox, the person's terminal works."""
    assert not inbox.restored()
    inbox.process.send_signal(signal.SIGTERM)
    assert inbox.ended() == 143
    assert inbox.restored()
    assert not inbox.screen.second


def test_the_terminal_is_as_before_while_stopped(inbox: OnTerminal) -> None:
    """Protects: Ctrl-Z gives the shell a terminal that works, and fg brings the inbox back."""
    inbox.stops()
    assert inbox.restored()
    inbox.process.send_signal(signal.SIGCONT)
    inbox.sees("2 waiting", "first.txt")
    inbox.press("\x03")
    assert inbox.ended() == 130
    assert inbox.restored()


def test_without_a_terminal_it_says_what_scripts_use(cli: Cli, two: list[dict[str, Any]]) -> None:
    """Protects: a script is told the commands that do the same."""
    ran = cli("inbox", "--as", "bob")
    assert (ran.code, "checkrein approvals --json" in ran.err) == (2, True)
    listed = cli("inbox", "--json").json["approvals"]
    assert [one["approval_id"] for one in listed] == [one["approval_id"] for one in two]


def test_in_a_process_of_its_own(child: CommandLine) -> None:
    """Protects: without a terminal nothing is opened and nothing hangs."""
    ran = child("inbox", "--as", "bob", "--json")
    assert (ran.code, ran.json) == (0, {"approvals": []})
