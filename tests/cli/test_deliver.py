"""deliver: people are told, what became of it can be seen, and it lets go when it is asked to."""

import json
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asking import asking, move_clock
from command_line import CommandLine, Ran, task_file
from held_writes import waited
from loops import DONE, call, says

from checkrein.settings import Settings

Cli = Callable[..., Ran]

WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))


def named(folder: Path, *more: dict[str, Any]) -> str:
    """A file of deliverers: a log, and what else the test wants."""
    path = folder / "deliverers.yaml"
    listed = [{"name": "log", "kind": "log"}, *more]
    path.write_text(json.dumps({"version": 1, "deliverers": listed}), encoding="utf-8")
    return str(path)


@pytest.fixture
def deliverers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log that the one deliverer of this process writes, below the test's home."""
    monkeypatch.setenv("CHECKREIN_DELIVERERS", named(tmp_path))
    return tmp_path


def kinds(home: Path) -> list[str]:
    """What stands in the log."""
    path = home / "deliveries.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line)["kind"] for line in lines]


def asked(cli: Cli, folder: Path) -> str:
    """A run that waits for one approval; its id."""
    task = task_file(folder, [WRITE, DONE], policy=str(asking(folder)))
    ran = cli("run", task, "--json")
    assert ran.code == 3, ran
    return str(ran.json["approvals"][0]["approval_id"])


def test_a_pass_delivers_what_is_due_and_a_second_one_nothing(
    cli: Cli, home: Path, deliverers: Path
) -> None:
    """Protects: a timer may call it as often as it likes."""
    approval = asked(cli, deliverers)
    assert kinds(home) == [], "a run tells nobody by itself"
    ran = cli("deliver", "--json")
    (tried,) = ran.json["tried"]
    assert (ran.code, tried["state"], tried["deliverer"]) == (0, "DELIVERED", "log")
    assert tried["key"].startswith(f"{approval}-approval_requested-")
    assert cli("deliver").out == "Nothing is due.\n"
    assert cli("approve", approval, "--as", "bob").code == 0
    assert "DELIVERED" in cli("deliver").out
    assert kinds(home) == ["approval_requested", "approval_decided"]


def test_what_is_overdue_is_passed_on_and_told(
    cli: Cli, home: Path, deliverers: Path, database_url: str
) -> None:
    """Protects: a request that nobody answers ends, and everybody hears of it, without a run."""
    asked(cli, deliverers)
    cli("deliver")
    move_clock(Settings(home=home, database_url=database_url), timedelta(days=31))
    assert cli("deliver").code == 0
    assert kinds(home) == ["approval_requested", "approval_expired"]


def test_a_failure_shows_in_the_exit_code_and_in_the_list(
    cli: Cli, home: Path, deliverers: Path
) -> None:
    """Protects: a deliverer that does not work is found, and the others work all the same."""
    named(deliverers, {"name": "pager", "kind": "command", "argv": ["false"]})
    asked(cli, deliverers)
    before = cli("deliver", "--list").out
    assert "no deliverer has looked yet" in before
    ran = cli("deliver")
    assert ran.code == 1
    assert "pager" in ran.out and "exit code 1" in ran.out
    assert kinds(home) == ["approval_requested"]
    (entry,) = cli("deliver", "--list", "--json").json["messages"]
    found = {d["deliverer"]: (d["state"], d["tries"]) for d in entry["deliveries"]}
    assert found == {"log": ("DELIVERED", 1), "pager": ("WAITING", 1)}
    assert "exit code 1" in cli("deliver", "--list").out


def test_nothing_set_up_and_nothing_to_show(cli: Cli) -> None:
    """Protects a newcomer: what is missing is said, and the list works without."""
    ran = cli("deliver", "--json")
    assert (ran.code, ran.error["code"]) == (2, "no_deliverers")
    assert cli("deliver", "--list").out == "The outbox is empty.\n"
    assert cli("deliver", "--list", "--watch", "--json").error["code"] == "unusable_argument"


def test_a_watcher_delivers_what_comes_and_lets_go_when_asked(
    child: CommandLine, cli: Cli, home: Path, tmp_path: Path
) -> None:
    """Protects: it hears of requests by itself, one line each, and SIGTERM ends it cleanly."""
    process = child.started("deliver", "--watch", "--json", CHECKREIN_DELIVERERS=named(tmp_path))
    approval = asked(cli, tmp_path)
    waited(lambda: kinds(home) == ["approval_requested"])
    cli("reject", approval, "--as", "bob", "--reason", "no")
    waited(lambda: kinds(home) == ["approval_requested", "approval_decided"])
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert [json.loads(line)["state"] for line in out.splitlines()] == ["DELIVERED"] * 2
