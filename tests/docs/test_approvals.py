"""docs/approvals.md against a real run: the protocol's steps and what they are called here."""

import re
from pathlib import Path

import pytest
from loops import ASK_WRITES, DONE, call, contract, opened, says, types

from checkrein.settings import Settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "approvals.md"
STEPS = [
    "tool_call",
    "policy_decision",
    "checkpoint_saved",
    "approval_requested",
    "waiting_approval",
    "run_resumed",
    "approval_granted",
    "tool_result",
    "action_committed",
    "verification_started",
    "verification",
    "completed",
]


@pytest.mark.shows(79)
async def test_the_table_of_steps_is_a_real_run(tmp_path: Path, settings: Settings) -> None:
    """Protects: every step of the protocol happens, under the page's name for it, in order."""
    rows = re.findall(r"^\| (\w*) ?\| `(\w+)` \|", PAGE.read_text(), flags=re.MULTILINE)
    assert sorted(step for step, _ in rows if step) == sorted(STEPS)
    write = says("I write.", call("workspace.write_file", path="a.txt", content="two\n"))
    async with opened(settings) as (harness, parts):
        report = await harness.run(contract(tmp_path, [write, DONE], policy=ASK_WRITES))
        await harness.approve(report.approvals[0].approval_id, by="bob")
        report = await harness.resume(report.attempt_id)
        happened = iter(await types(parts, report.attempt_id))
    missing = [event for _, event in rows if event not in happened]
    assert missing == []
