"""Whoever watches over a sandbox may be killed at any time: nothing in it goes on, or passes."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from process_trees import alive, below

from checkrein.adapters.command_bubblewrap import BubblewrapCommandRunner
from checkrein.errors import EnvironmentFault
from checkrein.ports.command_runner import Confinement

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are a part of Linux")

HARNESS = """
import asyncio, sys
from pathlib import Path
from checkrein.adapters.command_bubblewrap import BubblewrapCommandRunner
from checkrein.ports.command_runner import Confinement

folder = Path(sys.argv[2])
asyncio.run(
    BubblewrapCommandRunner().run(
        ["sh", "-c", f"echo on > on; setsid sleep {sys.argv[1]} & sleep {sys.argv[1]}"],
        cwd=folder, confinement=Confinement(timeout_s=60, writable=folder),
    )
)
"""


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A folder for one command; skips where this machine has no sandbox."""
    offer = await BubblewrapCommandRunner().offer()
    if offer.lack:
        pytest.skip(offer.lack)
    made = tmp_path / "own"
    made.mkdir()
    return made


def gone(marker: str) -> list[int]:
    """What is left of a command after a while."""
    deadline = time.monotonic() + 20
    while (left := alive(marker)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def until_there(file: Path) -> None:
    """Wait for the command's own sign of life."""
    deadline = time.monotonic() + 30
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert file.exists()


@pytest.mark.shows(266)
async def test_the_death_of_the_harness_ends_the_sandbox(folder: Path) -> None:
    """Protects recovery: what a killed process had begun does not go on beside the new one."""
    marker = f"6{os.getpid()}.125"
    harness = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HARNESS, marker, str(folder)
    )
    await asyncio.to_thread(until_there, folder / "on")
    harness.kill()
    await harness.wait()
    assert await asyncio.to_thread(gone, f"sleep {marker}") == []


@pytest.mark.shows(266, 268)
@pytest.mark.parametrize("whom", ["supervisor", "bubblewrap"])
async def test_the_death_of_who_watches_is_no_verdict(whom: str, folder: Path) -> None:
    """Protects verdicts and the machine: what nobody watched to its end has not passed."""
    marker = f"6{os.getpid()}.375"
    word = {"supervisor": "command_supervisor.py", "bubblewrap": "bwrap --unshare"}[whom]
    running = asyncio.create_task(
        BubblewrapCommandRunner().run(
            ["sh", "-c", f"echo on > on; setsid sleep {marker} & sleep {marker}"],
            cwd=folder,
            confinement=Confinement(timeout_s=60, writable=folder),
        )
    )
    await asyncio.to_thread(until_there, folder / "on")
    ours = set(below(os.getpid()))
    victims = [pid for pid in alive(word) if pid in ours]
    assert victims
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(EnvironmentFault) as caught:
        await running
    assert (caught.value.code, caught.value.retryable) == ("sandbox_lost", True)
    assert await asyncio.to_thread(gone, f"sleep {marker}") == []
