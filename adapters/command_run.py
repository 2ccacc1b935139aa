"""One command under its supervisor, from start to end: what every backend shares."""

import asyncio
import json
import math
import os
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path

from checkrein.adapters.command_ending import result_of
from checkrein.adapters.command_order import Order
from checkrein.adapters.command_output import Output
from checkrein.adapters.command_pipes import PipeReader, Report
from checkrein.adapters.command_storage import filled
from checkrein.errors import EnvironmentFault
from checkrein.ports.command_runner import CommandResult, Confinement, Ending

_OP = "command.run"
_SUPERVISOR = Path(__file__).with_name("command_supervisor.py")
# The supervisor needs at most 8 s to end a tree; after that it is ended itself.
_ENDING_S = 12.0


@dataclass
class _Run:
    """A command that is running under its supervisor.

    `hold`: the write end of the supervisor's standard input; closing it ends the tree.
    `breach`: the limit of ours for which it is ended.
    """

    process: Process
    hold: int
    report: Report
    outputs: tuple[Output, Output]
    streams: list[PipeReader]
    breach: Ending | None = None


async def run_order(order: Order) -> CommandResult:
    """Run to the end or to a limit; no process of it is left afterwards.

    Raises:
        EnvironmentFault: it could not be started, or nobody can say how it ended.
    """
    started = time.monotonic()
    starting = asyncio.ensure_future(_started(order))
    try:
        run = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # What is being started is ended properly; simply dropped, it might go on alone.
        await _ended(await starting)
        raise
    await _followed(run, order.confinement)
    out, err = run.outputs
    failed = out.failed or err.failed
    if failed is not None:
        raise EnvironmentFault(
            f"The command's output cannot be kept in {order.keep}: {failed.strerror}. "
            "Make room there.",
            op=_OP,
            code="output_not_kept",
        )
    return result_of(
        order, run.report.told, run.breach, (out.kept(), err.kept()), time.monotonic() - started
    )


async def _started(order: Order) -> _Run:
    outputs = await asyncio.to_thread(_outputs, order)
    report = Report()
    streams = [PipeReader(output.add) for output in outputs]
    held, hold = os.pipe()
    try:
        process = await _spawned(order, held, streams, report.pipe.write_end)
    except OSError as error:
        os.close(hold)
        for output in outputs:
            output.close()
        for pipe in (report.pipe, *streams):
            pipe.close()
        raise EnvironmentFault(
            f"No process can be started in {order.cwd}: {error.strerror}. "
            "See that the folder is there and that memory and processes are left.",
            op=_OP,
            code="command_not_started",
        ) from error
    finally:
        os.close(held)
        for pipe in (report.pipe, *streams):
            pipe.handed_on()
    return _Run(process, hold, report, outputs, streams)


def _outputs(order: Order) -> tuple[Output, Output]:
    confinement, keep = order.confinement, order.keep
    wanted = {
        "argv": order.start,
        "stdin": str(order.scratch / "stdin"),
        "cpu_s": _cpu_s(confinement),
        "file_bytes": confinement.file_bytes,
        "loopback": bool(order.wrapper),
        "sandbox": order.sandbox,
        "groups": order.groups,
    }
    (order.scratch / "order.json").write_text(json.dumps(wanted), encoding="ascii")
    out, err = (
        Output(
            most=order.output_bytes,
            whole_bytes=confinement.whole_bytes,
            file=None if keep is None else open(keep / name, "wb"),  # noqa: SIM115 - closed by it
            secrets=confinement.secrets,
        )
        for name in ("stdout", "stderr")
    )
    return out, err


def _cpu_s(confinement: Confinement) -> int:
    if confinement.cpu_s is not None:
        return confinement.cpu_s
    # Generous: every core busy all the time is no fault of a test.
    return math.ceil(confinement.timeout_s * (os.cpu_count() or 1)) + 60


async def _spawned(order: Order, held: int, streams: list[PipeReader], report: int) -> Process:
    return await asyncio.create_subprocess_exec(
        *order.wrapper,
        *(sys.executable, "-I", "-S", str(_SUPERVISOR), str(report)),
        str(order.scratch / "order.json"),
        cwd=order.cwd,
        env=order.environment,
        stdin=held,
        stdout=streams[0].write_end,
        stderr=streams[1].write_end,
        pass_fds=[report, *order.pass_fds],
        start_new_session=True,
    )


async def _followed(run: _Run, confinement: Confinement) -> None:
    """Wait until all is over, or until a limit of ours is met; then end what is left."""
    watches = [
        asyncio.create_task(_over(run)),
        asyncio.create_task(_flooded(run)),
        asyncio.create_task(filled(confinement.writable, confinement.storage_bytes)),
    ]
    try:
        done, _ = await asyncio.wait(
            watches, timeout=confinement.timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        if not done:
            run.breach = Ending.TIME_LIMIT
        for watch in done:
            run.breach = run.breach or watch.result()
    finally:
        for watch in watches:
            watch.cancel()
        await _ended(run)
    # What came last counts as well, of a command that was faster than we were.
    if run.breach is None and any(output.over for output in run.outputs):
        run.breach = Ending.OUTPUT_LIMIT


async def _over(run: _Run) -> None:
    await run.report.over.wait()


async def _flooded(run: _Run) -> Ending:
    flooded = asyncio.Event()
    for output in run.outputs:
        output.on_over = flooded.set
        if output.over:
            flooded.set()
    await flooded.wait()
    return Ending.OUTPUT_LIMIT


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
        for output in run.outputs:
            output.close()


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
