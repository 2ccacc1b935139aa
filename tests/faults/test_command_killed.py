"""A command whose owner is killed: nobody knows what became of it, and it never runs twice."""

import asyncio
import signal
import sys
from pathlib import Path

import loops
import pytest
from held_writes import waited
from process_trees import alive, until_gone

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.environment import EnvironmentSpec
from checkrein.contracts.event import Observed
from checkrein.graph.reconciliation import reconcile_by_person
from checkrein.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

CHILD = Path(__file__).parents[1] / "support" / "crash_child.py"
RUN = "workspace.run_command"
# Without a sandbox, so that a command can count its runs outside of its copy.
LOCAL = EnvironmentSpec(backends=["local"], network="host")


def task_file(folder: Path, script: str) -> Path:
    """A task whose one command counts its runs in a file outside of the workspace."""
    argv = ["sh", "-c", f"echo ran >> {folder / 'runs'}; {script}"]
    turns = [loops.says("", loops.call(RUN, argv=argv)), loops.DONE]
    task = loops.contract(folder, turns, capabilities=[RUN], environment=LOCAL)
    file = folder / "contract.json"
    file.write_text(task.model_dump_json(), encoding="utf-8")
    return file


def runs(folder: Path) -> int:
    """How often the command has run, by its own count."""
    counted = folder / "runs"
    return len(counted.read_text().splitlines()) if counted.exists() else 0


async def started(task: Path, environment: dict[str, str]) -> asyncio.subprocess.Process:
    """A process that works on the task."""
    return await asyncio.create_subprocess_exec(
        sys.executable, str(CHILD), str(task), env=environment, stderr=asyncio.subprocess.PIPE
    )


async def never_runs_again(folder: Path, settings: Settings, ran: int) -> None:
    """Recover twice and settle by hand: the count at the machine itself stays what it was."""
    async with loops.opened(settings) as (harness, parts):
        attempt_id = (await parts.records.attempts())[0].attempt_id
        await harness.recover(attempt_id)
        report = await harness.recover(attempt_id)
        assert report.status is AttemptStatus.RECONCILE_REQUIRED
        assert report.effects == {"UNKNOWN_EFFECT": 1}
        assert runs(folder) == ran
        await reconcile_by_person(
            parts.front_door, report.unsettled[0], "not-applied", by="bob", evidence="looked"
        )
        report = await harness.resume(attempt_id)
        (effect,) = await parts.records.effects(attempt_id)
        told = [p for p in await loops.payloads(parts, attempt_id) if isinstance(p, Observed)]
    assert report.status is AttemptStatus.CANDIDATE_VERIFIED
    assert effect.status is EffectStatus.NOT_APPLIED
    assert [p.observation.status for p in told] == ["failed"]
    assert runs(folder) == ran


@pytest.mark.parametrize(("place", "ran"), [("after_executing", 0), ("before_receipt", 1)])
async def test_killed_around_the_command(
    place: str, ran: int, tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects whatever a command does outside: a doubt is never answered by a second run."""
    task = task_file(tmp_path, "true")
    child = await started(task, environment | {"CHECKREIN_FAILPOINT": place})
    _, said = await child.communicate()
    assert child.returncode == -signal.SIGKILL, said.decode()
    assert runs(tmp_path) == ran
    await never_runs_again(tmp_path, settings, ran)


async def test_killed_in_the_middle_of_it(
    tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects the machine: the command ends with its owner, in every session that it opened."""
    marker = f"73.{id(tmp_path)}"
    script = f"setsid sleep {marker} & sleep {marker}"
    child = await started(task_file(tmp_path, script), environment)
    await asyncio.to_thread(waited, lambda: len(alive(f"sleep {marker}")) >= 2)
    tree = alive(f"sleep {marker}")
    child.kill()
    await child.communicate()
    assert until_gone(tree, 15) == []
    await never_runs_again(tmp_path, settings, 1)
