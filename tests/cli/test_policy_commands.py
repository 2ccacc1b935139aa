"""policy eval, explain, diff, init, version and docs, by the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Ran, task_file
from loops import DONE, call, says

from checkrein.contracts.action import SideEffect
from checkrein.contracts.decision import DecisionInput
from checkrein.policy_rego.bundle_files import shipped_bundle
from checkrein.policy_rego.input_document import input_text
from checkrein.policy_rego.lint import trial_input

Cli = Callable[..., Ran]

RULE = """package checkrein.rules.mine

allow contains {"reason_code": "reading"} if input.action.side_effect_class == "READ"

allow contains {"reason_code": "writing"} if {
	input.action.side_effect_class == "REVERSIBLE"
	input.task.risk == "low"
}
"""
TEST = """package checkrein.rules.mine_test

import data.checkrein.rules.mine

test_reading_is_allowed if {
	mine.allow == {{"reason_code": "reading"}} with input.action.side_effect_class as "READ"
}
"""
TURNS = [says("", call("workspace_write_file", path="a.txt", content="two\n")), DONE]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle with one rule too little tested."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "mine.rego").write_text(RULE)
    (folder / "mine_test.rego").write_text(TEST)
    return folder


@pytest.fixture
def input_file(tmp_path: Path) -> Path:
    """A decision input in a file."""
    action = trial_input().action.model_copy(update={"side_effect_class": SideEffect.REVERSIBLE})
    document: DecisionInput = trial_input().model_copy(update={"action": action})
    file = tmp_path / "input.json"
    file.write_bytes(input_text(document))
    return file


def test_check_points_at_the_character(plain_cli: Cli, bundle: Path) -> None:
    """Protects: an author sees the line and, below it, the place."""
    (bundle / "mine.rego").write_text(RULE.replace("input.task.risk", "input.task.rsk"))
    ran = plain_cli("policy", "check", bundle)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"{bundle}/mine.rego:7:13: error: No input has input.task.rsk.")
    assert "Did you mean risk?" in lines[0]
    assert lines[1:3] == ['    \tinput.task.rsk == "low"', "    \t" + " " * 11 + "^"]


def test_strict_check_fails_on_a_warning(plain_cli: Cli, bundle: Path) -> None:
    """Protects: CI can hold a bundle to more than what keeps it from being loaded."""
    (bundle / "mine.rego").write_text(RULE + "\nhelper if input.tenant\n")
    assert plain_cli("policy", "check", bundle).code == 0
    assert plain_cli("policy", "check", bundle, "--strict").code == 1


def test_coverage_below_the_threshold_fails(plain_cli: Cli, bundle: Path) -> None:
    """Protects: rules that no test reaches are found by CI, with their lines."""
    ran = plain_cli("policy", "test", bundle, "--json")
    assert (ran.code, ran.json["ok"], ran.json["covered_percent"] < 100) == (0, True, True)
    ran = plain_cli("policy", "test", bundle, "--coverage", "--threshold", "100")
    assert ran.code == 1
    assert "fewer lines are reached than the 100 %" in ran.out
    assert "mine.rego, not reached: " in ran.out
    assert plain_cli("policy", "test", bundle, "--threshold", "10").code == 0
    assert plain_cli("policy", "test", bundle, "--threshold", "101").code == 2


def test_a_failing_test_shows_its_condition(plain_cli: Cli, bundle: Path) -> None:
    """Protects: `It is not true` is followed by what is not."""
    (bundle / "mine_test.rego").write_text(TEST.replace('"READ"', '"IRREVERSIBLE"'))
    ran = plain_cli("policy", "test", bundle)
    assert ran.code == 1
    assert f'{bundle}/mine_test.rego:6:2: is not true: mine.allow == {{{{"reason' in ran.out


def test_eval_shows_the_decision_and_why(plain_cli: Cli, bundle: Path, input_file: Path) -> None:
    """Protects: one input, one answer, and the rule that did not fire with what kept it."""
    ran = plain_cli("policy", "eval", input_file, "--policy", bundle, "--why")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("DENY  no_rule_allows\n")
    assert "No rule fired." in ran.out
    assert 'mine.rego:7:2: is not true: input.task.risk == "low"' in ran.out
    assert 'input.task.risk is "high"' in ran.out
    ran = plain_cli("policy", "eval", input_file, "--policy", bundle, "--why", "--json")
    failed = [rule["failed"]["line"] for rule in ran.json["rules"]]
    assert (ran.json["decision"]["reason_code"], failed) == ("no_rule_allows", [3, 7])
    ran = plain_cli("policy", "eval", input_file, "--json")
    assert ran.json["decision"]["policy_version"] == shipped_bundle().version
    assert "rules" not in ran.json


def test_eval_of_what_is_no_input(plain_cli: Cli, tmp_path: Path) -> None:
    """Protects: a slip in a file is told by its field, and a missing file by its name."""
    file = tmp_path / "in.json"
    file.write_text('{"phase": "propose"}')
    ran = plain_cli("policy", "eval", file, "--json")
    assert (ran.code, ran.error["code"]) == (2, "policy_input_invalid")
    assert "tenant: Field required" in ran.error["message"]
    ran = plain_cli("policy", "eval", tmp_path / "none.json", "--json")
    assert (ran.code, "none.json" in ran.error["message"]) == (2, True)


def test_init_makes_a_bundle_that_passes(plain_cli: Cli, tmp_path: Path) -> None:
    """Protects: whoever starts, starts from rules that are sound, tested and documented."""
    folder = tmp_path / "new"
    ran = plain_cli("policy", "init", folder)
    assert (ran.code, f"checkrein policy test {folder}" in ran.out) == (0, True)
    assert plain_cli("policy", "check", folder, "--strict").code == 0
    assert plain_cli("policy", "test", folder, "--threshold", "100").code == 0
    ran = plain_cli("policy", "init", folder, "--json")
    assert (ran.code, "not empty" in ran.error["message"]) == (2, True)


def test_version_is_what_decisions_record(plain_cli: Cli, bundle: Path) -> None:
    """Protects: a recorded policy_version can be held against a folder; tests do not count."""
    before = plain_cli("policy", "version", bundle).out.strip()
    assert before.startswith("sha256:")
    (bundle / "mine_test.rego").unlink()
    assert plain_cli("policy", "version", bundle, "--json").json["version"] == before
    (bundle / "mine.rego").write_text(RULE + "# more\n")
    assert plain_cli("policy", "version", bundle).out.strip() != before


def test_docs_say_what_the_rules_say(plain_cli: Cli, tmp_path: Path) -> None:
    """Protects: the page about a bundle is made from it, and CI finds an old one."""
    folder, page = tmp_path / "new", tmp_path / "rules.md"
    plain_cli("policy", "init", folder)
    assert plain_cli("policy", "docs", folder, "--out", page).code == 0
    text = page.read_text()
    assert "### Protected path" in text
    assert "Denies, reason code `protected_path`. `rules/basics.rego:" in text
    assert "- `test_a_write_to_tests_is_denied` (`rules/basics_test.rego:" in text
    assert plain_cli("policy", "docs", folder).out == text.rstrip("\n") + "\n"
    assert plain_cli("policy", "docs", folder, "--out", page, "--check").code == 0
    rule = folder / "rules" / "basics.rego"
    rule.write_text(rule.read_text().replace("title: Protected path", "title: Kept path"))
    ran = plain_cli("policy", "docs", folder, "--out", page, "--check")
    assert (ran.code, "is not what the rules say" in ran.out) == (1, True)
    assert plain_cli("policy", "docs", folder, "--check").code == 2


def test_a_recorded_decision_is_explained(cli: Cli, bundle: Path, tmp_path: Path) -> None:
    """Protects: from what `trace` shows to why it was decided so, and whether it still would be."""
    task = task_file(tmp_path, TURNS, policy=str(bundle))
    ran = cli("run", task, "--json")
    attempt = ran.json["attempt_id"]
    events = cli("trace", attempt, "--json").json["events"]
    decided = [event for event in events if event["type"] == "policy_decided"]
    assert decided
    name = f"{attempt}/{decided[0]['seq']}"
    assert name == decided[0]["event_id"]

    ran = cli("policy", "explain", name, "--json")
    assert (ran.code, ran.json["same"], ran.json["same_bundle"]) == (0, True, True)
    assert ran.json["recorded"]["reason_code"] == ran.json["decision"]["reason_code"]
    fired = [rule["reason_code"] for rule in ran.json["rules"] if rule["fired"]]
    assert fired == [ran.json["decision"]["reason_code"]]
    assert "it answers the same now" in cli("policy", "explain", name).out

    kept = tmp_path / "kept.json"
    kept.write_text(cli("policy", "explain", name, "--input").out)
    assert cli("policy", "eval", kept, "--policy", bundle, "--json").code == 0

    (bundle / "mine.rego").write_text(RULE.replace('"writing"', '"changing"'))
    ran = cli("policy", "explain", name)
    assert ran.code == 1
    assert "is NOT the one that decided" in ran.out
    assert "it answers OTHERWISE now" in ran.out

    ran = cli("policy", "explain", attempt, "--json")
    assert (ran.code, ran.error["code"]) == (2, "unknown_decision")
    assert f"{decided[0]['seq']} (ALLOW, writing, propose)" in ran.error["message"]
    assert cli("policy", "explain", f"{attempt}/x", "--json").code == 2


def test_diff_of_recorded_decisions(cli: Cli, bundle: Path, tmp_path: Path) -> None:
    """Protects: the decisions of real runs that a new bundle would change, with an example."""
    assert cli("run", task_file(tmp_path, TURNS, policy=str(bundle)), "--json").code == 0
    new = tmp_path / "new"
    new.mkdir()
    (new / "mine.rego").write_text(RULE.replace('== "low"', '== "high"'))
    ran = cli("policy", "diff", bundle, new, "--json")
    counts = {kind: count for kind, count in ran.json["counts"].items() if count}
    assert ran.code == 1
    assert set(counts) == {"newly_denied"}
    assert ran.json["decisions"] == counts["newly_denied"] + ran.json["unchanged"]
    ran = cli("policy", "diff", bundle, new)
    assert "newly denied, for example " in ran.out
    assert (
        ": workspace.write_file on file:a.txt: ALLOW (writing) -> DENY (no_rule_allows)" in ran.out
    )
    assert cli("policy", "diff", bundle, bundle).code == 0
    assert cli("policy", "diff", bundle, new, "--since", "2999-01-01").code == 0
    assert cli("policy", "diff", bundle, new, "--since", "yesterday").code == 2


def test_diff_of_files(plain_cli: Cli, bundle: Path, input_file: Path, tmp_path: Path) -> None:
    """Protects: without a database, inputs that are kept as files show the same."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    assert plain_cli("policy", "diff", bundle, bundle, "--inputs", folder).code == 2
    input_file.rename(folder / "one.json")
    read = json.loads((folder / "one.json").read_text())
    read["action"]["side_effect_class"] = "READ"
    (folder / "two.json").write_text(json.dumps(read))
    new = tmp_path / "new"
    new.mkdir()
    (new / "mine.rego").write_text(RULE.replace('"reading"', '"looking"'))
    ran = plain_cli("policy", "diff", bundle, new, "--inputs", folder, "--json")
    assert (ran.code, ran.json["decisions"], ran.json["unchanged"]) == (1, 2, 1)
    assert [change["name"] for change in ran.json["changes"]] == ["two.json"]
    both = ("--inputs", folder, "--since", "2026-01-01")
    assert plain_cli("policy", "diff", bundle, new, *both).code == 2


def test_a_bundle_is_written_as_a_server_takes_it(plain_cli: Cli, tmp_path: Path) -> None:
    """Protects teams with an OPA server: what it serves is what is judged here, hash and all."""
    bundle, out = tmp_path / "mine", tmp_path / "served"
    assert plain_cli("policy", "init", bundle).code == 0
    ran = plain_cli("policy", "export", bundle, out, "--json")
    assert ran.code == 0
    assert ran.json["version"] == plain_cli("policy", "version", bundle, "--json").json["version"]
    assert ran.json["version"] in (out / ".manifest").read_text(encoding="utf-8")
    assert (out / "checkrein" / "decision.rego").exists()
    assert plain_cli("policy", "export", bundle, out).code == 2


def test_what_fails_its_own_tests_is_not_published(plain_cli: Cli, tmp_path: Path) -> None:
    """Protects: a bundle that its authors' tests refuse never reaches a server."""
    bundle, out = tmp_path / "mine", tmp_path / "served"
    assert plain_cli("policy", "init", bundle).code == 0
    (bundle / "rules" / "wrong_test.rego").write_text(
        "package checkrein.rules.wrong_test\n\nimport data.checkrein.rules.basics\n\n"
        "test_never if count(basics.deny) == 99 with input as {}\n"
    )
    ran = plain_cli("policy", "export", bundle, out, "--json")
    assert (ran.code, ran.error["code"]) == (2, "policy_tests_failed")
    assert not out.exists()


def test_shipped_rules_are_copied_with_tests_and_data(plain_cli: Cli, tmp_path: Path) -> None:
    """Protects: a copied rule works as it is, and nothing of one's own is overwritten."""
    bundle = tmp_path / "mine"
    assert plain_cli("policy", "init", bundle).code == 0
    ran = plain_cli("policy", "add", bundle, "money", "network", "--json")
    assert ran.code == 0
    names = {Path(path).name for path in ran.json["files"]}
    assert {"money.rego", "money_test.rego", "network.rego", "data.json"} <= names
    assert plain_cli("policy", "test", bundle).code == 0
    assert plain_cli("policy", "add", bundle, "money").code == 2
    assert plain_cli("policy", "add", bundle, "mony").code == 2
