"""Tests of a candidate that run in a sandbox are judged as anywhere: no wall bends a verdict."""

from pathlib import Path
from typing import Any

import pytest
from judged import MENDED, PROJECT, Files, Judging, written

from checkrein.adapters.command_bubblewrap import BubblewrapCommandRunner
from checkrein.adapters.command_door import CommandDoor
from checkrein.contracts.verification import CheckStatus
from checkrein.ports.command_runner import Confinement

MORE = "from shop import price\n\n\ndef test_text():\n    assert str(price()) == '2'\n"
JUNIT = {
    "argv": ["python", "-m", "pytest", "--junit-xml=out.xml", "tests"],
    "report": "out.xml",
}


@pytest.fixture
async def sandboxed(tmp_path: Path) -> Judging:
    """Judges in bubblewrap; skips where this machine has none."""
    runner = BubblewrapCommandRunner()
    offer = await runner.offer()
    if offer.lack:
        pytest.skip(offer.lack)
    written(tmp_path / "project", PROJECT)
    door = CommandDoor(runner, offer, Confinement(timeout_s=600, network="none"))
    return Judging(tmp_path, door)


@pytest.mark.shows(212, 254)
@pytest.mark.parametrize(
    ("check", "changed", "status", "told"),
    [
        ({"pytest": {}}, MENDED, CheckStatus.PASS, ""),
        ({"pytest": {}}, {}, CheckStatus.FAIL, "assert 1 == 2"),
        ({"pytest": {"paths": ["tests"]}}, MENDED, CheckStatus.PASS, ""),
        ({"junit": JUNIT}, MENDED, CheckStatus.PASS, ""),
        ({"junit": JUNIT}, {}, CheckStatus.FAIL, "assert 1 == 2"),
        ({"pytest": {}}, {"shop.py": "import os\nos._exit(0)\n"}, CheckStatus.FAIL, "not count"),
    ],
)
async def test_the_verdict_is_the_same(
    sandboxed: Judging, check: dict[str, Any], changed: Files, status: CheckStatus, told: str
) -> None:
    result = await sandboxed.result(check, changed)
    assert (result.status, told in result.gap) == (status, True), result.gap
    assert "/workspace" not in result.gap
    assert "run by: bubblewrap" in await sandboxed.evidence(result)


async def test_hidden_tests_are_judged_there(sandboxed: Judging, tmp_path: Path) -> None:
    """Protects: what is laid over the copy is within the walls as well."""
    written(tmp_path / "hidden", {"tests/test_more.py": MORE})
    check = {"pytest": {"hidden": str(tmp_path / "hidden")}}
    assert (await sandboxed.result(check, MENDED)).status is CheckStatus.PASS


async def test_what_the_code_under_test_does_stays_within(
    sandboxed: Judging, tmp_path: Path
) -> None:
    """Protects the machine from the candidate's code, which runs in the process that judges it."""
    outside = tmp_path / "outside"
    evil = f"open({str(outside)!r}, 'w')\n\n\ndef price():\n    return 2\n"
    result = await sandboxed.result({"pytest": {}}, {"shop.py": evil})
    assert (result.status, outside.exists()) == (CheckStatus.FAIL, False)
