"""The one door through which commands run: on this machine, in a clean environment, bounded."""

import asyncio
import math
import os
import signal
import sys
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from pydantic import SecretStr

from checkrein.adapters.command_offline import find_offline
from checkrein.adapters.command_output import HeadAndTail
from checkrein.adapters.command_pipes import PipeReader, Report
from checkrein.adapters.masking import MaskedStream, Masking
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
    secrets: Mapping[str, SecretStr] = field(repr=False)


@dataclass
class _Run:
    """A command that is running under its supervisor.

    `hold`: the write end of the supervisor's standard input; closing it ends the tree.
    """

    process: Process
    hold: int
    report: Report
    stdout: HeadAndTail
    stderr: HeadAndTail
    streams: list[PipeReader]
    masked: tuple[MaskedStream, ...]
    timed_out: bool = False


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
        self,
        argv: list[str],
        *,
        cwd: Path,
        timeout_s: float,
        offline: bool = False,
        stdin: bytes = b"",
        secrets: Mapping[str, SecretStr] = MappingProxyType({}),
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
        scratch = await self._scratch_made(stdin)
        try:
            order = _Order(argv, cwd, timeout_s, wrapper, Path(scratch.name), secrets)
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

    async def _scratch_made(self, stdin: bytes) -> "tempfile.TemporaryDirectory[str]":
        """Made in a thread, and removed again where the caller is cancelled meanwhile."""
        making = asyncio.ensure_future(asyncio.to_thread(self._make_scratch, stdin))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            await asyncio.to_thread((await making).cleanup)
            raise

    def _make_scratch(self, stdin: bytes) -> "tempfile.TemporaryDirectory[str]":
        try:
            scratch = tempfile.TemporaryDirectory(
                prefix="checkrein-run-", dir=self._scratch, ignore_cleanup_errors=True
            )
            for name in ("home", "tmp"):
                Path(scratch.name, name).mkdir()
            Path(scratch.name, "stdin").write_bytes(stdin)
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
            await _ended(await starting)
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
        out, err = HeadAndTail(self._output_bytes), HeadAndTail(self._output_bytes)
        masking = Masking(order.secrets)
        # Before anything is cut: half of a value could not be found again.
        masked = (MaskedStream(masking, out.add), MaskedStream(masking, err.add))
        report, streams = Report(), [PipeReader(stream.add) for stream in masked]
        held, hold = os.pipe()
        try:
            process = await self._spawn(order, held, streams, report.pipe.write_end)
        except OSError as error:
            os.close(hold)
            for pipe in (report.pipe, *streams):
                pipe.close()
            raise _fault(
                "command_not_started",
                f"No process can be started in {order.cwd}: {error.strerror}. "
                "See that the folder is there and that memory and processes are left.",
            ) from error
        finally:
            os.close(held)
            for pipe in (report.pipe, *streams):
                pipe.handed_on()
        return _Run(process, hold, report, out, err, streams, masked)

    async def _spawn(
        self, order: _Order, held: int, streams: list[PipeReader], report: int
    ) -> Process:
        # Generous: every core busy all the time is no fault of a test.
        cpu_s = math.ceil(order.timeout_s * (os.cpu_count() or 1)) + 60
        return await asyncio.create_subprocess_exec(
            *order.wrapper,
            *(sys.executable, "-I", "-S", str(_SUPERVISOR), str(report)),
            *(str(cpu_s), str(self._file_bytes), "1" if order.wrapper else "0"),
            *(str(order.scratch / "stdin"), *order.argv),
            cwd=order.cwd,
            env=_environment(order),
            stdin=held,
            stdout=streams[0].write_end,
            stderr=streams[1].write_end,
            pass_fds=[report],
            start_new_session=True,
        )


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


def _environment(order: _Order) -> dict[str, str]:
    """The clean environment with what is lent; it is never an argument, which everybody can see.

    Raises:
        InputError: bad_secret_name, a variable that every command has already.
    """
    environment = clean_environment(order.scratch)
    for name, secret in order.secrets.items():
        variable = name.upper()
        if variable in environment:
            raise InputError(
                f"The secret {name} cannot be lent as {variable}, which each command has already.",
                op=_OP,
                code="bad_secret_name",
            )
        environment[variable] = secret.get_secret_value()
    return environment


async def _follow(run: _Run, timeout_s: float) -> None:
    """Wait until all is over, or until the time limit has ended it."""
    try:
        async with asyncio.timeout(timeout_s):
            await run.report.over.wait()
    except TimeoutError:
        run.timed_out = True
    finally:
        await _ended(run)


async def _ended(run: _Run) -> None:
    """Have the supervisor end the tree; if it cannot, end it and the command's group."""
    os.close(run.hold)
    try:
        if not await _within(_ENDING_S, run.report.over.wait()):
            run.report.told.setdefault("left", 1)
        if "done" not in run.report.told:
            _kill_group(run.process.pid)
            _kill_group(run.report.told.get("started"))
        streams = (stream.over.wait() for stream in run.streams)
        if not await _within(_ENDING_S, run.process.wait(), *streams):
            run.report.told.setdefault("left", 1)  # who escaped still holds the streams
    finally:
        for pipe in (run.report.pipe, *run.streams):
            pipe.close()
        for stream in run.masked:
            stream.close()


async def _within(seconds: float, *waits: Awaitable[object]) -> bool:
    """Whether all of them were over in time."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*waits)
    except TimeoutError:
        return False
    return True


def _kill_group(pid: int | None) -> None:
    try:
        if pid is not None:
            os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # gone already, or the pid is another user's by now


def _exit_code(order: _Order, run: _Run) -> int:
    """The command's exit status, or the fault that kept it from having one."""
    told, program = run.report.told, visible(order.argv[0])
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
