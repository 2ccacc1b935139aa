"""Running one cell: a process is killed, others go on, and then all is judged."""

import asyncio

from checkrein.evals.crash_arena import Arena
from checkrein.evals.crash_fault_matrix import FaultCell
from checkrein.evals.crash_faults import faulted
from checkrein.evals.crash_ground import ANY, Ground, ground
from checkrein.evals.crash_judge import Verdict, judged
from checkrein.evals.crash_matrix import Cell
from checkrein.evals.crash_process import Facts, Verb


async def verdict(arena: Arena, cell: ANY) -> Verdict:
    """Run one cell and judge it."""
    clock = asyncio.get_running_loop().time
    began = clock()
    if isinstance(cell, FaultCell):
        async with faulted(arena, cell) as (own, facts):
            return await judged(own, facts, clock() - began)
    async with ground(arena, cell) as own:
        facts = await _crashed(own, cell)
        return await judged(own, facts, clock() - began)


async def _crashed(own: Ground, cell: Cell) -> Facts:
    """Kill one process or two, and let a new one go on to the end."""
    boundary = cell.boundary
    first = boundary.failpoint(cell.kind)
    await own.killed(own.begin("run", failpoint=first, busy=boundary.busy))
    if boundary.second:
        verb: Verb = "cancel" if boundary.cancels else "recover"
        await own.killed(own.begin(verb, failpoint=boundary.second))
    return await own.told(own.begin("recover"))
