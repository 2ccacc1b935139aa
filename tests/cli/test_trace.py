"""The trace: the whole story, and a change to it by hand is found."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import Ran, task_file
from loops import DONE, call, says

Cli = Callable[..., Ran]

LOOK = says("I look.", call("workspace.read", path="a.txt"))


@pytest.fixture
def attempt(cli: Cli, tmp_path: Path) -> str:
    """An attempt that has ended."""
    ran = cli("run", task_file(tmp_path, [LOOK, DONE]), "--json")
    assert ran.code == 0
    found: str = ran.json["attempt_id"]
    return found


@pytest.fixture
def database(database_url: str) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    """A connection of somebody who may change anything."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def test_trace_tells_every_event(cli: Cli, attempt: str) -> None:
    """Protects: people get one line for each event, programs get each event whole."""
    told = cli("trace", attempt[:10])
    events = cli("trace", "--json", attempt).json["events"]
    lines = told.out.splitlines()
    assert lines[0] == f"attempt {attempt}, {len(events)} events"
    assert lines[1].split("\t") == ["seq", "seconds", "event", "what happened"]
    assert [line.split("\t")[2] for line in lines[2:]] == [event["type"] for event in events]
    assert all(line.split("\t")[3] for line in lines[2:])
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["payload"]["contract"]["goal"] == "change a.txt"
    assert cli("trace", "show", attempt).out == told.out


def test_an_untouched_record_is_whole(cli: Cli, attempt: str) -> None:
    """Protects: no false alarm."""
    ran = cli("trace", "verify", attempt, "--json")
    assert (ran.code, ran.json["ok"], ran.json["faults"]) == (0, True, [])
    assert cli("trace", "verify", attempt).out.startswith(f"whole: {ran.json['events']} events")


@pytest.mark.parametrize(
    ("change", "seq"),
    [
        (
            "UPDATE checkrein.events SET payload = replace(payload, 'a.txt', 'b') WHERE seq = 1",
            1,
        ),
        ("UPDATE checkrein.events SET payload = '' WHERE seq = 5", 5),
        ("UPDATE checkrein.events SET at = '2000-01-01T00:00:00.000000+00:00' WHERE seq = 3", 3),
        ("UPDATE checkrein.events SET type = 'paused' WHERE seq = 4", 4),
        ("DELETE FROM checkrein.events WHERE seq = 4", 4),
        (
            "UPDATE checkrein.events AS e SET payload = o.payload, type = o.type "
            "FROM checkrein.events AS o WHERE (e.seq, o.seq) IN ((6, 7), (7, 6))",
            6,
        ),
    ],
    ids=["edited", "emptied", "redated", "renamed", "deleted", "swapped"],
)
def test_a_change_by_hand_is_found(
    cli: Cli,
    attempt: str,
    database: "psycopg.Connection[tuple[object, ...]]",
    change: str,
    seq: int,
) -> None:
    """Protects: who can write to the database cannot rewrite what happened unnoticed."""
    done = database.execute("SELECT count(*) FROM checkrein.events").fetchone()
    database.execute(change.encode())
    ran = cli("trace", "verify", attempt, "--json")
    assert (ran.code, ran.json["ok"], ran.json["faults"][0]["seq"]) == (1, False, seq)
    told = cli("trace", "verify", attempt)
    assert (told.code, f"  seq {seq} (" in told.out) == (1, True)
    # Even a record that was tampered with can be looked at.
    assert cli("trace", attempt).code == 0
    assert len(cli("trace", attempt, "--json").json["events"]) >= int(str(done and done[0])) - 1


def test_a_cut_tail_is_found(
    cli: Cli, attempt: str, database: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    """Protects: leaving out the end is a change too."""
    database.execute(
        "DELETE FROM checkrein.events WHERE seq = (SELECT max(seq) FROM checkrein.events)"
    )
    ran = cli("trace", "verify", attempt)
    assert ran.code == 1
    assert "head says" in ran.out


def test_a_long_trace_is_read_to_its_end(
    cli: Cli, attempt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: no event is left out because there are many."""
    whole = cli("trace", attempt, "--json").out
    monkeypatch.setattr("checkrein.entrypoints.cli.tracing._PAGE", 3)
    assert cli("trace", attempt, "--json").out == whole
    assert cli("trace", "verify", attempt).code == 0


HOSTILE = "\x1b[2J\x1b]0;pwned\x07 [bold red]approved[/bold red] :smile: \u202etxt.exe \x9b31m\x7f"


def test_nothing_that_a_model_says_steers_the_terminal(cli: Cli, tmp_path: Path) -> None:
    """Protects: a person sees what the model wrote, and no more than sees it."""
    turns = [
        says(HOSTILE, call("workspace.read", path=f"no{HOSTILE}")),
        says(HOSTILE, call("ask_user", question=HOSTILE)),
    ]
    ran = cli("run", task_file(tmp_path, turns, goal=f"do {HOSTILE}"))
    listed, told = cli("status"), cli("approvals")
    attempt = listed.out.splitlines()[1].split("\t")[0]
    trace, shown = cli("trace", attempt), cli("status", attempt)
    everything = "".join(r.out + r.err for r in (ran, listed, told, trace, shown))
    unwanted = {c for c in everything if (c < " " and c not in "\n\t") or c in "\x7f\x9b\u202e"}
    assert unwanted == set()
    assert "\\u001b[2J" in shown.out
    assert "[bold red]approved[/bold red] :smile:" in shown.out
    for args in (["status", attempt, "--json"], ["trace", attempt, "--json"]):
        answer = cli(*args)
        assert answer.out.rstrip("\n").isascii()
        assert answer.out.rstrip("\n").isprintable()
        assert json.dumps(HOSTILE)[1:8] in answer.out
