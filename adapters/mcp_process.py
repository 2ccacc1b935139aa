"""A server as a program: nothing of ours in its environment, and ended with its tree."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import ValidationError

MAX_LINE = 4 << 20
"""Most bytes of one message of a server; a longer one ends it."""

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
_LEAVE_S = 2.0
_TIED = Path(__file__).with_name("mcp_tied.py")


@asynccontextmanager
async def program_streams(
    command: str,
    args: Sequence[str],
    env: Mapping[str, str],
    folder: str | None,
    ended: Callable[[], None],
) -> AsyncGenerator[tuple[Any, Any]]:
    """Start a server; yields the streams that mcp.ClientSession reads and writes.

    What it writes to stderr is dropped: it is text from outside, and the terminal is a person's.
    `ended` is called when it says no more.

    Raises:
        OSError: it cannot be started.
    """
    own = {name: os.environ[name] for name in _KEPT if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(_TIED), str(os.getpid()), command, *args),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=own | dict(env),
        cwd=folder,
        start_new_session=True,
        limit=MAX_LINE,
    )
    into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outof = anyio.create_memory_object_stream[SessionMessage](0)
    reading = asyncio.create_task(_reading(process, into))
    reading.add_done_callback(lambda _: ended())
    tasks = [reading, asyncio.create_task(_writing(process, outof))]
    try:
        yield read, write
    finally:
        await _end(process)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (into, read, write, outof):
            stream.close()


async def _reading(process: asyncio.subprocess.Process, into: Any) -> None:
    """Hand on each line that is a message; the end, or a line without one, closes the stream."""
    assert process.stdout is not None
    with into:
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # longer than MAX_LINE
                return
            if not line:
                return
            try:
                message = JSONRPCMessage.model_validate_json(line)
            except ValidationError:
                continue
            await into.send(SessionMessage(message))


async def _writing(process: asyncio.subprocess.Process, outof: Any) -> None:
    assert process.stdin is not None
    async for item in outof:
        text = item.message.model_dump_json(by_alias=True, exclude_none=True)
        with contextlib.suppress(ConnectionError):
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close its input and let it leave; then end it and all that it started."""
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _LEAVE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
