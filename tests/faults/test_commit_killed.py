"""A final commit that is killed anywhere, and done again: one publication, whole."""

import asyncio
import signal
import sys
from pathlib import Path

import loops
import pytest

from checkrein.contracts.approval import Approver
from checkrein.settings import Settings

CHILD = Path(__file__).parents[1] / "support" / "commit_child.py"
PLACES = [
    "after_raw_output",
    "before_decisions",
    "after_decisions",
    "before_executing",
    "after_executing",
    "in_publish",
    "in_publish:2",
    "in_publish:4",
    "before_receipt",
    "after_receipt",
    "in_verifier",
    "before_verification",
    "after_verification",
]
WRITE = loops.says(
    "",
    loops.call("workspace.write_file", path="a.txt", content="two\n"),
    loops.call("workspace.write_file", path="b.txt", content="two\n"),
    loops.call("workspace.write_file", path="new/c.txt", content="born\n"),
)


@pytest.mark.parametrize("place", PLACES)
async def test_killed_and_done_again(
    place: str, tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects: each file is at one of two versions when it dies, and at the new one at the end."""
    source = tmp_path / "workspace"
    contract = loops.contract(
        tmp_path,
        [WRITE, loops.DONE],
        files={"a.txt": "one\n", "b.txt": "one\n"},
        commit_authority="bob",
    )
    async with loops.opened(settings) as (harness, parts):
        task_id = (await harness.run(contract)).task_id
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, str(CHILD), task_id),
            env=environment | {"CHECKREIN_FAILPOINT": place},
        )
        assert await child.wait() == -signal.SIGKILL
        for name in ("a.txt", "b.txt"):
            assert (source / name).read_text() in {"one\n", "two\n"}
        done = await parts.front_door.commit(task_id, Approver(name="bob"))
        assert done.verified, done
        assert {p.name: p.read_text() for p in source.rglob("*.txt")} == {
            "a.txt": "two\n",
            "b.txt": "two\n",
            "c.txt": "born\n",
        }
        assert not [p for p in source.rglob("*") if p.name.startswith(".checkrein")]
        assert (await parts.records.task(task_id)).status == "COMPLETED"
        (effect,) = await parts.records.effects(done.attempt_id)
        # None where the folder itself had to say what became of it: then it was read just now.
        assert effect.status == "COMMITTED"
        assert effect.verified in {True, None}
        assert len(await parts.records.attempts(task_id)) == 2
        await loops.payloads(parts, done.attempt_id)


async def test_a_folder_that_is_changed_in_the_middle_is_for_a_person(
    tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects: what is partly published and was changed by somebody is never called either way."""
    source = tmp_path / "workspace"
    contract = loops.contract(
        tmp_path,
        [WRITE, loops.DONE],
        files={"a.txt": "one\n", "b.txt": "one\n"},
        commit_authority="bob",
    )
    async with loops.opened(settings) as (harness, parts):
        task_id = (await harness.run(contract)).task_id
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, str(CHILD), task_id),
            env=environment | {"CHECKREIN_FAILPOINT": "in_publish:2"},
        )
        assert await child.wait() == -signal.SIGKILL
        (source / "b.txt").write_text("by hand\n")
        stuck = await parts.front_door.commit(task_id, Approver(name="bob"))
        assert stuck.status == "RECONCILE_REQUIRED"
        assert (source / "b.txt").read_text() == "by hand\n"
        assert (await parts.records.task(task_id)).status == "VERIFIED"
