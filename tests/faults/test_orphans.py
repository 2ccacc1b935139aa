"""A harness that dies without a word leaves no child behind: no verifier, no policy engine."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from command_line import CommandLine, task_file
from loops import DONE, call, says
from process_trees import alive, below, until_gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

LOOK = says("I look.", call("workspace.read", path="a.txt"))


@pytest.mark.shows(135)
def test_sigkill_of_the_parent_leaves_nobody(environment: dict[str, str], tmp_path: Path) -> None:
    """Protects recovery: what a dead process had started does not go on beside its successor."""
    child, marker = CommandLine(environment), f"62.{os.getpid()}"
    # In sessions of their own, deaf to SIGTERM and SIGHUP: only who looks for them finds them.
    script = f"trap '' TERM HUP; setsid sh -c 'setsid sleep {marker} & sleep {marker}' & wait"
    check = {"command": {"argv": ["sh", "-c", script], "timeout_s": 120}}
    process = child.started("run", task_file(tmp_path, [LOOK, DONE], success=[check]))
    try:
        deadline = time.monotonic() + 60
        while len(alive(f"sleep {marker}")) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        tree = below(process.pid)
        assert len(tree) >= 4, "the supervisor, the command, and what it started"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
    assert until_gone(tree, 10) == []
    assert alive(marker) == []
