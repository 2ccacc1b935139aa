"""The test that matters most: SIGKILL at each durable boundary, recovery in another process.

Each run reads one file, writes it behind an approval, and is killed at a named place. The crash
table (`make crash`) does so for every kind of target and every durability.
"""

import asyncio
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import loops
import pytest

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.event import ActionProposed, Observed, PolicyDecided
from checkrein.settings import Settings

CHILD = Path(__file__).parents[1] / "support" / "crash_child.py"

TURNS = [
    loops.says("I look first.", loops.call("workspace.read", path="a.txt")),
    loops.says("I change it.", loops.call("workspace.write_file", path="a.txt", content="two\n")),
    loops.DONE,
]

PLACES = [
    "after_raw_output",
    "after_raw_output:2",
    "after_raw_output:3",
    "before_decisions:2",
    "after_decisions",
    "after_decisions:2",  # the approval is stored, the checkpoint is not
    "after_checkpoint",
    "after_publishing",
    "before_executing",  # before the transaction that binds, claims and marks EXECUTING
    "after_executing",  # after it
    "after_file_write",
    "before_receipt",
    "after_receipt",
    "between_actions",
    "in_verifier",
    "before_verification",
    "after_verification",
]
HAPPENED_BEFORE = {"after_file_write", "before_receipt"}
"""Places at which the file is written and the ledger does not know it yet."""


async def killed(contract: Path, environment: dict[str, str], place: str) -> None:
    """Run the child until its failpoint ends it."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CHILD),
        str(contract),
        env=environment | {"CHECKREIN_FAILPOINT": place},
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await child.communicate()
    assert child.returncode == -signal.SIGKILL, said.decode()


@pytest.mark.shows(85, 110, 117, 141)
@pytest.mark.parametrize("place", PLACES)
async def test_a_run_killed_anywhere_ends_right(
    place: str, tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects: nothing lost, nothing done twice, nothing guessed, wherever the process dies."""
    task = loops.contract(tmp_path, TURNS, policy=loops.ASK_WRITES)
    file = tmp_path / "contract.json"
    file.write_text(task.model_dump_json(), encoding="utf-8")
    await killed(file, environment, place)

    async with loops.opened(settings) as (harness, parts):
        attempt_id = (await parts.records.attempts())[0].attempt_id
        target = Path((await harness.status(attempt_id)).workspace) / "a.txt"
        before = os.stat(target)
        report = await harness.recover(attempt_id)
        while report.approvals:
            assert target.read_text() == "one\n"
            await harness.approve(report.approvals[0].approval_id, by="bob")
            report = await harness.resume(attempt_id)
        if report.status is AttemptStatus.WAITING_FOR_APPROVAL:
            report = await harness.resume(attempt_id)

        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert report.effects == {"COMMITTED": 1}
        assert target.read_text() == "two\n"
        told = await loops.payloads(parts, attempt_id)
        kinds = Counter(payload.type for payload in told)
        assert kinds["attempt_ended"] == 1
        assert kinds["approval_granted"] == kinds["approval_decided"] == 1
        assert kinds["effect_committed"] + kinds["effect_reconciled"] == 1
        assert kinds["action_deduplicated"] == (place in HAPPENED_BEFORE)
        if place in HAPPENED_BEFORE | {"after_receipt"}:
            assert os.stat(target).st_ino == before.st_ino, "the file was written a second time"
        for one_each in (Observed, ActionProposed):
            seen = [p for p in told if isinstance(p, one_each)]
            assert len(seen) == len({p.model_dump_json() for p in seen}) == 2
        assert any(isinstance(p, PolicyDecided) and p.phase == "dispatch" for p in told)
        budgets = report.budgets
        assert all(line.reserved == 0 for line in budgets.values())
        assert budgets[Budget.TOOL_CALLS].spent == 2
        assert budgets[Budget.STEPS].spent == 3
        # Every turn's output was stored before any of these places: none is paid twice.
        assert loops.model_calls(tmp_path) == ["turn 1", "turn 2", "turn 3"]
        assert [a.status for a in await parts.records.approvals(attempt_id, open_only=False)] == [
            "USED"
        ]
