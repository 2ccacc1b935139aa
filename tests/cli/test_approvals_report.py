"""approvals-report: how approvals go, for people and for programs."""

from collections.abc import Callable
from pathlib import Path

from command_line import Ran, task_file
from loops import ASK_WRITES, DONE, call, says

Cli = Callable[..., Ran]

WRITE = says("I change it.", call("workspace.write_file", path="a.txt", content="two\n"))


def test_the_report(cli: Cli, tmp_path: Path) -> None:
    """Protects: numbers by rule, null where nothing was measured, and a dash for people."""
    empty = cli("approvals-report", "--json").json
    assert (empty["actions"], empty["share_asked"], empty["rules"]) == (0, None, {})
    assert cli("approvals-report").out == (
        "0 actions: 0 allowed, 0 under an earlier yes, 0 asked (-), 0 denied\n"
    )
    ran = cli("run", task_file(tmp_path, [WRITE, DONE], policy=str(ASK_WRITES)), "--json")
    head, line, total = cli("approvals-report").out.splitlines()[1:]
    assert head.split("\t")[:3] == ["rule", "asked", "approved"]
    assert line.split("\t") == ["write_asked", *"10000001", *"----"]
    assert total.split("\t")[0] == "all"
    assert cli("approve", ran.json["approvals"][0]["approval_id"], "--as", "bob").code == 0
    found = cli("approvals-report", "--since", "1h", "--json").json
    assert found["share_asked"] == 1.0
    rule = found["rules"]["write_asked"]
    assert (rule["approved"], rule["yes"], rule["overturned"]) == (1, 1, 0)
    assert rule["median_s"] == rule["p90_s"] > 0
    assert found["total"] == rule
    assert "(100 %)" in cli("approvals-report").out.splitlines()[0]
    for chosen in (["--since", "2999-01-01"], ["--tenant", "other"]):
        assert cli("approvals-report", *chosen, "--json").json["total"]["asked"] == 0


def test_times_that_are_none(cli: Cli) -> None:
    """Protects: a slip is told with the forms that there are."""
    for text in ("yesterday", "0d", "-1d", "7", "1w"):
        ran = cli("approvals-report", f"--since={text}", "--json")
        assert (ran.code, ran.error["code"]) == (2, "unusable_argument"), text
        assert "30m, 12h or 7d" in ran.error["message"]
