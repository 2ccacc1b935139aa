"""A yes that reaches further, as the command line says it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import asking
from command_line import Ran, task_file
from loops import DONE, call, says

from checkrein.contracts.permission import Bound, Reach, Scope
from checkrein.entrypoints.cli.reaching import reach_of
from checkrein.errors import InputError

Cli = Callable[..., Ran]


def write(path: str, content: str) -> dict[str, Any]:
    return says("I write.", call("workspace.write_file", path=path, content=content))


def test_a_class_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    """Protects: bounds as they are typed are the bounds that hold, a folder among them."""
    wide = asking(tmp_path, '"roles": ["approver"], "scopes": ["once", "class"]')
    turns = [write("out/a.txt", "x"), write("out/b.txt", "x"), write("out/c.txt", "y"), DONE]
    asked = cli("run", task_file(tmp_path, turns, policy=str(wide)), "--json").json
    approval = asked["approvals"][0]["approval_id"]
    refused = cli("approve", approval, "--as", "bob", "--scope", "task", "--json")
    assert (refused.code, refused.error["code"]) == (2, "unusable_scope")
    ran = cli(
        *("approve", approval, "--as", "bob", "--scope", "class"),
        *("--bound", "path=below:out", "--uses", "5", "--for", "8h", "--json"),
    )
    assert ran.code == 0
    again = cli("resume", asked["attempt_id"], "--json")
    assert again.json["approvals"][0]["args"] == {"path": "out/c.txt", "content": "y"}
    assert again.json["effects"] == {"COMMITTED": 2}


def test_options_are_read_strictly() -> None:
    """Protects: what cannot be read is never taken for something wider."""
    assert reach_of("once", (), None, None) is None
    assert reach_of("class", ["n=1..5", "to=acme,7,true"], 3, "90m") == Reach(
        scope=Scope.CLASS,
        bounds={"n": Bound(at_least=1, at_most=5), "to": Bound(one_of=["acme", 7, True])},
        uses=3,
        lasts_s=5400,
    )


@pytest.mark.parametrize(
    ("scope", "bounds", "uses", "lasts"),
    [
        ("once", ["n=1..5"], None, None),
        ("once", [], 3, None),
        ("forever", [], None, None),
        ("class", [], None, None),
        ("task", ["n=1..5"], None, None),
        ("class", ["n"], None, None),
        ("class", ["n=5..1"], None, None),
        ("class", ["=1..5"], None, None),
        ("class", ["n="], None, None),
        ("class", ["p=below:"], None, None),
        ("class", ["p=below:../etc"], None, None),
        ("task", [], 0, None),
        ("task", [], 5000, None),
        ("task", [], None, "soon"),
        ("task", [], None, "1s"),
        ("task", [], None, "31d"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    scope: str, bounds: list[str], uses: int | None, lasts: str | None
) -> None:
    """Protects: an option that does not fit is an error, and nothing is said."""
    with pytest.raises(InputError):
        reach_of(scope, bounds, uses, lasts)
