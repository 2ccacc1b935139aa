"""Between two actions of one turn: a process that is to end lets go, a pause waits there."""

import asyncio
from pathlib import Path

import loops
import pytest

from checkrein.adapters.function_capability import capability
from checkrein.contracts.attempt import AttemptStatus
from checkrein.graph.lifecycle import FrontDoor
from checkrein.graph.report import Report
from checkrein.ports.capability import Capability
from checkrein.settings import Settings

TURNS = [
    loops.says("I look twice.", loops.call("slow.look", n=1), loops.call("slow.look", n=2)),
    loops.DONE,
]


class Looks:
    """A capability whose reads take their time, and are counted."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.first = asyncio.Event()

    def capability(self) -> Capability:
        """As the harness is given it."""

        @capability("slow.look", side_effect="READ", resource=lambda args: f"look:{args['n']}")
        async def look(n: int) -> int:
            """Look once."""
            self.begun.append(n)
            self.first.set()
            await asyncio.sleep(1.5)
            return n

        return look


@pytest.mark.shows(149)
async def test_a_drain_between_two_actions(settings: Settings, tmp_path: Path) -> None:
    """Protects: what has begun is finished and stored, what has not is left to who recovers."""
    looks = Looks()
    contract = loops.contract(tmp_path, TURNS, capabilities=["slow.look"])
    async with loops.opened(settings, looks.capability()) as (_, parts):
        running = asyncio.create_task(parts.front_door.start(contract))
        await looks.first.wait()
        parts.front_door.drain()
        report = await running
        assert (report.status, report.lease_alive) == (AttemptStatus.RUNNING, False)
        assert looks.begun == [1]
        kinds = await loops.types(parts, report.attempt_id)
        assert (kinds.count("observation"), kinds[-1]) == (1, "checkpoint_saved")
    async with loops.opened(settings, looks.capability()) as (harness, parts):
        report = await harness.recover(report.attempt_id)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert looks.begun == [1, 2]
        await loops.types(parts, report.attempt_id)
    assert loops.model_calls(tmp_path) == ["turn 1", "turn 2"]


@pytest.mark.shows(138)
async def test_a_pause_between_two_actions(settings: Settings, tmp_path: Path) -> None:
    """Protects: a pause begins no further action, in the middle of a turn too."""
    looks = Looks()
    contract = loops.contract(tmp_path, TURNS, capabilities=["slow.look"])
    async with loops.opened(settings, looks.capability()) as (harness, parts):
        running = asyncio.create_task(parts.front_door.start(contract))
        await looks.first.wait()
        (found,) = await parts.records.attempts()
        await parts.front_door.pause(found.attempt_id, by="alice")
        report = await running
        assert (report.status, looks.begun) == (AttemptStatus.PAUSED, [1])
        report = await harness.resume(found.attempt_id)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert looks.begun == [1, 2]
        await loops.types(parts, report.attempt_id)


@pytest.mark.shows(149)
async def test_a_fault_that_nobody_foresaw_is_one_attempts(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the others: each is recovered, and the fault is told, with where it came from."""
    contract = loops.contract(tmp_path, [loops.DONE])
    async with loops.opened(settings) as (_, parts):
        parts.front_door.drain()
        left = [(await parts.front_door.start(contract)).attempt_id for _ in range(3)]
    async with loops.opened(settings) as (_, parts):
        recover = FrontDoor.recover

        async def odd(door: FrontDoor, attempt_id: str, **more: float) -> Report:
            if attempt_id == left[1]:
                raise KeyError("odd one")
            return await recover(door, attempt_id, **more)

        monkeypatch.setattr(FrontDoor, "recover", odd)
        reports = {r.attempt_id: r for r in await parts.front_door.recover_all()}
    ended = AttemptStatus.CANDIDATE_VERIFIED
    assert [reports[one].status for one in left] == [ended, AttemptStatus.RUNNING, ended]
    (warning,) = reports[left[1]].warnings
    assert "nobody foresaw" in warning
    assert "KeyError: 'odd one'" in warning
    assert "test_letting_go.py" in warning


async def test_a_door_that_drains_takes_nothing_on(settings: Settings, tmp_path: Path) -> None:
    """Protects the end in time: what is asked for after the signal is left for the next process."""
    contract = loops.contract(tmp_path, [loops.DONE])
    async with loops.opened(settings) as (_, parts):
        parts.front_door.drain()
        report = await parts.front_door.start(contract)
        assert (report.status, report.lease_alive) == (AttemptStatus.RUNNING, False)
        assert "stopped at a safe point" in report.warnings[0]
        assert loops.model_calls(tmp_path) == []
    async with loops.opened(settings) as (harness, _):
        assert (await harness.recover(report.attempt_id)).verified
