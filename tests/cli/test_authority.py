"""revoke, grant, revocations: a right is taken back at once, and the word is on record."""

from collections.abc import Callable
from pathlib import Path

from command_line import Ran, task_file
from loops import DONE, call, says

Cli = Callable[..., Ran]

WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))


def test_a_revoked_capability_is_denied_until_it_is_given_back(cli: Cli, tmp_path: Path) -> None:
    """Protects: one command stops a capability for every run, and one gives it back."""
    subject = "capability:workspace.write_file"
    ran = cli("revoke", subject, "--as", "carol", "--reason", "incident 7", "--json")
    assert (ran.code, ran.json["word"]) == (0, "revoked")
    task = task_file(tmp_path, [WRITE, DONE])
    assert cli("run", task, "--json").json["effects"] == {}
    assert cli("grant", subject, "--as", "carol", "--reason", "over").code == 0
    assert cli("run", task, "--json").json["effects"] == {"COMMITTED": 1}
    words = cli("revocations", "--json").json["authority"]
    assert [(w["granted"], w["newest"], w["said_by"]) for w in words] == [
        (True, True, "carol"),
        (False, False, "carol"),
    ]
    assert "incident 7" in cli("revocations").out


def test_words_about_nothing_are_refused(cli: Cli) -> None:
    """Protects: a slip of the pen is told, and revokes nothing."""
    for subject in ("workspace.write_file", "tool:x", "capability:"):
        ran = cli("revoke", subject, "--as", "carol", "--reason", "r", "--json")
        assert ran.code == 2, subject
        assert "KIND:VALUE" in ran.error["message"]
    assert cli("revocations", "--json").json["authority"] == []
