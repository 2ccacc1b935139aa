"""How the faults of the cells under the table are brought about."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

from psycopg import sql

from checkrein.compose import embedded_server
from checkrein.crash_targets import limited, queued
from checkrein.evals.crash_arena import Arena
from checkrein.evals.crash_children import Child
from checkrein.evals.crash_fault_matrix import FaultCell
from checkrein.evals.crash_ground import Ground, ground
from checkrein.evals.crash_process import Facts
from checkrein.testing.payment_server.process import running

GONE_S = 10.0
JUMP_S = 3600
SHORT_S = 1.0
"""Seconds that the lease of a worker lives which is to be frozen past it."""

_CUT = sql.SQL(
    "SELECT pg_terminate_backend(lease_backend, 5000) FROM checkrein.attempts "
    "WHERE lease_owner IS NOT NULL"
)
_JUMP = sql.SQL(
    "CREATE OR REPLACE FUNCTION checkrein.now() RETURNS timestamptz LANGUAGE sql VOLATILE "
    "AS $$ SELECT clock_timestamp() + interval '1 hour' $$"
)


@asynccontextmanager
async def faulted(arena: Arena, cell: FaultCell) -> AsyncGenerator[tuple[Ground, Facts]]:
    """Bring one fault about; gives what is found in the end, while the cell's things are there."""
    if cell.fault.name == "target_gone":
        async with _target_gone(arena, cell) as found:
            yield found
        return
    async with ground(arena, cell) as own:
        await _BROUGHT_ABOUT[cell.fault.name](own)
        # Whatever the processes said: a last one reads how it stands.
        yield own, await own.told(own.begin("recover"))


async def _frozen(own: Ground, lease_ttl_s: float = 15.0) -> Child | None:
    """The first process, frozen at the fault's boundary."""
    place = own.cell.boundary.failpoint(own.cell.kind)
    child = own.begin("run", failpoint=f"{place}:1:freeze", lease_ttl_s=lease_ttl_s)
    return child if await own.stopped(child) else None


async def _restart(own: Ground, gone_s: float = 0.0) -> None:
    child = await _frozen(own)
    if child is None:
        return
    home = own.arena.home
    pid = (home / "postgres" / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0]
    os.kill(int(pid), signal.SIGQUIT)  # as in a crash: no session is ended in good order
    child.signal(signal.SIGCONT)
    await asyncio.sleep(gone_s)
    await _gone(int(pid))
    await embedded_server.started(home)
    await own.told(child)


async def _gone(pid: int) -> None:
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.05)


async def _cut(own: Ground) -> None:
    child = await _frozen(own)
    if child is not None:
        await own.arena.execute(_CUT, own.folder.name)
        child.signal(signal.SIGCONT)
        await own.told(child)


async def _full(own: Ground) -> None:
    await own.told(own.begin("run", full=True))


async def _store_full(own: Ground) -> None:
    """A file stands where the store's folder would be, so that the system refuses each write."""
    home = own.folder / "home"
    await asyncio.to_thread(home.mkdir)
    await asyncio.to_thread((home / "artifacts").touch)
    await own.told(own.begin("run"))


async def _lost(own: Ground) -> None:
    """The payment is made, and each repeat is turned away: that says nothing of the first send."""
    await queued(own.place, ["commit_then_drop", *["503_before"] * 10])
    await own.told(own.begin("run"))


async def _refused(own: Ground) -> None:
    await own.killed(own.begin("run", failpoint="after_target"))
    await limited(own.place)
    await own.told(own.begin("recover"))


async def _jumped(own: Ground) -> None:
    place = own.cell.boundary.failpoint(own.cell.kind)
    await own.killed(own.begin("run", failpoint=place))
    await own.arena.execute(_JUMP, own.folder.name)
    await own.told(own.begin("recover", clock_s=JUMP_S))


async def _overtaken(own: Ground) -> None:
    """A worker frozen past its lease; another finishes; it wakes, and must change nothing."""
    child = await _frozen(own, SHORT_S)
    if child is None:
        return
    await own.told(own.begin("recover", wait_s=30.0, lease_ttl_s=SHORT_S))
    before = await own.effects()
    child.signal(signal.SIGCONT)
    await own.told(child)
    if await own.effects() != before:
        own.died.append("the worker that woke up made an effect")


async def _together(own: Ground) -> None:
    place = own.cell.boundary.failpoint(own.cell.kind)
    await own.killed(own.begin("run", failpoint=place))
    both = [own.begin("recover") for _ in range(2)]
    for child in both:
        await own.told(child)


@asynccontextmanager
async def _target_gone(arena: Arena, cell: FaultCell) -> AsyncGenerator[tuple[Ground, Facts]]:
    folder = arena.folder / f"target_{cell.kind.name}"
    folder.mkdir()
    async with AsyncExitStack() as stack:
        service = AsyncExitStack()
        url = await service.enter_async_context(running(folder))
        own = await stack.enter_async_context(ground(arena, cell, url))
        await own.killed(own.begin("run", failpoint="after_target"))
        await service.aclose()
        stops = frozenset({"WAITING_FOR_EFFECT", "RECONCILE_REQUIRED"})
        await own.told(own.begin("recover", stops=stops))
        port = urlsplit(url).port or 0
        await stack.enter_async_context(running(folder, port))
        yield own, await own.told(own.begin("recover"))


_BROUGHT_ABOUT: dict[str, Callable[[Ground], Awaitable[None]]] = {
    "database_restarted": _restart,
    "database_gone_10s": lambda own: _restart(own, GONE_S),
    "connection_cut": _cut,
    "disk_full": _full,
    "artifact_store_full": _store_full,
    "target_refuses_later": _refused,
    "answer_lost_then_busy": _lost,
    "clock_jumped": _jumped,
    "clock_jumped_granted": _jumped,
    "frozen_worker": _overtaken,
    "frozen_after_answer": _overtaken,
    "two_workers": _together,
}
