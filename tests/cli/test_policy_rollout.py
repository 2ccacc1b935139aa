"""From an edit to a policy in force: checked, tested, held against the past, then taken over."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import NOTHING, Ran, rows, task_file
from loops import DONE, call, says

Cli = Callable[..., Ran]

RULE = """package checkrein.rules.mine

allow contains {"reason_code": "small"} if {
	input.action.capability == "workspace.write_file"
	input.action.facts.bytes < MOST
}
"""
TEST = """package checkrein.rules.mine_test

import data.checkrein.rules.mine

wanted(bytes) := {"action": {"capability": "workspace.write_file", "facts": {"bytes": bytes}}}

test_small_is_allowed if mine.allow == {{"reason_code": "small"}} with input as wanted(3)

test_large_is_not if mine.allow == set() with input as wanted(1000)
"""
TURNS = [
    says("", call("workspace_write_file", path="a.txt", content="twenty characters..\n")),
    DONE,
]


def bundle(folder: Path, most: int) -> Path:
    """A bundle that lets small writes through."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.rego").write_text(RULE.replace("MOST", str(most)))
    (folder / "mine_test.rego").write_text(TEST)
    return folder


@pytest.mark.shows(70)
def test_a_change_is_tried_on_the_past_and_a_failing_test_stops_it(
    cli: Cli, tmp_path: Path, database_url: str
) -> None:
    """Protects: under a bundle whose tests fail nothing begins; the past shows what changes."""
    live, new = bundle(tmp_path / "policy", 100), bundle(tmp_path / "new", 2)
    assert cli("policy", "check", live, "--strict").code == 0
    assert cli("policy", "test", live, "--coverage", "--threshold", "100").code == 0
    assert rows(database_url) == NOTHING
    ran = cli("run", task_file(tmp_path / "one", TURNS, policy=str(live)), "--json")
    assert (ran.code, ran.json["effects"]) == (0, {"COMMITTED": 1})

    # Tightened too far: its own test says so, and nothing begins under it.
    assert cli("policy", "test", new).code == 1
    stored = rows(database_url)
    refused = cli("run", task_file(tmp_path / "two", TURNS, policy=str(new)), "--json")
    assert (refused.code, refused.error["code"]) == (2, "policy_tests_failed")
    assert "test_small_is_allowed" in refused.error["message"]
    assert rows(database_url) == stored

    # Mended: the tests pass, and the past shows what it will do.
    bundle(new, 10)
    assert cli("policy", "test", new).code == 0
    changed = cli("policy", "diff", live, new, "--since", "2026-01-01", "--json")
    assert (changed.code, changed.json["decisions"]) == (1, 2)
    assert changed.json["counts"]["newly_denied"] == 2
    assert [change["new"]["reason_code"] for change in changed.json["changes"]] == [
        "no_rule_allows"
    ] * 2

    # Taken over, and in force from the next decision on, under its own name.
    shutil.copytree(new, live, dirs_exist_ok=True)
    ran = cli("run", task_file(tmp_path / "three", TURNS, policy=str(live)), "--json")
    assert ran.json["effects"] == {}
    version = cli("policy", "version", new).out.strip()
    (line,) = cli("policy", "log", ran.json["attempt_id"]).out.splitlines()
    logged = json.loads(line)
    assert logged["result"]["decision"] == "DENY"
    assert logged["bundles"]["checkrein"]["revision"] == version
