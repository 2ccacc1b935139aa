"""`checkrein crashtest` as an author runs it: a real process, with a Postgres of its own."""

import os
from pathlib import Path

import pytest
from command_line import CommandLine

SUPPORT = Path(__file__).resolve().parents[1] / "support"


@pytest.fixture
def author(home: Path) -> CommandLine:
    """Commands of somebody whose targets lie beside them, and who has no database."""
    return CommandLine(
        {
            "PATH": os.environ["PATH"],
            "CHECKREIN_HOME": str(home),
            "PYTHONPATH": str(SUPPORT),
            "PYTHONWARNINGS": "error",
            "NO_COLOR": "1",
        }
    )


def test_one_cell_by_its_name(author: CommandLine, home: Path, tmp_path: Path) -> None:
    """Protects the reading: a line for the cell, the table, and the count as the last line."""
    name = "before_receipt/http_none_none/exit"
    table = tmp_path / "table.md"
    ran = author("crashtest", "--cell", name, "--table", table)
    assert ran.code == 0, ran.out + ran.err
    lines = ran.out.splitlines()
    said = "RECONCILE_REQUIRED > CANDIDATE_VERIFIED"
    assert lines[0] == f"{name}: {said}, 1 effect at the target: ok"
    assert lines[-1] == "1 cells, 1 right, 0 wrong"
    assert table.read_text(encoding="utf-8").splitlines()[-1] == f"| before_receipt | {said}, 1 |"
    assert list(home.iterdir()) == [], "it keeps nothing in the person's home"


def test_a_target_of_ones_own(author: CommandLine) -> None:
    """Protects authors: the table runs on what they bring, for what it declares."""
    ran = author(
        "crashtest",
        *("--target", "targets_honest:charge", "--points", "after_target"),
        *("--durability", "exit", "--json"),
    )
    assert ran.code == 0, ran.out + ran.err
    (cell,) = ran.json["cells"]
    assert cell["name"] == "after_target/targets_honest:charge/exit"
    assert (cell["status"], cell["effects"], cell["right"]) == ("CANDIDATE_VERIFIED", 1, True)
    assert ran.json["wrong"] == 0


def test_a_target_that_cannot_count(author: CommandLine) -> None:
    """Protects against a number that nobody counted."""
    ran = author(
        "crashtest",
        *("--target", "targets_honest:uncounted", "--points", "after_executing"),
        *("--durability", "sync"),
    )
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.splitlines()[0].endswith(": CANDIDATE_VERIFIED, not counted: ok")


def test_a_wrong_cell_is_told_by_the_exit_code(author: CommandLine) -> None:
    """Protects whoever gates on it: without the ledger's claim, a cell is WRONG."""
    name = "before_receipt/http_none_none/exit"
    ran = author("crashtest", "--without-claim", "--cell", name)
    assert ran.code == 1
    assert "2 effects at the target, not 1" in ran.out
    assert ran.out.splitlines()[-1] == "1 cells, 0 right, 1 wrong"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--cell", "nowhere/file/exit"), "There is no such cell."),
        (("--points", "after_lunch"), "There is no such cell."),
        (("--target", "paper"), "There is no kind of target 'paper'."),
        (("--durability", "never"), "--durability is one or more of sync, async, exit"),
        (("--table", "/nowhere/table.md"), "The table cannot be written to /nowhere/table.md"),
        (("--target", "targets_honest:book"), "No crash table can be made of store.book"),
    ],
)
def test_what_is_not_there(author: CommandLine, args: tuple[str, ...], said: str) -> None:
    """Protects against a table of no cells that counts as right."""
    ran = author("crashtest", *args)
    assert ran.code == 2
    assert said in ran.err
