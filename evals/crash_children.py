"""The zygote as the crash table uses it: orders out, and each child as something to wait for."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from checkrein.errors import EnvironmentFault
from checkrein.evals.crash_process import Order

PATIENCE_S = 60.0
"""Seconds that one process of a cell may take."""

LINE_BYTES = 1 << 20


class Child:
    """One process of a cell."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.pid = 0
        self.stopped = asyncio.Event()
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def hear(self, said: dict[str, Any]) -> None:
        """Take what the zygote says of it."""
        self.pid = said.get("pid", self.pid)
        if said.get("stopped"):
            self.stopped.set()
        if "ended" in said and not self._ended.done():
            self._ended.set_result(int(said["ended"]))

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.pid and not self._ended.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def ended(self, within_s: float = PATIENCE_S) -> int | None:
        """How it ended: a code, or minus a signal; None: it did not, and was killed."""
        done, _ = await asyncio.wait([self._ended], timeout=within_s)
        if done:
            return self._ended.result()
        self.signal(signal.SIGKILL)
        await self._ended
        return None


class Children:
    """Makes children. `environment` is the zygote's, and theirs."""

    def __init__(self, process: Process) -> None:
        """Use `zygote`."""
        self._process = process
        self._children: dict[int, Child] = {}

    def begin(self, order: Order) -> Child:
        """Let a process begin an order."""
        number = len(self._children) + 1
        child = Child(order.model_copy(update={"id": number}))
        self._children[number] = child
        assert self._process.stdin is not None
        self._process.stdin.write(child.order.model_dump_json().encode() + b"\n")
        return child

    async def listen(self) -> None:
        """Hand on what the zygote says, until it has ended."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            if "id" in said:
                self._children[said["id"]].hear(said)


@asynccontextmanager
async def zygote(environment: Mapping[str, str]) -> AsyncGenerator[Children]:
    """Start the zygote; it and its children end with the block.

    Raises:
        EnvironmentFault: it did not start.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "checkrein.evals.crash_zygote"),
        stdin=PIPE,
        stdout=PIPE,
        limit=LINE_BYTES,
        env=dict(environment),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    if not await process.stdout.readline():
        raise EnvironmentFault(
            "The process that begins the cells' processes did not start. Run `python -m "
            "checkrein.evals.crash_zygote` by hand: it says why.",
            op="crash_children.zygote",
        )
    children = Children(process)
    listening = asyncio.create_task(children.listen())
    try:
        yield children
    finally:
        process.stdin.close()
        await process.wait()
        await listening
