"""budget show and raise: the books for people, and a raise that only its people can make."""

from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Ran, task_file
from loops import DONE, call, says

Cli = Callable[..., Ran]

LOOK = says("I look.", call("workspace.read", path="a.txt"))


@pytest.mark.shows(198)
def test_a_budget_is_shown_raised_and_the_run_goes_on(cli: Cli, tmp_path: Path) -> None:
    """Protects: the whole way from a used-up budget to the end, by commands alone."""
    task = task_file(
        tmp_path,
        [LOOK, LOOK, DONE],
        budgets={"steps": 1},
        shared_budgets={"steps": 2},
        commit_authority="tina",
    )
    ran = cli("run", task, "--json")
    attempt, of_task = ran.json["attempt_id"], ran.json["task_id"]
    shown = cli("budget", "show", attempt, "--json").json["budgets"]
    steps = {
        line["kind"]: (line["limit"], line["spent"], line["left"])
        for line in shown
        if line["budget"] == "steps"
    }
    assert steps == {"attempt": (1, 1, 0), "task": (2, 1, 1)}
    assert all(line["balances"] for line in shown)
    assert "balance" in cli("budget", "show", attempt[:8]).out

    raising = ("budget", "raise", attempt, "steps", 9, "--reason", "go on")
    refused = cli(*raising, "--as", "bob", "--json")
    assert (refused.code, refused.error["code"]) == (2, "raiser_not_permitted")
    assert "tina may" in refused.error["message"]
    assert cli(*raising, "--json").error["code"] == "raiser_not_permitted", "nobody is named"
    raised = cli(*raising, "--as", "tina")
    assert raised.code == 0
    assert f"next: checkrein resume {attempt}" in raised.out
    assert cli("status", attempt, "--json").json["next"] == [f"checkrein resume {attempt}"]

    ran = cli("resume", attempt, "--json")
    assert (ran.code, ran.json["status"]) == (3, "BUDGET_EXHAUSTED")
    assert f"of task {of_task}" in ran.json["waiting_for"]
    assert cli(*raising, "--as", "tina", "--task", "--json").json["kind"] == "task"
    ran = cli("resume", attempt, "--json")
    assert (ran.code, ran.json["status"]) == (0, "CANDIDATE_VERIFIED")
    told = cli("trace", attempt).out
    assert "tina raises budget steps from 1 to 9 (as tina)" in told


def test_a_raise_that_cannot_be_meant_is_refused(cli: Cli, tmp_path: Path) -> None:
    """Protects the hurried: a wrong name, a smaller limit, a budget that has no limit."""
    task = task_file(tmp_path, [LOOK, DONE], budgets={"steps": 1}, commit_authority="tina")
    attempt = cli("run", task, "--json").json["attempt_id"]
    for budget, limit, said in (
        ("step", 9, "There is no budget 'step'"),
        ("steps", 1, "does not raise it"),
        ("steps", 10**13, "does not raise it"),
        ("money", 9, "no limit for money"),
    ):
        ran = cli(
            *("budget", "raise", attempt, budget, limit),
            *("--reason", "more", "--as", "tina", "--json"),
        )
        assert ran.code == 2
        assert said in ran.error["message"]
