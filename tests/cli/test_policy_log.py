"""policy log: what was decided, on which exact input, in a shape that OPA's tools know."""

import json
from collections.abc import Callable
from pathlib import Path

from command_line import Ran, task_file
from loops import DONE, call, says

Cli = Callable[..., Ran]


def test_each_decision_is_a_line_and_holds_no_credential(cli: Cli, tmp_path: Path) -> None:
    """Protects auditors, who get the whole input, and everybody, whose secrets stay out of it."""
    secret = "ghp_" + "a" * 36
    write = says("", call("workspace.write_file", path="a.txt", content=f"token {secret}\n"))
    ran = cli("run", task_file(tmp_path, [write, DONE]), "--json")
    assert ran.code == 0
    lines = [json.loads(line) for line in cli("policy", "log").out.splitlines()]
    assert [line["labels"]["phase"] for line in lines] == ["propose", "dispatch"]
    one = lines[0]
    assert one["decision_id"].startswith(ran.json["attempt_id"])
    assert one["path"] == "checkrein/decision"
    assert one["result"]["decision"] == "ALLOW"
    assert one["bundles"]["checkrein"]["revision"].startswith("sha256:")
    assert one["input"]["action"]["facts"]["secret_hits"] == 1
    assert one["masked"] == ["/input/action/args/content"]
    assert secret not in json.dumps(lines)
    assert len(cli("policy", "log", ran.json["attempt_id"]).out.splitlines()) == 2
    assert cli("policy", "log", "--since", "2999-01-01").out == ""
    assert cli("policy", "log", "--since", "soon").code == 2
