"""policy check, policy test and doctor: commands whose exit code 1 says that something is wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Ran
from project_files import ROOT

from checkrein.entrypoints.cli import doctor

Cli = Callable[..., Ran]

RULE = """package checkrein.rules.mine

allow contains {"reason_code": "mine"} if {
    input.action.capability == "workspace.read"
}
"""
TEST = """package checkrein.rules.mine_test

import data.checkrein.rules.mine

test_reading_is_allowed if {
    count(mine.allow) == 1 with input as {"action": {"capability": "workspace.read"}}
}
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A small bundle whose one test passes."""
    rules = tmp_path / "bundle" / "rules"
    rules.mkdir(parents=True)
    (rules / "mine.rego").write_text(RULE)
    (rules / "mine_test.rego").write_text(TEST)
    return tmp_path / "bundle"


def test_the_shipped_bundle_is_sound(plain_cli: Cli) -> None:
    """Protects: what ships compiles and passes its own tests, by the command of its authors."""
    folder = ROOT / "policy_rego" / "bundle"
    ran = plain_cli("policy", "check", folder, "--json")
    assert (ran.code, ran.json["ok"], ran.json["findings"]) == (0, True, [])
    ran = plain_cli("policy", "test", folder, "--json")
    assert (ran.code, ran.json["ok"], ran.json["covered_percent"]) == (0, True, 100.0)


def test_an_error_is_found_by_its_place(plain_cli: Cli, bundle: Path) -> None:
    """Protects: an author finds the character that is wrong."""
    assert plain_cli("policy", "check", bundle).code == 0
    (bundle / "rules" / "mine.rego").write_text(RULE.replace("==", "= ="))
    ran = plain_cli("policy", "check", bundle)
    assert ran.code == 1
    assert f"{bundle}/rules/mine.rego:4:" in ran.out
    assert ": error: " in ran.out
    finding = plain_cli("policy", "check", bundle, "--json").json["findings"][0]
    assert (finding["path"], finding["line"], finding["level"]) == ("rules/mine.rego", 4, "error")
    ran = plain_cli("policy", "test", bundle, "--json")
    assert (ran.code, ran.error["code"]) == (1, "policy_invalid")


def test_a_failing_test_is_named(plain_cli: Cli, bundle: Path) -> None:
    """Protects: tests that fail, and tests that are not there, are no success."""
    assert plain_cli("policy", "test", bundle).code == 0
    test = bundle / "rules" / "mine_test.rego"
    test.write_text(TEST.replace("== 1", "== 2"))
    ran = plain_cli("policy", "test", bundle)
    assert ran.code == 1
    assert "FAIL  checkrein.rules.mine_test.test_reading_is_allowed" in ran.out
    assert f"{test}:5" in ran.out
    test.unlink()
    ran = plain_cli("policy", "test", bundle)
    assert (ran.code, "There are no tests" in ran.out) == (1, True)


def test_a_folder_that_is_none(plain_cli: Cli, tmp_path: Path) -> None:
    """Protects: nothing to check is a mistake of the call, not of the policy."""
    for command in ("check", "test"):
        ran = plain_cli("policy", command, tmp_path / "none", "--json")
        assert (ran.code, str(tmp_path / "none") in ran.error["message"]) == (2, True)


def test_doctor_finds_everything_that_is_needed(cli: Cli) -> None:
    """Protects: each part with its version, and how to get it."""
    ran = cli("doctor", "--json")
    assert (ran.code, ran.json["ok"]) == (0, True)
    parts = {part["name"]: part for part in ran.json["parts"]}
    assert set(parts) >= {
        *("Python", "Postgres", "psycopg", "langgraph", "gordon-to-regorus", "pytest"),
        *("langchain", "git", "opa", "unshare"),
    }
    for part in parts.values():
        assert part["how"]
        assert part["found"] or not part["needed"]
        plain = part["name"].startswith(("unshare", "commands:"))
        assert part["version"] or not part["found"] or plain
    assert "up to date" in parts["Postgres"]["detail"]
    assert "everything needed is there" in cli("doctor").out


def test_doctor_says_what_is_missing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects: a missing part is exit code 1, and how to get it is said."""
    missing = ("no-such-package", True, "nothing", "pip install it")
    monkeypatch.setattr(doctor, "_PACKAGES", (missing,))
    ran = cli("doctor")
    assert ran.code == 1
    assert "MISSING no-such-package" in ran.out
    assert "to get it: pip install it" in ran.out


def test_doctor_tells_why_the_database_cannot_be_used(
    plain_cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: doctor finds the fault that other commands stumble over."""
    monkeypatch.setenv("CHECKREIN_DATABASE_URL", "postgresql://postgres@127.0.0.1:1/postgres")
    ran = plain_cli("doctor", "--json")
    (part,) = [part for part in ran.json["parts"] if part["name"] == "Postgres"]
    assert (ran.code, part["found"]) == (1, False)
    assert "refused" in part["detail"]
