"""The command line as tests use it: called in this process, or run in one of its own."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psycopg
from canary import CANARY
from loops import ALLOW_ALL, Turn
from psycopg import sql

COMMAND = [sys.executable, "-m", "checkrein.entrypoints.cli"]


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout; anything else there is a failure."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        assert self.out.count("\n") == 1
        return cast(dict[str, Any], value)

    @property
    def error(self) -> dict[str, Any]:
        """The JSON error."""
        found: dict[str, Any] = self.json["error"]
        assert set(found) == {"code", "message", "op", "retryable", "context"}
        return found


class CommandLine:
    """Runs commands in processes of their own, on one home and database."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)

    def __call__(self, *args: object, **more: str) -> Ran:
        """Run one command to its end; `more` are environment variables."""
        done = subprocess.run(
            [*COMMAND, *map(str, args)],
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        CANARY.check("the output of the command", done.stdout, done.stderr)
        return Ran(done.returncode, done.stdout, done.stderr)

    def started(self, *args: object, **more: str) -> "subprocess.Popen[str]":
        """Start one command and leave it running."""
        return subprocess.Popen(
            [*COMMAND, *map(str, args)],
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )


def task_file(folder: Path, turns: Sequence[Turn], **fields: Any) -> Path:
    """Write a task on a small folder whose check passes; `fields` replace what is there."""
    work = folder / "workspace"
    work.mkdir(parents=True, exist_ok=True)
    (work / "a.txt").write_text("one\n", encoding="utf-8")
    script = {"version": 1, "calls_log": "calls.log", "turns": list(turns)}
    (folder / "decisions.yaml").write_text(json.dumps(script), encoding="utf-8")
    given: dict[str, Any] = {
        "version": 1,
        "goal": "change a.txt",
        "requested_by": "alice",
        "model": "scripted:decisions.yaml",
        "workspace": {"path": "workspace"},
        "policy": str(ALLOW_ALL),
        "capabilities": ["workspace.read", "workspace.write_file"],
        "approvals": {"roles": {"approver": ["bob", "carol"]}},
        "success": [{"command": {"argv": ["true"]}}],
    }
    chosen = {name: value for name, value in (given | fields).items() if value is not None}
    path = folder / "task.yaml"
    # JSON is YAML; it says exactly what is meant.
    path.write_text(json.dumps(chosen, indent=1), encoding="utf-8")
    return path


def rows(database_url: str) -> dict[str, int]:
    """How many rows there are of everything that a run makes."""
    with psycopg.connect(database_url) as connection:
        return {table: _count(connection, table) for table in NOTHING}


def _count(connection: "psycopg.Connection[Any]", table: str) -> int:
    query = sql.SQL("SELECT count(*) FROM checkrein.{}").format(sql.Identifier(table))
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


NOTHING = {"tasks": 0, "attempts": 0, "events": 0, "blobs": 0}
