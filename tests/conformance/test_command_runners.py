"""Every backend that runs commands does what the port promises; a sandbox keeps them apart."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from checkrein.adapters.command_bubblewrap import BubblewrapCommandRunner
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.ports.command_runner import CommandRunner
from checkrein.testing.conformance.command_runner_suite import CHECKS, ISOLATING, Check, Ground

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

RUNNERS: dict[str, type[LocalCommandRunner] | type[BubblewrapCommandRunner]] = {
    "local": LocalCommandRunner,
    "bubblewrap": BubblewrapCommandRunner,
}


@pytest.fixture
async def ground(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Ground]:
    """A runner with a folder of its own; nothing of it is left in the scratch folder."""
    folder, scratch = tmp_path / "own", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    runner: CommandRunner = RUNNERS[request.param](scratch=scratch)
    offer = await runner.offer()
    if offer.lack:
        pytest.skip(offer.lack)
    if "none" not in offer.networks:
        pytest.skip("no command can be cut off here: install util-linux, or run as root")
    yield Ground(runner, folder)
    assert list(scratch.iterdir()) == []


@pytest.mark.shows(121, 260, 266)
@pytest.mark.parametrize("ground", RUNNERS, indirect=True)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_every_backend(check: Check, ground: Ground) -> None:
    """Protects what callers rely on, whatever runs their command."""
    await check(ground)


@pytest.mark.shows(254, 256, 257, 261)
@pytest.mark.parametrize("ground", ["bubblewrap"], indirect=True)
@pytest.mark.parametrize("check", ISOLATING, ids=lambda check: check.__name__)
async def test_a_sandbox(check: Check, ground: Ground) -> None:
    """Protects the machine and other tasks from a command that means harm."""
    await check(ground)
