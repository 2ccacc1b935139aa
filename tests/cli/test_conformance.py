"""`checkrein conformance target` as an author runs it: a real process, without any database."""

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


def test_target_that_keeps_its_word(author: CommandLine, home: Path) -> None:
    """Protects the author's reading: a line for each check, and a count at the end."""
    ran = author("conformance", "target", "targets_honest:charge")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "store.charge@1: guarantee atomic_key, lookup authoritative"
    assert "key binding: other arguments are refused: ok" in lines
    assert "atomic_key: a killed sender and its successor make one effect: ok" in lines
    assert lines[-1] == f"{len(lines) - 2} ok, 0 failed, 0 not checked"
    assert list(home.iterdir()) == []


def test_target_that_breaks_a_guarantee(author: CommandLine) -> None:
    """Protects whoever gates on the exit code, and names what is not kept."""
    ran = author("conformance", "target", "targets_broken:binds_nothing")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert (
        "key binding: other arguments are refused: FAILED: the same key with other arguments: "
        "it said COMMITTED, not REFUSED" in lines
    )
    assert lines[-2] == "store.unbound does not keep: key binding"
    assert lines[-1].endswith(" 1 failed, 0 not checked")


def test_checks_that_could_not_count_say_so(author: CommandLine) -> None:
    """Protects against a pass by silence."""
    ran = author("conformance", "target", "targets_honest:uncounted")
    assert ran.code == 0
    assert (
        "atomic_key: sends at once make one effect: not checked: "
        "it must be counted, and the Target has no count()" in ran.out.splitlines()
    )
    assert " 0 failed, 8 not checked" in ran.out


def test_program_reads_one_object(author: CommandLine) -> None:
    """Protects programs: the verdicts as data, and nothing of the target's own beside them."""
    ran = author("conformance", "target", "targets_broken:claims", "--json")
    assert ran.code == 1
    said = ran.json
    assert said["object"] == "targets_broken:claims"
    assert (said["ok"], said["broken"]) == (False, ["lookup authoritative"])
    assert (said["guarantee"], said["lookup"]) == ("atomic_key", "authoritative")
    assert {frozenset(one) for one in said["checks"]} == {
        frozenset({"guarantee", "check", "ok", "problem"})
    }


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("targets_honest", "plug_in_unusable", "Write MODULE:OBJECT"),
        ("no_such_module:x", "plug_in_unusable", "There is no module no_such_module"),
        ("targets_honest:nothing", "target_unusable", "is no Target"),
        ("targets_honest:reading", "target_unusable", "is a READ"),
    ],
)
def test_what_is_no_target_is_unusable(
    author: CommandLine, name: str, code: str, message: str
) -> None:
    """Protects authors from a traceback where they misspell."""
    ran = author("conformance", "target", name, "--json")
    assert ran.code == 2
    assert ran.error["code"] == code
    assert message in ran.error["message"]


def test_object_beside_oneself_is_found(
    author: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the short way: the current directory is searched, by the killed sender too."""
    beside = "from targets_honest import charge\nprint('loaded')\n"
    (tmp_path / "mine.py").write_text(beside, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = author("conformance", "target", "mine:charge", "--json")
    assert ran.code == 0
    assert ran.json["ok"]
    assert {one["ok"] for one in ran.json["checks"]} == {True}
