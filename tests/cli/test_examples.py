"""The examples of other domains than code: as a person runs them, to the end and to a no."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import Ran
from project_files import ROOT

Cli = Callable[..., Ran]


@dataclass(frozen=True)
class Example:
    """One example folder, copied, and the commands that a person gives in it."""

    folder: Path
    cli: Cli
    patch: pytest.MonkeyPatch

    def __call__(self, *args: object) -> Ran:
        return self.cli(*args)

    def brings(self, module: str) -> None:
        """The example's capabilities, imported anew from its folder."""
        self.patch.setenv("CHECKREIN_CAPABILITIES", f"{module}:capabilities")
        self.patch.delitem(sys.modules, module, raising=False)

    def run(self, task: str) -> dict[str, Any]:
        """Start a task; how it stands then."""
        ran = self("run", task, "--json")
        assert ran.out, ran.err
        return ran.json

    def approve_all(self, report: dict[str, Any], who: str) -> dict[str, Any]:
        """Say yes to everything that is asked, until nothing is."""
        while report["approvals"]:
            for request in report["approvals"]:
                assert self("approve", request["approval_id"], "--as", who).code == 0
            report = self("resume", report["attempt_id"], "--json").json
        return report

    def checks(self, report: dict[str, Any]) -> dict[str, list[str]]:
        """Kinds of checks by how they ended."""
        found: dict[str, list[str]] = {}
        for check in report["verification"]["checks"]:
            found.setdefault(check["status"], []).append(check["kind"])
        return found

    def evidence(self, report: dict[str, Any], out: Path) -> None:
        """The evidence is whole, and checks out without the database."""
        assert self("evidence", "export", report["task_id"], "--out", out).code == 0
        verified = self("evidence", "verify", out)
        assert verified.code == 0, verified.out + verified.err


ALWAYS = {"policy_obeyed", "unchanged"}
"""What the gate looks at besides."""

Copied = Callable[[str], Example]


@pytest.fixture
def copied(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Copied:
    """Copies one example, and enters its folder."""

    def made(name: str) -> Example:
        shutil.copytree(ROOT / "examples" / name, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        return Example(tmp_path / name, cli, monkeypatch)

    return made


@pytest.mark.shows(221)
def test_a_contract_is_reviewed(tmp_path: Path, copied: Copied) -> None:
    """Protects documents: form, citations and a lawyer's word on that very report."""
    example = copied("contract_review")
    asked = example.run("task.yaml")
    waits = example.approve_all(asked, "bob")
    assert waits["status"] == "WAITING_FOR_USER", waits
    assert waits["next"][0] == f"checkrein judge {waits['attempt_id']} pass --as lea"
    shown = example("status", waits["attempt_id"])
    assert "lawyer must judge the result: Is every finding right" in shown.out
    wrong = example("judge", waits["attempt_id"], "pass", "--as", "bob", "--json")
    assert (wrong.code, wrong.error["code"]) == (2, "judge_not_permitted")
    said = example("judge", waits["attempt_id"], "pass", "--as", "lea", "--note", "complete")
    assert (said.code, "lea says pass" in said.out) == (0, True)
    done = example("resume", waits["attempt_id"], "--json").json
    assert done["status"] == "CANDIDATE_VERIFIED", done
    kinds = {"json_schema", "artifact", "command", "human", "artifacts"}
    assert {k: set(v) for k, v in example.checks(done).items()} == {"PASS": kinds | ALWAYS}
    example.evidence(done, tmp_path / "evidence")


@pytest.mark.shows(221)
def test_an_invented_clause_is_no_review(tmp_path: Path, copied: Copied) -> None:
    """Protects the lawyer: what a program can refute, no person is asked about."""
    example = copied("contract_review")
    ended = example.approve_all(example.run("invented_clause.yaml"), "bob")
    assert ended["status"] == "FAILED_VERIFICATION"
    assert example.checks(ended)["FAIL"] == ["command"]
    assert "there is no clause 9.4" in str(ended["verification"]["gaps"])
    assert "human" not in str(ended["verification"]["checks"])


def shop(tmp_path: Path, copied: Copied, database_url: str) -> Example:
    example = copied("data_repair")
    subprocess.run(
        [sys.executable, "prepare.py", tmp_path / "shop", "--database", database_url],
        cwd=example.folder,
        check=True,
        capture_output=True,
    )
    example.patch.setenv("CHECKREIN_SECRETS", str(tmp_path / "shop" / "secrets"))
    example.brings("repair_shop")
    return example


def currencies(database_url: str) -> list[str]:
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT currency FROM shop.orders ORDER BY id").fetchall()
    return [str(row[0]) for row in rows]


@pytest.mark.shows(221)
def test_data_is_repaired(tmp_path: Path, copied: Copied, database_url: str) -> None:
    """Protects data: every row is as it must be, by the database's own word, and can go back."""
    example = shop(tmp_path, copied, database_url)
    asked = example.run("task.yaml")
    assert [request["capability"] for request in asked["approvals"]][:1] == ["orders.set@1"]
    assert currencies(database_url) == ["EUR", "eur", "USD", "E", "EUR"]
    done = example.approve_all(asked, "olga")
    assert done["status"] == "CANDIDATE_VERIFIED", done
    kinds = {"sql_state"}
    assert {k: set(v) for k, v in example.checks(done).items()} == {"PASS": kinds | ALWAYS}
    assert currencies(database_url) == ["EUR", "EUR", "USD", "EUR", "EUR"]
    example.evidence(done, tmp_path / "evidence")
    secret = (tmp_path / "shop/secrets/orders_read").read_text()
    kept = b"".join(p.read_bytes() for p in (tmp_path / "evidence").rglob("*") if p.is_file())
    assert secret.encode() not in kept and b"shop_reader" not in kept
    subprocess.run(
        [sys.executable, "rollback.py", tmp_path / "shop"],
        cwd=example.folder,
        check=True,
        capture_output=True,
    )
    assert currencies(database_url) == ["EUR", "eur", "USD", "E", "EUR"]


@pytest.mark.shows(221)
def test_a_repair_that_forgets_a_row_is_none(
    tmp_path: Path, copied: Copied, database_url: str
) -> None:
    """Protects data: what the model says of the table counts nothing; the table does."""
    example = shop(tmp_path, copied, database_url)
    ended = example.approve_all(example.run("one_missing.yaml"), "olga")
    assert ended["status"] == "FAILED_VERIFICATION"
    assert example.checks(ended)["FAIL"] == ["sql_state"]
    assert "answers 1 rows, not 0" in str(ended["verification"]["gaps"])


@contextmanager
def desk(example: Example, file: Path) -> Generator[None]:
    """The desk's own process, on a port of the test's; the copied tasks name it."""
    process = subprocess.Popen(
        [sys.executable, "desk_server.py", file, "--port", "0"],
        cwd=example.folder,
        stdout=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"]},
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip().removeprefix("export TICKET_DESK=")
        for task in ("task.yaml", "only_a_draft.yaml"):
            text = (example.folder / task).read_text()
            assert "http://127.0.0.1:8431" in text
            (example.folder / task).write_text(text.replace("http://127.0.0.1:8431", url))
        example.patch.setenv("TICKET_DESK", url)
        example.brings("ticket_desk")
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.shows(221)
def test_a_ticket_is_answered(tmp_path: Path, copied: Copied) -> None:
    """Protects a customer: one reply, approved word for word, and the desk says so."""
    example = copied("ticket")
    with desk(example, tmp_path / "desk.json"):
        asked = example.run("task.yaml")
        (request,) = asked["approvals"]
        assert "the charger of your order 4711" in request["preview"]
        done = example.approve_all(asked, "sam")
    assert done["status"] == "CANDIDATE_VERIFIED", done
    kinds = {"http_state", "text_match", "file_state"}
    assert {k: set(v) for k, v in example.checks(done).items()} == {"PASS": kinds | ALWAYS}
    assert (tmp_path / "desk.json").read_text().count("R-1") == 1
    example.evidence(done, tmp_path / "evidence")


@pytest.mark.shows(221)
def test_a_draft_is_no_answer(tmp_path: Path, copied: Copied) -> None:
    """Protects a customer from a model that takes its draft for a reply: the desk is asked."""
    example = copied("ticket")
    with desk(example, tmp_path / "desk.json"):
        ended = example.run("only_a_draft.yaml")
    assert ended["status"] == "FAILED_VERIFICATION"
    assert example.checks(ended)["FAIL"] == ["http_state"]
    assert "/state is 'open', not 'answered'" in str(ended["verification"]["gaps"])


def test_without_its_desk_a_ticket_is_not_called_wrong(tmp_path: Path, copied: Copied) -> None:
    """Protects the difference: a service that is down says nothing about the work."""
    example = copied("ticket")
    with desk(example, tmp_path / "desk.json"):
        asked = example.run("task.yaml")
        assert asked["approvals"]
    (request,) = asked["approvals"]
    example("reject", request["approval_id"], "--as", "sam", "--reason", "not today")
    ended = example("resume", asked["attempt_id"], "--json").json
    assert ended["status"] != "CANDIDATE_VERIFIED"
    (http,) = [c for c in ended["verification"]["checks"] if c["kind"] == "http_state"]
    assert http["status"] == "ERROR"
