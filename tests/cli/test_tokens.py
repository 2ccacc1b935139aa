"""Who speaks on the command line: a name that is only asserted, or one that a token proves."""

import os
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asking import move_clock
from command_line import CommandLine, Ran, task_file
from loops import ASK_WRITES, DONE, call, says

from checkrein.settings import Settings

Cli = Callable[..., Ran]

WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))
TOKEN = re.compile(r"ckr_[A-Za-z0-9_-]{43}")


class Desk:
    """Commands whose every output is searched for tokens: none may hold one but an issue."""

    def __init__(self, cli: Cli, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._cli = cli
        self._environment = monkeypatch
        self._folder = folder
        self.ids: dict[str, str] = {}

    def issue(self, person: str, *args: str, tenant: str = "local") -> str:
        """A fresh token, from JSON."""
        ran = self._cli(
            "token",
            "issue",
            "--person",
            person,
            "--tenant",
            tenant,
            "--as",
            "root",
            *args,
            "--json",
        )
        assert ran.code == 0, ran
        token: str = ran.json["token"]
        self.ids[token] = ran.json["token_id"]
        return token

    def __call__(self, *args: str, token: str = "") -> Ran:
        """One command, as whoever holds the token."""
        self._environment.setenv("CHECKREIN_TOKEN", token)
        ran = self._cli(*args)
        self._environment.delenv("CHECKREIN_TOKEN", raising=False)
        assert TOKEN.search(ran.out + ran.err) is None, ran
        return ran

    def asked(self, **fields: Any) -> dict[str, Any]:
        """An attempt of medium risk that waits for approval."""
        folder = self._folder / f"task{len(list(self._folder.iterdir()))}"
        given = {"policy": str(ASK_WRITES), "risk": "medium", **fields}
        ran = self("run", str(task_file(folder, [WRITE, DONE], **given)), "--json")
        assert ran.code == 3, ran
        return ran.json


@pytest.fixture
def desk(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Desk:
    return Desk(cli, monkeypatch, tmp_path)


def approval_of(asked: dict[str, Any]) -> str:
    found: str = asked["approvals"][0]["approval_id"]
    return found


@pytest.mark.shows(94, 100)
def test_above_low_risk_a_token_is_what_it_takes(desk: Desk) -> None:
    """Protects: an asserted name is refused, the same person with a token is not."""
    asked = desk.asked()
    approval = approval_of(asked)
    assert asked["approvals"][0]["approve"] == f"checkrein approve {approval}"
    ran = desk("approve", approval, "--as", "carol", "--json")
    assert (ran.code, ran.error["code"]) == (2, "identity_required")
    token = desk.issue("carol")
    assert desk("approve", approval, "--json", token=token).json["approval"]["status"] == "GRANTED"
    done = desk("resume", asked["attempt_id"], "--json")
    assert (done.code, done.json["effects"]) == (0, {"COMMITTED": 1})
    events = desk("trace", asked["attempt_id"], "--json").json["events"]
    (said,) = [e["payload"] for e in events if e["type"] == "approval_decided"]
    assert (said["approver"], said["authenticated"]) == ("carol", True)
    (listed,) = desk("token", "list", "--json").json["tokens"]
    assert (listed["status"], listed["last_used_at"] is not None) == ("good", True)
    assert "token" not in listed


def test_a_token_is_good_for_what_it_says(
    desk: Desk, settings: Settings, database_url: str
) -> None:
    """Protects: another scope, another tenant, another person, a revoked and an old token: none."""
    approval = approval_of(desk.asked())
    gone = desk.issue("carol")
    ran = desk("token", "revoke", desk.ids[gone], "--as", "erin", "--reason", "lost", "--json")
    assert (ran.code, ran.json["status"], ran.json["revoked_by"]) == (0, "revoked", "erin")
    for token, args, code in (
        (desk.issue("carol", "--scope", "run", "--scope", "read"), [], "token_scope"),
        (desk.issue("carol", tenant="other"), [], "other_tenant"),
        (desk.issue("carol"), ["--as", "bob"], "other_person"),
        (desk.issue("mallory"), [], "approver_not_permitted"),
        (gone, [], "token_revoked"),
        ("ckr_" + "A" * 43, [], "token_unknown"),
        ("ckr_short", [], "token_unusable"),
        ("\udcff", [], "token_unusable"),
    ):
        for answer in (["approve"], ["respond", "By hand."], ["edit", "--args", "{}"]):
            more = [answer[0], approval, *answer[1:], *args]
            ran = desk(*more, "--json", token=token)
            assert (ran.code, ran.error["code"]) == (2, code), more
    old = desk.issue("carol", "--days", "1")
    assert desk("approve", approval, "--as", "carol", token=old).code == 0
    other = approval_of(desk.asked())
    move_clock(settings, timedelta(days=1, seconds=1))
    ran = desk("approve", other, "--json", token=old)
    assert (ran.code, ran.error["code"]) == (2, "token_expired")
    assert "checkrein token issue --person carol --tenant local" in ran.error["message"]


def test_nobody_in_particular(desk: Desk) -> None:
    """Protects: without a name and a token nothing is answered, save where the task wants that."""
    ran = desk("approve", approval_of(desk.asked(risk="low")), "--json")
    assert (ran.code, ran.error["code"]) == (2, "identity_required")
    rules = {"roles": {"approver": ["bob"]}, "anonymous": True}
    open_to_all = desk.asked(risk="low", approvals=rules)
    ran = desk("approve", approval_of(open_to_all), "--json")
    assert (ran.code, ran.json["approval"]["status"]) == (0, "GRANTED")


def test_revoking_a_token_stops_new_answers_only(desk: Desk) -> None:
    """Protects: the answer stands; the person's yes is taken back by another word."""
    first, second = desk.asked(), desk.asked()
    token = desk.issue("carol")
    for asked in (first, second):
        assert desk("approve", approval_of(asked), token=token).code == 0
    desk("token", "revoke", desk.ids[token], "--as", "erin", "--reason", "laptop lost")
    assert desk("resume", first["attempt_id"], "--json").json["effects"] == {"COMMITTED": 1}
    desk("revoke", "user:carol", "--as", "erin", "--reason", "it was not her")
    assert desk("resume", second["attempt_id"], "--json").json["effects"] == {}


def test_a_token_speaks_for_all_commands(desk: Desk) -> None:
    """Protects: cancel, pause, revoke and grant are said by the token's owner, of their tenant."""
    asked = desk.asked()
    attempt = asked["attempt_id"]
    mine = desk.issue("carol", "--scope", "run", "--scope", "authority")
    foreign = desk.issue("carol", "--scope", "run", "--scope", "authority", tenant="other")
    approver = desk.issue("carol")
    for token, code in ((foreign, "other_tenant"), (approver, "token_scope")):
        for words in (["cancel", attempt, "--reason", "x"], ["pause", attempt]):
            ran = desk(*words, "--json", token=token)
            assert (ran.code, ran.error["code"]) == (2, code), words
    ran = desk("cancel", attempt, "--reason", "enough", "--as", "bob", "--json", token=mine)
    assert ran.error["code"] == "other_person"
    assert desk("cancel", attempt, "--reason", "enough", token=mine).code == 0
    events = desk("trace", attempt, "--json").json["events"]
    assert [e["payload"]["by"] for e in events if e["type"] == "cancel_requested"] == ["carol"]
    word = ["capability:workspace.write_file", "--reason", "x", "--json"]
    assert desk("revoke", *word, token=foreign).json["tenant"] == "other"
    ran = desk("revoke", *word, "--tenant", "local", token=foreign)
    assert (ran.code, ran.error["code"]) == (2, "other_tenant")
    assert desk("grant", *word, token=approver).error["code"] == "token_scope"
    said = desk("grant", *word, "--tenant", "local", token=mine).json
    assert (said["by"], said["tenant"]) == ("carol", "local")


def test_a_file_of_a_token(desk: Desk, tmp_path: Path) -> None:
    """Protects: the file comes before the variable, is read in bounds, and should be closed."""
    approval = approval_of(desk.asked())
    file = tmp_path / "token"
    for text, told in (
        (b"x" * 5000, "is larger than 4,096 bytes"),
        (b"", "holds no token"),
        (b"\xff\xfe", "holds no token"),
        (b"ckr_" + b"A" * 30, "holds no token"),
    ):
        file.write_bytes(text)
        ran = desk("approve", approval, "--token-file", str(file), "--json")
        assert (ran.code, ran.error["code"], told in ran.error["message"]) == (
            2,
            "token_unusable",
            True,
        )
    for place in (tmp_path / "none", tmp_path):
        ran = desk("approve", approval, "--token-file", str(place), "--json")
        assert (ran.code, "cannot be read" in ran.error["message"]) == (2, True)
    file.write_text(desk.issue("mallory") + "\n")
    file.chmod(0o644)
    ran = desk("approve", approval, "--token-file", str(file), "--json", token=desk.issue("carol"))
    assert ran.error["code"] == "approver_not_permitted"
    assert "can be read by others (mode 644)" in ran.err
    file.write_text(f"  {desk.issue('carol')}\n")
    file.chmod(0o600)
    ran = desk("approve", approval, "--token-file", str(file))
    assert (ran.code, "can be read" in ran.err) == (0, False)


def test_no_token_on_the_command_line(desk: Desk) -> None:
    """Protects: wherever it is put there, it is refused before it is stored or repeated."""
    asked = desk.asked(risk="low")
    approval, token = approval_of(asked), desk.issue("bob")
    for args in (
        ["approve", approval, "--token", token],
        ["approve", approval, f"--token={token}"],
        ["approve", approval, "--as", token],
        ["approve", token, "--as", "bob"],
        ["approve", approval, "--as", "bob", "--reason", f"mine is {token}"],
        ["approve", approval, "--token-file", token],
        ["answer", asked["attempt_id"], token[:30]],
        ["token", "revoke", token, "--reason", "x"],
        [token],
    ):
        for form in ([], ["--json"]):
            ran = desk(*args, *form)
            assert ran.code == 2, args
            assert "token stands on the command line" in ran.out + ran.err
            assert token[:20] not in ran.out + ran.err
    assert len(desk("approvals", "--json").json["approvals"]) == 1


def test_tokens_that_nobody_can_order(desk: Desk) -> None:
    """Protects: bounds are told on the command line, in one sentence."""
    base = ["token", "issue", "--person", "carol", "--tenant", "local"]
    for args, told in (
        (["--scope", "all"], "read, run, approve"),
        (["--days", "0"], "greater than or equal to 1"),
        (["--days", "367"], "less than or equal to 366"),
        (["--person", "a b"], "--person names one by letters"),
        (["--tenant", "a b"], "--tenant names one by letters"),
    ):
        ran = desk(*base, *args)
        assert (ran.code, told in ran.err) == (2, True), ran
    ran = desk("token", "revoke", "tok_x", "--reason", "x", "--json")
    assert (ran.code, ran.error["code"]) == (2, "unknown_id")
    assert desk("token", "list").out == "No token was issued.\n"


def test_no_child_inherits_the_token(cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects: editors, servers and workers that a command starts find no token in their world."""
    approval, token = approval_of(desk.asked()), desk.issue("carol")
    monkeypatch.setenv("CHECKREIN_TOKEN", token)
    assert cli("approve", approval, "--json").code == 0
    assert token not in os.environ.values()


def test_text_for_people(cli: Cli, desk: Desk) -> None:
    """Protects: the token stands alone on its line, once, with what it is good for."""
    ran = cli("token", "issue", "--person", "carol", "--tenant", "local", "--as", "root")
    token, *rest = ran.out.splitlines()
    assert TOKEN.fullmatch(token)
    assert "for carol of local; good for approve" in rest[0]
    assert "not shown again" in rest[1]
    (line,) = desk("token", "list").out.splitlines()[1:]
    assert line.split("\t")[1:5] == ["carol", "local", "approve", "good"]


def test_the_variable_reaches_a_process_of_its_own(
    child: CommandLine, desk: Desk, tmp_path: Path
) -> None:
    """Protects: as in the shell, in the environment of one command."""
    approval = approval_of(desk.asked())
    token = desk.issue("carol")
    ran = child("approve", approval, "--json", CHECKREIN_TOKEN=token)
    assert (ran.code, token in ran.out + ran.err) == (0, False)
