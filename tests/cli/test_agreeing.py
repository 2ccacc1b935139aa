"""A machine has less than a task asks for: a person is asked, in words that can be typed."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Ran, task_file
from loops import DONE

Cli = Callable[..., Ran]
# Docker without an image can be had nowhere.
ASKS = {"backends": ["docker"], "network": "host", "on_missing": "ask"}


@pytest.mark.shows(255)
def test_the_refusal_says_what_to_type(cli: Cli, tmp_path: Path) -> None:
    """Protects who runs it: what is missing, and each way on, and then that way works."""
    task = task_file(tmp_path, [DONE], environment=ASKS)
    refused = cli("run", task)
    assert refused.code == 2
    assert "docker" in refused.err
    assert re.search(r"`--environment local --as WHO`.* without a sandbox", refused.err, re.S)
    assert "--environment narrow" not in refused.err, "its check runs a command"
    assert cli("status", "--json").json == {"attempts": []}
    ran = cli("run", task, "--environment", "local", "--as", "bob", "--json")
    assert (ran.code, ran.json["status"]) == (0, "CANDIDATE_VERIFIED")
    assert "bob agreed to that" in cli("trace", ran.json["attempt_id"]).out


@pytest.mark.parametrize(
    ("fields", "args", "told"),
    [
        (ASKS, ["--environment", "moon", "--as", "bob"], "`local` or `narrow`"),
        (ASKS, ["--environment", "local"], "--as names who says so"),
        (ASKS | {"on_missing": "fail"}, ["--environment", "local", "--as", "bob"], "asks nobody"),
        (None, ["--environment", "local", "--as", "bob"], "asks nobody"),
    ],
)
def test_a_word_that_nobody_asked_for_is_refused(
    fields: dict[str, object] | None, args: list[str], told: str, cli: Cli, tmp_path: Path
) -> None:
    """Protects: an option that would do nothing is told, and never passed over."""
    refused = cli("run", task_file(tmp_path, [DONE], environment=fields), *args)
    assert (refused.code, told in refused.err) == (2, True), refused.err
