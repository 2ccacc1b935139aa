"""The crash table: its quick part, what it is made of, and that it can fail.

All of it is `make crash`. A cell that is wrong here can be run alone: `checkrein crashtest --cell`.
"""

from collections import Counter

import pytest

from checkrein.evals.crash_arena import arena
from checkrein.evals.crash_fault_matrix import FAULTS, fault_cells
from checkrein.evals.crash_ground import ANY
from checkrein.evals.crash_judge import Verdict
from checkrein.evals.crash_matrix import BOUNDARIES, DURABILITIES, KINDS, cells, quick
from checkrein.evals.crash_run import Asked, plan, verdicts
from checkrein.evals.crash_table import line, table
from checkrein.testing.failpoints import PLACES

OF_COMMITS = {"in_publish"}
"""Passed by final commits alone: tests/faults/test_commit_killed.py."""

PARTS = 4
"""The quick part is cut in so many: the first is in every run, the others in the slow one."""

_PARTS = [pytest.param(part, marks=[pytest.mark.slow] if part else []) for part in range(PARTS)]


@pytest.mark.shows(85, 110, 117, 129, 141, 148)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", _PARTS)
async def test_killed_anywhere_on_any_target_it_ends_right(part: int) -> None:
    """Protects: nothing lost, nothing done twice, nothing guessed, wherever the process dies."""
    async with arena() as ground:
        found = [one async for one in verdicts(ground, quick()[part::PARTS])]
    assert [line(one) for one in found if not one.right] == []


QUICK_FAULTS = (
    "connection_cut/http_none_none/exit",
    "disk_full/http_atomic_authoritative/exit",
    "target_gone/http_none_authoritative/exit",
    "target_gone/http_atomic_none/exit",
    "answer_lost_then_busy/http_atomic_authoritative/exit",
    "clock_jumped/file/exit",
    "frozen_worker/http_atomic_authoritative/exit",
    "two_workers/sql_row/exit",
    "database_restarted/sql_same_transaction/exit",
)


@pytest.mark.shows(129, 148)
@pytest.mark.timeout(600)
async def test_whatever_else_goes_wrong_it_ends_right() -> None:
    """Protects the promise against the database, the disk, the clock and other workers."""
    chosen = [cell for cell in fault_cells() if cell.name in QUICK_FAULTS]
    assert len(chosen) == len(QUICK_FAULTS)
    async with arena() as ground:
        found = [one async for one in verdicts(ground, chosen)]
    assert [line(one) for one in found if not one.right] == []


@pytest.mark.timeout(600)
async def test_without_the_claim_the_table_shows_duplicates() -> None:
    """Protects the table's worth: where the ledger claims nothing, targets without a guarantee
    have two effects, and the cells say so."""
    found: list[Verdict] = []
    for kind in ("http_none_none", "http_none_authoritative"):
        chosen, _ = await plan(Asked(target=kind, durabilities=("exit",), claims=False))
        async with arena(claims=False) as ground:
            found += [one async for one in verdicts(ground, chosen)]
    doubled = [one for one in found if one.effects == 2]
    assert {one.cell.name for one in doubled} >= {
        f"{place}/{kind}/exit"
        for place in ("after_target", "before_receipt")
        for kind in ("http_none_none", "http_none_authoritative")
    }
    assert all(not one.right for one in doubled)
    assert all("2 effects at the target, not 1" in line(one) for one in doubled)


def test_the_table_is_whole() -> None:
    """Protects against cells that get lost: every place, every kind, every durability."""
    whole: list[ANY] = [*cells(), *fault_cells()]
    names = [cell.name for cell in whole]
    assert len(names) == len(set(names)) >= 300
    for chosen in (list(cells()), quick()):
        passed = {cell.boundary.failpoint(cell.kind) for cell in chosen}
        passed |= {cell.boundary.second for cell in chosen}
        assert {place.partition(":")[0] for place in passed if place} == set(PLACES) - OF_COMMITS
        assert {cell.boundary for cell in chosen} == set(BOUNDARIES)
        assert {cell.kind for cell in chosen} == set(KINDS)
        assert {cell.durability for cell in chosen} == set(DURABILITIES)
    assert {cell.name for cell in quick()} <= set(names)
    assert set(QUICK_FAULTS) <= set(names)
    assert {name.partition("/")[0] for name in QUICK_FAULTS} <= {fault.name for fault in FAULTS}


def test_each_boundary_has_each_kind_under_each_durability() -> None:
    """Protects the table's form: only what a kind of target has no moment for is left out."""
    held = Counter(cell.boundary.name for cell in cells())
    for boundary in BOUNDARIES:
        able = sum(boundary.of(kind) for kind in KINDS)
        assert held[boundary.name] == able * len(DURABILITIES)
        assert able >= len(KINDS) - 2


def test_a_table_says_once_what_every_durability_has_in_common() -> None:
    """Protects the reader."""
    chosen = [cell for cell in cells() if cell.name.startswith("before_receipt/http_none_none/")]
    same = [
        Verdict(cell, "CANDIDATE_VERIFIED", "RECONCILE_REQUIRED", 1, (), 0.1) for cell in chosen
    ]
    assert table(same).splitlines()[2:] == [
        "| before_receipt | RECONCILE_REQUIRED > CANDIDATE_VERIFIED, 1 |"
    ]
    other = Verdict(chosen[0], "FAILED", "", 2, ("why",), 0.1)
    assert table([other, *same[1:]]).splitlines()[2] == (
        "| before_receipt | async exit: RECONCILE_REQUIRED > CANDIDATE_VERIFIED, 1; "
        "sync: FAILED, 2 **WRONG** |"
    )
    assert line(other).endswith(": FAILED, 2 effects at the target: WRONG: why")
