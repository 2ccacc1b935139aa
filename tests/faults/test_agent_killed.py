"""An agent of LangChain's under the harness, killed in its payment and gone on with elsewhere."""

import asyncio
import os
import signal
import sys
import time
import uuid
from pathlib import Path

import httpx
import loops
import pytest
from payment_account import Account

from checkrein.settings import Settings
from checkrein.testing.payment_server.process import running

SUPPORT = Path(__file__).parents[1] / "support"
PATIENCE_S = 40.0


async def started(how: str, environment: dict[str, str]) -> asyncio.subprocess.Process:
    """A process that works on the thread."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(SUPPORT / "agent_child.py"),
        how,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )


async def said(how: str, environment: dict[str, str]) -> str:
    """What a process says that works on the thread to its end."""
    process = await started(how, environment)
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode().splitlines()[-1]


@pytest.mark.parametrize("fault", ["late:3", "commit_then_drop"])
async def test_killed_while_it_pays_and_resumed_it_pays_once(
    fault: str, tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects: the thread and its attempt agree after SIGKILL, whatever had happened by then."""
    async with (
        running(tmp_path) as url,
        httpx.AsyncClient(base_url=url, trust_env=False) as client,
    ):
        bank = Account(url, uuid.uuid4().hex, client)
        child = environment | {"PAYING_SERVICE": url, "PAYING_ACCOUNT": bank.namespace}
        assert await said("ask", child) == "1 "
        await bank.faults(next=[fault])
        process = await started("yes", child)
        end = time.monotonic() + PATIENCE_S
        while (await bank.calls())["calls"] == 0:
            assert time.monotonic() < end, "it never came to pay"
            await asyncio.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        assert await said("on", child) == "0 It is paid."
        assert await bank.paid() == 1
        async with loops.opened(settings) as (_, parts):
            (found,) = await parts.records.attempts()
            await loops.payloads(parts, found.attempt_id)
            assert found.status == "CANDIDATE_VERIFIED"
