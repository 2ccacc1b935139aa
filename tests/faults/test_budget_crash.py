"""SIGKILL between a reservation and its settlement: the books balance, and nothing was for free.

The meters are the model's own log of its calls and the shop's own book of its sends.
"""

import asyncio
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import endings
import loops
import pytest

from checkrein.compose import Parts
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import OPEN_AT_ONCE, Budget
from checkrein.contracts.event import BudgetReserved, BudgetSettled
from checkrein.contracts.task import TaskContract
from checkrein.graph.evidence import package
from checkrein.graph.reconciliation import reconcile_by_person
from checkrein.graph.report import Report
from checkrein.harness import Harness
from checkrein.settings import Settings

SUPPORT = Path(__file__).parents[1] / "support"
REFUND = loops.call("orders.refund", order="o-1", cents=5, lines=[1])
TURNS = [
    loops.says("I look.", loops.call("workspace.read", path="a.txt")),
    loops.says("I pay.", REFUND),
    loops.DONE,  # too early: a repair
    loops.says("I mend it.", *endings.WRITE["calls"]),
    loops.DONE,
]
FILES = ["workspace.read", "workspace.write_file"]
LIMITS: dict[str, Any] = {
    "input_tokens": 10_000_000,
    "output_tokens": 10_000_000,
    "money": {
        "limit": 100_000,
        "currency": "EUR",
        "input_per_million": 300,
        "output_per_million": 1500,
    },
    "high_risk_actions": 3,
    "approvals_outstanding": 2,
    "children": 1,
}
PLACES = [
    "before_model",  # reserved, and not called
    "during the model call",
    "after_model:2",  # answered, and not stored
    "after_raw_output:2",
    "before_read",
    "after_read",
    "after_decisions:2",  # the request is prepared
    "after_publishing",  # it is on offer
    "before_executing",  # it is approved
    "after_executing",
    "before_receipt",
    "after_receipt",
    "after_verification",  # the repair is booked
    "after_verification:2",  # the end
]


class World:
    """One contract, its killed process, and who goes on after it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.book = folder / "refunds"
        self.environment = environment | {
            "CHECKREIN_CAPABILITIES": "refunding:refund",
            "PYTHONPATH": str(SUPPORT),
            "REFUNDS_BOOK": str(self.book),
        }

    def contract(self, turns: list[loops.Turn], *more: str) -> TaskContract:
        return loops.contract(
            self.folder,
            turns,
            policy=loops.ASK_ALL,
            capabilities=[*FILES, *more],
            budgets=LIMITS,
            success=endings.WANTS_TWO,
        )

    async def killed(self, contract: TaskContract, place: str, *more: str) -> None:
        """Run until SIGKILL, by the failpoint, or from here while the model is being waited for."""
        file = self.folder / "contract.json"
        file.write_text(contract.model_dump_json(), encoding="utf-8")
        failpoint = {} if " " in place else {"CHECKREIN_FAILPOINT": place}
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            str(SUPPORT / "crash_child.py"),
            str(file),
            *more,
            env=self.environment | failpoint,
            stderr=asyncio.subprocess.PIPE,
        )
        if " " in place:
            # The model's log is written by another process; nothing else tells.
            while not loops.model_calls(self.folder):
                assert child.returncode is None
                await asyncio.sleep(0.05)
            child.kill()
        _, said = await child.communicate()
        assert child.returncode == -signal.SIGKILL, said.decode()

    def sends(self) -> int:
        return len(self.book.read_text().splitlines()) if self.book.exists() else 0


async def ended(harness: Harness, parts: Parts, attempt_id: str) -> Report:
    """Recover, say yes to all that is asked, and say that what is in doubt happened."""
    report = await harness.recover(attempt_id)
    while not report.status.is_terminal:
        for request in report.approvals:
            await harness.approve(request.approval_id, by="bob")
        for effect_id in report.unsettled:
            await reconcile_by_person(
                parts.front_door, effect_id, "committed", by="bob", evidence="the shop's book"
            )
        report = await harness.resume(attempt_id)
    return report


async def books(parts: Parts, attempt_id: str) -> dict[Budget, tuple[int, int]]:
    lines = await parts.records.books(attempt_id)
    assert all(line.balances for line in lines), lines
    return {x.budget: (x.spent, x.reserved) for x in lines if x.pool == attempt_id}


async def by_events(parts: Parts, attempt_id: str) -> tuple[Counter[Budget], Counter[Budget]]:
    """What the events add up to: spent, and still reserved."""
    spent, held = Counter[Budget](), Counter[Budget]()
    for payload in await loops.payloads(parts, attempt_id):
        if isinstance(payload, BudgetReserved):
            held.update(payload.amounts)
        elif isinstance(payload, BudgetSettled):
            held.subtract(payload.released)
            spent.update(payload.spent)
    return spent, held


@pytest.mark.shows(40, 191)
@pytest.mark.parametrize("place", PLACES)
async def test_a_kill_between_reserve_and_settle_is_never_settled_at_nothing(
    place: str,
    tmp_path: Path,
    settings: Settings,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(tmp_path, environment)
    slow = [TURNS[0] | {"delay_s": 60}, *TURNS[1:]]
    await world.killed(world.contract(slow if " " in place else TURNS, "orders.refund"), place)
    if " " in place:
        world.contract(TURNS, "orders.refund")  # whoever goes on is answered at once
    monkeypatch.setenv("REFUNDS_BOOK", str(world.book))
    named = Settings(
        home=settings.home,
        database_url=settings.database_url,
        capabilities="refunding:refund",
    )
    async with loops.opened(named) as (harness, parts):
        attempt_id = (await parts.records.attempts())[0].attempt_id
        position = await parts.records.position(attempt_id)
        spent, held = await by_events(parts, attempt_id)
        found = {name: n for name, n in position.held.items() if name not in OPEN_AT_ONCE}
        assert found == {name: n for name, n in held.items() if n}

        report = await ended(harness, parts, attempt_id)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        spent, held = await by_events(parts, attempt_id)
        assert not any(held.values())
        stands = await books(parts, attempt_id)
        assert not any(reserved for _, reserved in stands.values())
        assert {n: s for n, (s, _) in stands.items() if s and n is not Budget.WALL_TIME_S} == {
            n: s for n, s in spent.items() if s
        }
        await package(parts.records, parts.events, parts.artifacts, attempt_id)

        calls = len(loops.model_calls(tmp_path))
        assert spent[Budget.STEPS] == 5
        assert spent[Budget.INPUT_TOKENS] >= 10 * calls
        assert spent[Budget.OUTPUT_TOKENS] >= 5 * calls
        assert spent[Budget.MODEL_TOKENS] >= 15 * calls
        assert spent[Budget.MONEY] >= calls
        assert world.sends() <= spent[Budget.HIGH_RISK_ACTIONS] == 1
        assert spent[Budget.TOOL_CALLS] >= 2 + world.sends()
        assert spent[Budget.REPAIRS] == 1


@pytest.mark.shows(202)
@pytest.mark.parametrize(
    ("place", "outstanding"), [("before_model", 1), ("after_verification:2", 0)]
)
async def test_a_killed_child_counts_until_it_has_ended(
    place: str,
    outstanding: int,
    tmp_path: Path,
    settings: Settings,
    environment: dict[str, str],
) -> None:
    """Protects: a child that died right after its start, or right after its end, counts rightly."""
    (tmp_path / "parent").mkdir()
    waits = loops.says("", loops.call("ask_user", question="Which?"))
    above = loops.contract(tmp_path / "parent", [waits], budgets=LIMITS)
    world = World(tmp_path, environment)
    turns = [TURNS[2], TURNS[3], TURNS[4]]
    async with loops.opened(settings) as (harness, parts):
        parent = (await harness.run(above)).attempt_id
        await world.killed(world.contract(turns), place, parent)
        child = (await parts.records.attempts())[0].attempt_id
        assert child != parent
        assert (await books(parts, parent))[Budget.CHILDREN] == (0, outstanding)
        before = (await books(parts, parent))[Budget.STEPS]
        report = await ended(harness, parts, child) if outstanding else await harness.status(child)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        stands = await books(parts, parent)
        assert stands[Budget.CHILDREN] == (0, 0)
        assert (stands[Budget.STEPS], before[1]) == ((4, 0), outstanding)
