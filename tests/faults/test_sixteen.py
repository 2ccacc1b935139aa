"""Sixteen processes resume one attempt that was approved: one pays, and all are told the truth."""

import asyncio
import json
import uuid
from collections import Counter
from pathlib import Path

import httpx
import loops
import pytest
from command_line import COMMAND
from payment_account import Account

from checkrein.contracts.attempt import AttemptStatus
from checkrein.settings import Settings
from checkrein.testing.payment_server.process import running

SUPPORT = Path(__file__).parents[1] / "support"
RESUMERS = 16
BUSY = 6

PAY = loops.says("I pay.", loops.call("payments.charge", amount=500, currency="EUR", to="acme"))


async def _resumed(attempt_id: str, environment: dict[str, str]) -> tuple[int, str, str]:
    """One process that resumes; its exit code and what it said."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        *("resume", attempt_id, "--json"),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.mark.shows(108, 144)
async def test_sixteen_resume_and_one_pays(
    tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects: one effect at the target, one process that finishes, fifteen that are told."""
    async with (
        running(tmp_path) as url,
        httpx.AsyncClient(base_url=url, trust_env=False) as client,
    ):
        bank = Account(url, uuid.uuid4().hex, client)
        # Whoever pays takes a while, so that many are surely at work at once.
        await bank.faults(next=["late:2"])
        task = loops.contract(
            tmp_path, [PAY, loops.DONE], capabilities=["payments.charge"], policy=loops.ASK_WRITES
        )
        async with loops.opened(settings, bank.charge()) as (harness, parts):
            waits = await harness.run(task)
            assert waits.status is AttemptStatus.WAITING_FOR_APPROVAL
            await harness.approve(waits.approvals[0].approval_id, by="bob")
            child = environment | {
                "CHECKREIN_CAPABILITIES": "paying:charge",
                "PYTHONPATH": str(SUPPORT),
                "PAYING_SERVICE": url,
                "PAYING_ACCOUNT": bank.namespace,
            }
            said = await asyncio.gather(
                *(_resumed(waits.attempt_id, child) for _ in range(RESUMERS))
            )
            kinds = await loops.types(parts, waits.attempt_id)
            report = await harness.status(waits.attempt_id)
        assert await bank.paid() == 1
        assert (await bank.calls())["calls"] == 1
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {"COMMITTED": 1}
    counted = Counter(kinds)
    for one_each in ("effect_executing", "effect_committed", "approval_granted", "attempt_ended"):
        assert counted[one_each] == 1
    _told_the_truth(said)
    assert loops.model_calls(tmp_path) == ["turn 1", "turn 2"]


def _told_the_truth(said: list[tuple[int, str, str]]) -> None:
    """Who came while somebody worked was refused; who came later was told the end."""
    busy = [json.loads(out) for code, out, _ in said if code == BUSY]
    ended = [json.loads(out) for code, out, _ in said if code == 0]
    assert len(busy) + len(ended) == RESUMERS, said
    assert ended and busy
    assert all(answer["error"]["code"] == "attempt_busy" for answer in busy)
    assert all(report["status"] == "CANDIDATE_VERIFIED" for report in ended)
    assert not [err for _, _, err in said if "Traceback" in err]
