"""Start the payment service as a child process, and end it with the block that uses it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from checkrein.errors import EnvironmentFault

START_S = 30.0
END_S = 10.0


@dataclass(frozen=True)
class PaymentServer:
    """A running service: where it listens, and its process id."""

    url: str
    pid: int


@asynccontextmanager
async def running(folder: Path, port: int = 0) -> AsyncGenerator[str]:
    """Run the service over the database in a folder; gives its URL.

    Raises:
        EnvironmentFault: it did not start.
    """
    async with started(folder, port) as server:
        yield server.url


@asynccontextmanager
async def started(folder: Path, port: int = 0) -> AsyncGenerator[PaymentServer]:
    """The same with the process id, for tests that kill it. It may be dead at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "checkrein.testing.payment_server"),
        *("--folder", str(folder), "--port", str(port)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONWARNINGS": "error"},
    )
    try:
        yield PaymentServer(await _url(process, folder), process.pid)
    finally:
        await _ended(process)


async def _url(process: asyncio.subprocess.Process, folder: Path) -> str:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_S)
    except TimeoutError:
        line = b""
    if not line:
        raise EnvironmentFault(
            f"The payment service over {folder} did not start within {START_S:g} s. What it wrote "
            "to standard error says why; run `python -m checkrein.testing.payment_server` by hand.",
            op="payment_server.start",
        )
    return str(json.loads(line)["url"])


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Close its standard input, which ends it; kill it where it does not end."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), END_S)
    except TimeoutError:
        process.kill()
        await process.wait()
