"""The one door through which commands run: on this machine, in a clean environment, bounded."""

import asyncio
import math
import os
import signal
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, field
from pathlib import Path

from checkrein.adapters.command_offline import find_offline
from checkrein.adapters.command_output import HeadAndTail
from checkrein.contracts.codec import visible
from checkrein.errors import EnvironmentFault, InputError
from checkrein.ports.command_runner import CommandResult

OUTPUT_BYTES = 1 << 20
"""Most bytes of each stream that are kept: the first half and the last half of it."""

FILE_BYTES = 1 << 30
"""Largest file that a command may write."""

SEARCH_PATH = (
    f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)
"""Where programs are looked for: beside this Python first, so that `python` is this one."""

_OP = "command.run"
_SUPERVISOR = Path(__file__).with_name("command_supervisor.py")
_CHUNK = 1 << 16
# The supervisor needs at most 8 s to end a tree; after that it is ended itself.
_ENDING_S = 12.0


@dataclass(frozen=True)
class _Order:
    """What is to be run, where, and for how many seconds at most."""

    argv: list[str]
    cwd: Path
    timeout_s: float
    wrapper: tuple[str, ...]
    scratch: Path


@dataclass
class _Run:
    """A command that is running. `told`: what its supervisor reported, by its word."""

    process: Process
    report: int
    stdout: HeadAndTail
    stderr: HeadAndTail
    timed_out: bool = False
    told: dict[str, int] = field(default_factory=dict[str, int])


class LocalCommandRunner:
    """Implements checkrein.ports.command_runner.CommandRunner by processes of this machine.

    It keeps order and is no sandbox: a command sees the machine's files as the user it runs as.
    `offline` takes its network away; sockets that are files stay within reach.
    """

    def __init__(
        self,
        *,
        scratch: Path | None = None,
        output_bytes: int = OUTPUT_BYTES,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        """`scratch`: an existing folder in which each command gets its own HOME and TMPDIR."""
        self._scratch = scratch
        self._output_bytes = output_bytes
        self._file_bytes = file_bytes
        self._probing = asyncio.Lock()
        self._offline: tuple[str, ...] | None = None

    async def run(
        self, argv: list[str], *, cwd: Path, timeout_s: float, offline: bool = False
    ) -> CommandResult:
        """Run to the end or to the time limit; no process of it is left afterwards.

        Raises:
            EnvironmentFault: program_missing, offline_unavailable, or what else is not there; the
                message names it.
            InputError: the argument list is empty or holds a NUL.
        """
        if not argv or any("\0" in part for part in argv):
            raise InputError(
                "A command needs at least a program, and no argument may hold a NUL.",
                op=_OP,
                code="bad_argv",
            )
        wrapper = await self.offline_wrapper() if offline else ()
        # Made here and not in a thread: three small folders, which no cancelling can then lose.
        scratch = self._make_scratch()
        try:
            order = _Order(argv, cwd, timeout_s, wrapper, Path(scratch.name))
            return await self._run(order)
        finally:
            await asyncio.to_thread(scratch.cleanup)

    async def offline_wrapper(self) -> tuple[str, ...]:
        """What takes the network away from a command here; found out once.

        Raises:
            EnvironmentFault: offline_unavailable, naming what is missing.
        """
        async with self._probing:
            if self._offline is None:
                self._offline = await find_offline(SEARCH_PATH)
            return self._offline

    def _make_scratch(self) -> "tempfile.TemporaryDirectory[str]":
        try:
            scratch = tempfile.TemporaryDirectory(
                prefix="checkrein-run-", dir=self._scratch, ignore_cleanup_errors=True
            )
            for name in ("home", "tmp"):
                Path(scratch.name, name).mkdir()
        except OSError as error:
            raise _fault(
                "no_scratch",
                f"No scratch folder can be made in {self._scratch or tempfile.gettempdir()}: "
                f"{error.strerror}. Make room there, or make it writable.",
            ) from error
        return scratch

    async def _run(self, order: _Order) -> CommandResult:
        started = time.monotonic()
        starting = asyncio.ensure_future(self._start(order))
        try:
            run = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # What is being started is ended properly; simply dropped, it might go on alone.
            await _ended(await starting, None)
            raise
        await _follow(run, order.timeout_s)
        return CommandResult(
            argv=order.argv,
            exit_code=None if run.timed_out else _exit_code(order, run),
            stdout=run.stdout.kept(),
            stderr=run.stderr.kept(),
            timed_out=run.timed_out,
            duration_s=time.monotonic() - started,
        )

    async def _start(self, order: _Order) -> _Run:
        report, reporting = os.pipe()
        # Generous: every core busy all the time is no fault of a test.
        cpu_s = math.ceil(order.timeout_s * (os.cpu_count() or 1)) + 60
        limits = (str(cpu_s), str(self._file_bytes), "1" if order.wrapper else "0")
        try:
            process = await asyncio.create_subprocess_exec(
                *order.wrapper,
                *(sys.executable, "-I", "-S", str(_SUPERVISOR), str(reporting)),
                *limits,
                *order.argv,
                cwd=order.cwd,
                env=clean_environment(order.scratch),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                pass_fds=[reporting],
                start_new_session=True,
            )
        except OSError as error:
            os.close(report)
            raise _fault(
                "command_not_started",
                f"No process can be started in {order.cwd}: {error.strerror}. "
                "See that the folder is there and that memory and processes are left.",
            ) from error
        finally:
            os.close(reporting)
        os.set_blocking(report, False)
        keep = self._output_bytes
        return _Run(process, report, HeadAndTail(keep), HeadAndTail(keep))


def clean_environment(scratch: Path) -> dict[str, str]:
    """The whole environment of a command; nothing of ours is handed on."""
    return {
        "PATH": SEARCH_PATH,
        "HOME": str(scratch / "home"),
        "TMPDIR": str(scratch / "tmp"),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


async def _follow(run: _Run, timeout_s: float) -> None:
    """Read both streams until all is over, or until the time limit has ended it."""
    reading = asyncio.ensure_future(_drain(run))
    try:
        async with asyncio.timeout(timeout_s):
            await run.process.wait()
    except TimeoutError:
        run.timed_out = True
    finally:
        await _ended(run, reading)


async def _drain(run: _Run) -> None:
    async def read(stream: asyncio.StreamReader | None, into: HeadAndTail) -> None:
        while stream and (chunk := await stream.read(_CHUNK)):
            into.add(chunk)

    await asyncio.gather(read(run.process.stdout, run.stdout), read(run.process.stderr, run.stderr))


async def _ended(run: _Run, reading: "asyncio.Future[None] | None") -> None:
    """Have the supervisor end the tree; if it cannot, end it and the command's group."""
    if run.process.stdin:
        run.process.stdin.close()
    reading = reading or asyncio.ensure_future(_drain(run))
    try:
        async with asyncio.timeout(_ENDING_S):
            await run.process.wait()
            await reading
    except TimeoutError:
        _kill_group(run.process.pid)
        await run.process.wait()
    finally:
        reading.cancel()
        run.told = _told(run.report)
        os.close(run.report)
        if not run.told.keys() & {"exit", "signal", "failed", "stopped"}:
            # The supervisor was ended itself, and could not do its work.
            _kill_group(run.told.get("started"))


def _kill_group(pid: int | None) -> None:
    try:
        if pid is not None:
            os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # gone already, or the pid is another user's by now


def _told(report: int) -> dict[str, int]:
    """What the supervisor, which has ended, reported."""
    told = bytearray()
    try:
        while chunk := os.read(report, 4096):
            told += chunk
    except BlockingIOError:
        pass  # somebody still holds the other end, but nothing more is written to it
    lines = [line.split() for line in told.decode().splitlines()]
    return {word: int(number) for word, number in lines}


def _exit_code(order: _Order, run: _Run) -> int:
    """The command's exit status, or the fault that kept it from having one."""
    told, program = run.told, visible(order.argv[0])
    if "left" in told:
        raise _fault(
            "process_not_ended",
            f"{told['left']} processes of {program!r} could not be ended. "
            "Look for processes that hang in the kernel or run as another user.",
        )
    if "exit" in told:
        return told["exit"]
    if "signal" in told:
        return -told["signal"]
    if "failed" in told:
        raise _fault(
            "program_missing",
            f"The program {program!r} cannot be run: {os.strerror(told['failed'])}. Install it "
            f"where it is looked for ({SEARCH_PATH}), or name its full path.",
        )
    tail = run.stderr.kept()[-400:].decode("utf-8", "replace").strip()
    raise _fault(
        "supervisor_lost",
        f"The process that watched over {program!r} ended before it did "
        f"(status {run.process.returncode}). {visible(tail)}",
    )


def _fault(code: str, message: str) -> EnvironmentFault:
    return EnvironmentFault(message, op=_OP, code=code)
