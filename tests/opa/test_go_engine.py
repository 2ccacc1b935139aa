"""Parity where no OPA server can be had: OPA's Go engine in a process of its own."""

import importlib.util
import os
import subprocess
import sys

import pytest

from checkrein.evals.go_engine import HOW


def test_the_go_engine_says_the_same() -> None:
    """CHECKREIN_GOLIB names the folder of the binding; a child loads it, since it must not fork."""
    folder = os.environ.get("CHECKREIN_GOLIB")
    if folder is None and importlib.util.find_spec("opa_bindings") is None:
        pytest.skip(HOW.replace("give --golib DIR", "set CHECKREIN_GOLIB=DIR"))
    done = subprocess.run(
        [sys.executable, "-m", "checkrein.evals.parity", "--quick", "--golib", folder or "."],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:] + done.stdout[-2_000:]
    assert "0 cases where one grants more than the other" in done.stdout
