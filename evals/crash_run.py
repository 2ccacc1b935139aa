"""Running many cells, two at a time; those that disturb others alone, at the end."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass

from checkrein.crash_targets import Place, opened
from checkrein.errors import InputError
from checkrein.evals.crash_arena import Arena
from checkrein.evals.crash_cell import verdict
from checkrein.evals.crash_fault_matrix import FaultCell, fault_cells
from checkrein.evals.crash_ground import ANY
from checkrein.evals.crash_judge import Verdict
from checkrein.evals.crash_matrix import DURABILITIES, KINDS, Kind, cells, quick
from checkrein.settings import Durability

AT_ONCE = 2
"""Cells that run at the same time."""


async def verdicts(arena: Arena, chosen: Sequence[ANY]) -> AsyncGenerator[Verdict]:
    """Run cells; each verdict as it is known."""
    together = [cell for cell in chosen if not _alone(cell)]
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(cell: ANY) -> Verdict:
        async with limit:
            return await verdict(arena, cell)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(cell)) for cell in together]
        for done in asyncio.as_completed(tasks):
            yield await done
    for cell in chosen:
        if _alone(cell):
            yield await verdict(arena, cell)


def _alone(cell: ANY) -> bool:
    return isinstance(cell, FaultCell) and cell.fault.alone


async def brought(name: str) -> tuple[Kind, dict[str, str]]:
    """The kind of a target that somebody brought, MODULE:OBJECT, and its store's variables.

    Raises:
        InputError: it cannot be loaded, or no crash table can be made of it.
    """
    async with opened(Place(of="object", at=name)) as target:
        assert target.spec is not None
        spec, counts = target.spec, target.count is not None
        if target.count is not None:
            await target.count()  # a store that is made on first use is made here, for all
        kind = Kind(name, spec.guarantee, spec.lookup, named=name, counts=counts)
        return kind, dict(target.environment)


UNCLAIMED = ("after_executing", "after_target", "before_receipt", "in_recover_happened")
"""Boundaries at which the claim alone stands between a crash and a second effect."""


@dataclass(frozen=True)
class Asked:
    """What somebody wants to see.

    Attributes:
        target: a kind of target, or MODULE:OBJECT; None: all kinds.
        points: boundaries and faults; empty: all.
        cell: one cell by its name.
        claims: whether the ledger's claim is in force.
    """

    target: str | None = None
    quick: bool = False
    points: tuple[str, ...] = ()
    durabilities: tuple[Durability, ...] = DURABILITIES
    cell: str | None = None
    claims: bool = True


async def plan(asked: Asked) -> tuple[list[ANY], dict[str, str]]:
    """The cells, and the variables by which their processes find a target's store.

    Raises:
        InputError: no cell is like that, or the target is none.
    """
    if asked.target is None or ":" not in asked.target:
        return chosen(asked, _kinds(asked.target)), {}
    kind, environment = await brought(asked.target)
    return chosen(asked, [kind]), environment


def _kinds(name: str | None) -> Sequence[Kind]:
    found = [kind for kind in KINDS if name in {None, kind.name}]
    if not found:
        raise InputError(
            f"There is no kind of target {name!r}. There are "
            f"{', '.join(kind.name for kind in KINDS)}; or name MODULE:OBJECT.",
            op="crash_run.kinds",
            code="unknown_target",
        )
    return found


def chosen(asked: Asked, kinds: Sequence[Kind]) -> list[ANY]:
    """The cells that are asked for.

    Raises:
        InputError: no cell is like that.
    """
    whole: list[ANY] = [*cells(kinds), *fault_cells(kinds)]
    points = asked.points or (() if asked.claims else UNCLAIMED)
    if asked.cell is not None:
        found = [cell for cell in whole if cell.name == asked.cell]
    else:
        some: list[ANY] = [*quick(kinds)] if asked.quick else whole
        modes = asked.durabilities
        found = [cell for cell in some if cell.durability in modes and _at(cell, points)]
    if not found or {*points} - {*_places(whole)}:
        raise InputError(
            f"There is no such cell. Boundaries and faults are {', '.join(_places(whole))}; a cell "
            f"is called like {whole[0].name}.",
            op="crash_run.chosen",
            code="unknown_cell",
        )
    return found


def _at(cell: ANY, points: Sequence[str]) -> bool:
    return not points or place_of(cell) in points


def place_of(cell: ANY) -> str:
    """The boundary or the fault of a cell."""
    return cell.fault.name if isinstance(cell, FaultCell) else cell.boundary.name


def _places(cells: Sequence[ANY]) -> Iterator[str]:
    yield from dict.fromkeys(place_of(cell) for cell in cells)
