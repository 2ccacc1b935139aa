"""A candidate bundle is asked beside the live one, and only what it would do otherwise is kept."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from loops import ALLOW_ALL, ASK_WRITES, DONE, call, contract, opened, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.settings import Settings

WRITE = says("", call("workspace.write_file", path="a.txt", content="two\n"))


def lines(settings: Settings) -> list[dict[str, Any]]:
    """What was written down."""
    path = settings.home / "shadow.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_a_candidate_decides_nothing_and_is_compared(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: trying a stricter policy stops no run, and tells what it would have stopped."""
    beside = dataclasses.replace(settings, policy_shadow=str(ASK_WRITES))
    async with opened(beside) as (harness, _):
        report = await harness.run(contract(tmp_path, [WRITE, DONE], policy=ALLOW_ALL))
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {"COMMITTED": 1}
    found = lines(settings)
    assert [line["phase"] for line in found] == ["propose", "dispatch"]
    for line in found:
        assert line["live"]["decision"] == "ALLOW"
        assert line["candidate"]["decision"] == "REQUIRE_APPROVAL"
        assert line["input_ref"].startswith("sha256:")


async def test_a_candidate_that_cannot_be_used_changes_nothing(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a broken candidate is told of, and the live policy goes on alone."""
    beside = dataclasses.replace(settings, policy_shadow=str(tmp_path / "nothing"))
    async with opened(beside) as (harness, _):
        report = await harness.run(contract(tmp_path, [WRITE, DONE], policy=ALLOW_ALL))
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    (line,) = lines(settings)
    assert line["code"] == "policy_missing"
