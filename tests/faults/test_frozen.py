"""A worker is frozen past its lease, another one finishes, and then the first one wakes up."""

import asyncio
import json
import os
import signal
import sys
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import loops
import pytest
from payment_account import FAST, Account

from checkrein.compose import Parts
from checkrein.contracts.attempt import AttemptStatus
from checkrein.harness import Harness
from checkrein.settings import Settings
from checkrein.testing.payment_server.process import running

SUPPORT = Path(__file__).parents[1] / "support"
SHORT_S = 1.0
PATIENCE_S = 40.0

WRITE = loops.says("I write.", loops.call("workspace.write_file", path="a.txt", content="two\n"))
PAY = loops.says("I pay.", loops.call("payments.charge", amount=500, currency="EUR", to="acme"))

BEFORE_SENDING = "after_executing"
SWAPPED = "after_file_write"  # under the workspace's lock
ANSWERED = "before_receipt"
ON_ITS_WAY = "on_its_way"


async def waited(what: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE_S
    while not await what():
        assert time.monotonic() < end, "it never came to be"
        await asyncio.sleep(0.02)


class Worker:
    """A process that resumes an attempt, and is frozen on its way."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def freeze(self) -> None:
        """Now, wherever it is."""
        os.kill(self._process.pid, signal.SIGSTOP)

    async def is_frozen(self) -> None:
        """Wait until the system says so."""

        await waited(self._stopped)

    async def _stopped(self) -> bool:
        how = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        # WNOHANG: it does not wait.
        return os.waitid(os.P_PID, self._process.pid, how) is not None  # noqa: ASYNC222

    async def woken(self) -> tuple[int, dict[str, Any]]:
        """Let it go on to its end; its exit code and what it says."""
        os.kill(self._process.pid, signal.SIGCONT)
        async with asyncio.timeout(PATIENCE_S):
            out, err = await self._process.communicate()
        assert b"Traceback" not in err, err.decode()
        assert self._process.returncode is not None
        said: dict[str, Any] = json.loads(out)
        return self._process.returncode, said


@asynccontextmanager
async def working(attempt_id: str, environment: dict[str, str]) -> AsyncGenerator[Worker]:
    """A worker; it is killed at the end at the latest."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SUPPORT / "frozen_child.py"),
        *(attempt_id, str(SHORT_S)),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Worker(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def approved(harness: Harness, task: Any) -> str:
    """An attempt whose write a person has approved."""
    waits = await harness.run(task)
    assert waits.status is AttemptStatus.WAITING_FOR_APPROVAL
    await harness.approve(waits.approvals[0].approval_id, by="bob")
    return waits.attempt_id


async def finished(parts: Parts, attempt_id: str, worker: Worker) -> Counter[str]:
    """Another owner ends the attempt; the first one wakes, is refused, and has added nothing."""
    report = await parts.front_door.recover(attempt_id, wait_s=PATIENCE_S)
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert report.effects == {"COMMITTED": 1}
    before = await loops.types(parts, attempt_id)
    assert await worker.woken() == (1, {"error": "lease_lost"})
    assert await loops.types(parts, attempt_id) == before
    return Counter(before)


@pytest.mark.shows(113)
@pytest.mark.parametrize("place", [BEFORE_SENDING, SWAPPED, ANSWERED])
async def test_a_file_is_swapped_once(
    place: str, tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects compare_and_set: the one who wakes writes neither the file nor the record."""
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=loops.ASK_WRITES)
    async with loops.opened(settings, lease_ttl_s=SHORT_S) as (harness, parts):
        attempt_id = await approved(harness, task)
        file = Path((await harness.status(attempt_id)).workspace) / "a.txt"
        first = os.stat(file)
        frozen = environment | {"CHECKREIN_FAILPOINT": f"{place}:1:freeze"}
        async with working(attempt_id, frozen) as worker:
            await worker.is_frozen()
            swapped = os.stat(file).st_ino != first.st_ino
            assert swapped == (place != BEFORE_SENDING)
            then = os.stat(file)
            kinds = await finished(parts, attempt_id, worker)
        now = os.stat(file)
        if swapped:
            assert (now.st_ino, now.st_mtime_ns) == (then.st_ino, then.st_mtime_ns)
        assert file.read_text() == "two\n"
        assert kinds["effect_executing"] == (1 if swapped else 2)
        assert kinds["effect_reconciled"] == kinds["action_deduplicated"] == int(swapped)


@pytest.mark.shows(113, 115)
@pytest.mark.parametrize("place", [BEFORE_SENDING, ON_ITS_WAY, ANSWERED])
async def test_a_payment_is_made_once(
    place: str, tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects atomic_key: one payment at the service, whoever asked for it."""
    async with (
        running(tmp_path) as url,
        httpx.AsyncClient(base_url=url, trust_env=False) as client,
    ):
        bank = Account(url, uuid.uuid4().hex, client)
        task = loops.contract(
            tmp_path, [PAY, loops.DONE], capabilities=["payments.charge"], policy=loops.ASK_WRITES
        )
        charge = bank.charge(retry=FAST)
        frozen = environment | {
            "CHECKREIN_CAPABILITIES": "paying:charge",
            "PYTHONPATH": str(SUPPORT),
            "PAYING_SERVICE": url,
            "PAYING_ACCOUNT": bank.namespace,
        }
        if place != ON_ITS_WAY:
            frozen["CHECKREIN_FAILPOINT"] = f"{place}:1:freeze"
        else:
            # It arrives, and takes effect only after another owner has sent it once more.
            await bank.faults(next=["delayed_commit:4"])
        async with loops.opened(settings, charge, lease_ttl_s=SHORT_S) as (harness, parts):
            attempt_id = await approved(harness, task)
            async with working(attempt_id, frozen) as worker:
                if place == ON_ITS_WAY:
                    await waited(lambda: _arrived(bank))
                    worker.freeze()
                await worker.is_frozen()
                paid = await bank.paid()
                assert paid == (1 if place == ANSWERED else 0)
                kinds = await finished(parts, attempt_id, worker)
            assert await bank.paid() == 1
            assert kinds["effect_executing"] == (1 if paid else 2)
            assert kinds["effect_committed"] + kinds["effect_reconciled"] == 1
        assert (await bank.calls())["calls"] == (2 if place == ON_ITS_WAY else 1)


async def _arrived(bank: Account) -> bool:
    """Whether the service was asked for something."""
    return bool((await bank.calls())["calls"])
