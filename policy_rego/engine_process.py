"""The engine's worker process, seen from here: one request at a time, each with a deadline.

Whoever breaks off an exchange kills the process: a late answer could otherwise be taken for the
answer to the next question.
"""

import asyncio
import itertools
import json
import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checkrein.contracts.codec import json_object
from checkrein.contracts.decision import Reserved
from checkrein.errors import EnvironmentFault, InputError

WORKER = Path(__file__).with_name("worker.py")

MAX_FRAME_BYTES = 64 * 1024 * 1024
"""Largest request or answer: the syntax tree of the largest module fits."""

GRACE_S = 1.0
"""How long after the deadline the worker ends itself, should nobody be left to kill it."""

CLOSE_S = 2.0
"""How long the worker may take to end once its stdin is closed."""

NO_ENGINE = 69
"""Exit code of a worker that cannot import its engine."""

# What a dynamic loader needs; nothing else of our environment is the engine's business.
_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
_OP = "policy.engine"


class EngineProcess:
    """One running worker. Belongs to the event loop that started it, and to one task at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._usable = True

    @classmethod
    async def start(cls) -> "EngineProcess":
        """Start a worker.

        Raises:
            EnvironmentFault: the process cannot be started.
        """
        kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                str(WORKER),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                # A backtrace makes each of the engine's errors some kilobytes long.
                env={**kept, "RUST_BACKTRACE": "0"},
                # Ctrl-C is for us to handle; the worker ends when we close its stdin.
                start_new_session=True,
            )
        except OSError as error:
            raise EnvironmentFault(
                f"The policy engine's process cannot be started: {error}. "
                f"Check that {sys.executable} runs.",
                op=_OP,
                code=Reserved.POLICY_UNAVAILABLE,
            ) from error
        return cls(process)

    @property
    def usable(self) -> bool:
        """Whether another request may be sent."""
        return self._usable and self._process.returncode is None

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    async def ask(self, request: Mapping[str, object], *, limit_s: float) -> dict[str, Any]:
        """Send one request and return its answer, which may be a fault of the policy.

        Raises:
            EnvironmentFault: policy_timeout after `limit_s` seconds, or policy_unavailable where
                the worker died or answers nonsense. The process is gone then.
        """
        number = next(self._numbers)
        # Not canonical: nobody hashes a frame, and escaping megabytes in Python takes a second.
        frame = json.dumps({**request, "id": number, "limit_s": limit_s + GRACE_S}).encode("ascii")
        try:
            async with asyncio.timeout(limit_s):
                reply = await self._exchange(frame)
        except TimeoutError as error:
            self.kill()
            raise EnvironmentFault(
                f"The policy engine did not answer within {limit_s:.3g} s.",
                op=_OP,
                code=Reserved.POLICY_TIMEOUT,
            ) from error
        except (EOFError, ConnectionError) as error:
            raise await self._died() from error
        except BaseException:
            self.kill()
            raise
        if reply.get("id") != number or reply.get("fault") in {"panic", "request"}:
            self.kill()
            raise _unavailable(f"it failed: {reply.get('message', 'an answer out of turn')}")
        return reply

    def kill(self) -> None:
        """End the process now. May be called twice; `close` still has to be awaited."""
        self._usable = False
        if self._process.returncode is None:
            try:
                self._process.kill()
            except ProcessLookupError:
                return  # it ended by itself in between, which is all that was asked

    async def close(self) -> None:
        """End the process and wait until it is gone, also where the caller is cancelled meanwhile.

        May be called twice.
        """
        self._usable = False
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._process.wait()
        except TimeoutError:
            pass  # ended by force below
        finally:
            # A cancelled caller comes here too: its loop may end at once, and a pipe that is open
            # then is never closed. Reading to the end lets its transport close with the process.
            self.kill()
            await self._process.stdout.read()
            await self._process.wait()

    async def _exchange(self, frame: bytes) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        if len(frame) > MAX_FRAME_BYTES:
            raise _unavailable(f"the request is larger than {MAX_FRAME_BYTES} bytes")
        self._process.stdin.write(struct.pack(">I", len(frame)) + frame)
        await self._process.stdin.drain()
        (size,) = struct.unpack(">I", await self._process.stdout.readexactly(4))
        if size > MAX_FRAME_BYTES:
            raise _unavailable(f"its answer is larger than {MAX_FRAME_BYTES} bytes")
        try:
            return json_object(await self._process.stdout.readexactly(size), op=_OP)
        except InputError as error:
            raise _unavailable("its answer is no JSON") from error

    async def _died(self) -> EnvironmentFault:
        # Waited for before it is killed: a signal sent now would hide how it ended.
        self._usable = False
        try:
            async with asyncio.timeout(CLOSE_S):
                code = await self._process.wait()
        except TimeoutError:
            self.kill()
            return _unavailable("its process closed its output")
        if code == NO_ENGINE:
            return EnvironmentFault(
                "The policy engine is not installed. Install it: pip install gordon-to-regorus.",
                op=_OP,
                code=Reserved.POLICY_UNAVAILABLE,
            )
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return _unavailable(f"its process ended by {how}")


def _unavailable(why: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"The policy engine is out of order: {why}.", op=_OP, code=Reserved.POLICY_UNAVAILABLE
    )
