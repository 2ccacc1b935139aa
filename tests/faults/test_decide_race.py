"""Yes and no to one request at the same moment: one truth each time, and it is what happens."""

import asyncio
from pathlib import Path

import loops

from checkrein.compose import Parts
from checkrein.contracts.approval import Answer, ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ApprovalDecided, Observed
from checkrein.errors import ConflictError
from checkrein.harness import Harness
from checkrein.settings import Settings

TIMES = 50

WRITE = loops.says("I write.", loops.call("workspace.write_file", path="a.txt", content="two\n"))


async def _answered(harness: Harness, approval_id: str, answer: Answer) -> Answer | None:
    """Answer; None where somebody else was first."""
    try:
        if answer is Answer.APPROVE:
            await harness.approve(approval_id, by="bob")
        else:
            await harness.reject(approval_id, by="carol", reason="no")
    except ConflictError:
        return None
    return answer


async def _one_truth(
    first: Harness, second: Harness, parts: Parts, folder: Path, number: int
) -> Answer:
    """One request that both answer at once; returns what was true."""
    task = loops.contract(folder / str(number), [WRITE, loops.DONE], policy=loops.ASK_WRITES)
    waits = await first.run(task)
    (request,) = waits.approvals
    both = [
        _answered(first, request.approval_id, Answer.APPROVE),
        _answered(second, request.approval_id, Answer.REJECT),
    ]
    # Who asks first wins more often; each does in half of the races.
    said = await asyncio.gather(*(both if number % 2 else reversed(both)))
    (won,) = [answer for answer in said if answer is not None]
    report = await second.resume(waits.attempt_id)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    told = await loops.payloads(parts, waits.attempt_id)
    (decided,) = [payload for payload in told if isinstance(payload, ApprovalDecided)]
    assert decided.answer is won
    approved = won is Answer.APPROVE
    assert report.effects == ({"COMMITTED": 1} if approved else {})
    assert (Path(report.workspace) / "a.txt").read_text() == ("two\n" if approved else "one\n")
    (seen,) = [payload.observation for payload in told if isinstance(payload, Observed)]
    assert seen.status == ("ok" if approved else "rejected")
    stored, grants = await parts.records.approval(request.approval_id)
    assert stored.status is (ApprovalStatus.USED if approved else ApprovalStatus.REJECTED)
    assert [grant.answer for grant in grants] == [won]
    return won


async def test_fifty_times_yes_and_no_at_once(tmp_path: Path, settings: Settings) -> None:
    """Protects: exactly one of two people is told yes, and the target agrees with that one."""
    async with (
        loops.opened(settings) as (first, parts),
        loops.opened(settings) as (second, _),
    ):
        won = [await _one_truth(first, second, parts, tmp_path, n) for n in range(TIMES)]
    assert set(won) == {Answer.APPROVE, Answer.REJECT}
