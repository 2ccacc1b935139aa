"""The main job from task file to verified result; where that matters, in processes of their own."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from command_line import CommandLine, Ran
from project_files import ROOT

Cli = Callable[..., Ran]

KEYS = {
    *("task_id", "attempt_id", "status", "waiting_for", "approvals", "effects", "verification"),
    *("evidence", "workspace", "budgets", "next", "next_note", "detail", "warnings", "turns"),
}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the example whose script counts the calls of its model."""
    folder = tmp_path / "price_repair"
    shutil.copytree(ROOT / "examples" / "price_repair", folder)
    for script in folder.glob("*decisions.yaml"):
        script.write_text(f"calls_log: calls.log\n{script.read_text('utf-8')}", "utf-8")
    return folder


def calls(folder: Path) -> int:
    """How often the model was called, by its own count."""
    return len((folder / "calls.log").read_text().splitlines())


def waiting(cli: Cli, example: Path) -> Ran:
    """The main job, up to where a person is asked."""
    ran = cli("run", example / "task.yaml", "--json")
    assert ran.code == 3, ran
    assert set(ran.json) >= KEYS
    return ran


def say_yes(cli: Cli, ran: Ran) -> list[str]:
    """Run the first command that `next` names, as it stands; returns the others."""
    commands: list[str] = ran.json["next"]
    approve, *others = commands
    assert cli(*approve.split()[1:]).code == 0
    return others


@pytest.mark.shows(14, 85)
def test_run_approve_and_resume_in_three_processes(child: CommandLine, example: Path) -> None:
    """Protects: the whole way, by nothing but what each command's JSON says comes next."""
    ran = waiting(child, example)
    waits = ran.json
    assert waits["status"] == "WAITING_FOR_APPROVAL"
    assert "workspace.apply_patch" in waits["waiting_for"]
    assert (waits["effects"], waits["verification"], waits["evidence"]) == ({}, None, None)
    (request,) = waits["approvals"]
    assert request["status"] == "PENDING"
    assert request["capability"] == "workspace.apply_patch@1"
    assert request["resource"] == "file:pricing.py"
    assert "+_PRICE = re.compile" in request["preview"]
    assert request["may_answer"] == ["bob", "carol"]
    assert waits["budgets"]["steps"] == {
        "limit": 30,
        "spent": 3,
        "reserved": 0,
        "pool": None,
    }
    pricing = Path(waits["workspace"]) / "pricing.py"
    before = pricing.read_text("utf-8")

    assert child("status", waits["attempt_id"][:8], "--json").json["next"] == waits["next"]
    (resume,) = say_yes(child, ran)
    assert pricing.read_text("utf-8") == before
    ran = child(*resume.split()[1:], "--json")

    done = ran.json
    assert (ran.code, done["status"]) == (0, "CANDIDATE_VERIFIED")
    assert done["effects"] == {"COMMITTED": 1}
    assert done["verification"]["status"] == "PASS"
    assert done["evidence"].startswith("sha256:")
    assert done["approvals"] == []
    assert calls(example) == len(yaml.safe_load((example / "decisions.yaml").read_text())["turns"])
    assert (example / "workspace" / "pricing.py").read_text("utf-8") == before
    assert child("trace", "verify", done["attempt_id"]).code == 0


@pytest.mark.shows(83, 84)
def test_what_changed_while_it_waited_is_shown_again(cli: Cli, example: Path) -> None:
    """Protects: a yes to one diff is no yes to another; the new one is on offer."""
    ran = waiting(cli, example)
    (request,) = ran.json["approvals"]
    pricing = Path(ran.json["workspace"]) / "pricing.py"
    pricing.write_text(f"{pricing.read_text('utf-8')}\n# a person was here\n", "utf-8")
    (resume,) = say_yes(cli, ran)

    ran = cli(*resume.split()[1:], "--json")
    stale = ran.json
    assert (ran.code, stale["status"], stale["effects"]) == (3, "APPROVAL_STALE", {})
    (fresh,) = stale["approvals"]
    assert fresh["approval_id"] != request["approval_id"]
    assert fresh["resource_version"] != request["resource_version"]
    assert fresh["replaces"] == request["approval_id"]
    again = cli("approve", request["approval_id"], "--as", "bob", "--json")
    assert (again.code, again.error["code"]) == (2, "approval_not_open")

    (resume,) = say_yes(cli, ran)
    ran = cli(*resume.split()[1:], "--json")
    assert (ran.code, ran.json["effects"]) == (0, {"COMMITTED": 1})
    assert pricing.read_text("utf-8").endswith("# a person was here\n")


@pytest.mark.shows(2, 15)
def test_a_claim_is_no_proof_and_can_be_tried_again(cli: Cli, example: Path) -> None:
    """Protects: saying `fixed` ends unverified; a retry is a new attempt and leaves the old one."""
    ran = cli("run", example / "false_claim.yaml", "--json")
    first = ran.json
    assert (ran.code, first["status"]) == (4, "FAILED_VERIFICATION")
    assert first["verification"]["status"] == "FAIL"
    assert calls(example) == 1
    trace = cli("trace", first["attempt_id"], "--json").json
    (retry,) = first["next"]
    ran = cli(*retry.split()[1:], "--json")
    second = ran.json
    assert (ran.code, second["status"]) == (4, "FAILED_VERIFICATION")
    assert second["task_id"] == first["task_id"]
    assert second["attempt_id"] != first["attempt_id"]
    assert cli("trace", first["attempt_id"], "--json").json == trace


def test_the_shipped_policy_denies_changing_the_tests(cli: Cli, example: Path) -> None:
    """Protects: tests that fail are mended in the code, not taken away."""
    ran = cli("run", example / "changes_tests.yaml", "--json")
    assert (ran.code, ran.json["status"]) == (4, "FAILED_VERIFICATION")
    assert ran.json["effects"] == {}
    kinds = {
        e["type"]: e["payload"]
        for e in cli("trace", ran.json["attempt_id"], "--json").json["events"]
    }
    assert kinds["policy_decided"]["decision"]["decision"] == "DENY"


def test_people_read_the_same_story(cli: Cli, example: Path) -> None:
    """Protects: without --json, stdout has the summary and stderr what happens as it happens."""
    ran = cli("run", example / "task.yaml")
    assert ran.code == 3
    for line in ("turn 3: answered, 1900 tokens in, 310 out", "policy says REQUIRE_APPROVAL"):
        assert line in ran.err
    assert "budgets: steps 3/30, model_tokens 4392/120000" in ran.err
    assert ran.out.startswith("WAITING_FOR_APPROVAL  attempt ")
    assert '+_PRICE = re.compile(r"￥?(' in ran.out
    assert "\nnext: checkrein approve apr_" in ran.out
    assert "\nthen: checkrein resume " in ran.out
