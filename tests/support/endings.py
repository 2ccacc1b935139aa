"""Whole runs, one for each way to end, for tests of what is made of their traces."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import loops

from checkrein.compose import Parts
from checkrein.harness import Harness

Scenario = Callable[[Path, Harness, Parts], Awaitable[str]]
"""Runs something to its end and returns the task's id."""

WRITE = loops.says("", loops.call("workspace.write_file", path="a.txt", content="two\n"))
TESTS = loops.says("", loops.call("workspace.write_file", path="tests/t.py", content=""))
WANTS_TWO = [{"command": {"argv": ["grep", "-q", "two", "a.txt"]}}]


async def allowed(folder: Path, harness: Harness, parts: Parts) -> str:
    """A write that the policy allows, beside a call that no tool answers."""
    turn = loops.says("", *WRITE["calls"], loops.call("workspace.fly"))
    return (await harness.run(loops.contract(folder, [turn, loops.DONE]))).task_id


async def approved(folder: Path, harness: Harness, parts: Parts) -> str:
    """Two writes of one turn, both approved."""
    more = loops.call("workspace.write_file", path="b.txt", content="b\n")
    turn = loops.says("", *WRITE["calls"], more)
    report = await harness.run(loops.contract(folder, [turn, loops.DONE], policy=loops.ASK_WRITES))
    for request in report.approvals:
        await harness.approve(request.approval_id, by="carol")
    return (await harness.resume(report.attempt_id)).task_id


async def rejected(folder: Path, harness: Harness, parts: Parts) -> str:
    """A write that a person rejects; the model gives up."""
    report = await harness.run(loops.contract(folder, [WRITE, loops.DONE], policy=loops.ASK_WRITES))
    await harness.reject(report.approvals[0].approval_id, by="bob", reason="not now")
    return (await harness.resume(report.attempt_id)).task_id


async def stale(folder: Path, harness: Harness, parts: Parts) -> str:
    """The file changes after the yes; a fresh request is approved."""
    patch = "@@ -1,2 +1,2 @@\n-one\n+two\n same\n"
    turn = loops.says("", loops.call("workspace.apply_patch", path="a.txt", patch=patch))
    task = loops.contract(
        folder, [turn, loops.DONE], files={"a.txt": "one\nsame\n"}, policy=loops.ASK_WRITES
    )
    report = await harness.run(task)
    (Path(report.workspace) / "a.txt").write_text("one\nsame\nmore\n")
    for who in ("bob", "carol"):
        await harness.approve(report.approvals[0].approval_id, by=who)
        report = await harness.resume(report.attempt_id)
    return report.task_id


async def denied(folder: Path, harness: Harness, parts: Parts) -> str:
    """Nothing but denials, until the attempt ends POLICY_BLOCKED."""
    task = loops.contract(folder, [TESTS] * 4, files={"tests/t.py": "1\n"}, policy=None)
    return (await harness.run(task)).task_id


async def refused(folder: Path, harness: Harness, parts: Parts) -> str:
    """A claim without proof."""
    task = loops.contract(folder, [loops.DONE], success=WANTS_TWO, budgets={"repairs": 0})
    return (await harness.run(task)).task_id


async def repaired(folder: Path, harness: Harness, parts: Parts) -> str:
    """A claim that fails, a repair, and a claim that holds."""
    turns = [loops.DONE, WRITE, loops.says("Now it is.")]
    task = loops.contract(folder, turns, success=WANTS_TWO, artifacts=["diff", "test_report"])
    return (await harness.run(task)).task_id


async def asked(folder: Path, harness: Harness, parts: Parts) -> str:
    """A question, an answer, a look at a file that is too long to be shown whole."""
    turns = [
        loops.says("", loops.call("ask_user", question="Which file?")),
        loops.says("", loops.call("workspace.read", path="long.txt")),
        loops.DONE,
    ]
    files = {"a.txt": "one\n", "long.txt": "many words\n" * 40_000}
    report = await harness.run(loops.contract(folder, turns, files=files))
    await parts.front_door.answer(report.attempt_id, "The long one.", by="alice")
    return (await harness.resume(report.attempt_id)).task_id


async def cancelled(folder: Path, harness: Harness, parts: Parts) -> str:
    """Cancelled while it waits for approval."""
    report = await harness.run(loops.contract(folder, [WRITE, loops.DONE], policy=loops.ASK_WRITES))
    await harness.cancel(report.attempt_id, by="alice", reason="no longer wanted")
    return report.task_id


async def out_of_turns(folder: Path, harness: Harness, parts: Parts) -> str:
    """The model fails after a write."""
    return (await harness.run(loops.contract(folder, [WRITE]))).task_id


async def tried_again(folder: Path, harness: Harness, parts: Parts) -> str:
    """A second attempt, whose repeated write is asked for although the policy allows it."""
    task = loops.contract(
        folder, [WRITE, loops.DONE], success=[{"command": {"argv": ["test", "-e", "b.txt"]}}],
        budgets={"repairs": 0}, files={"a.txt": "one\n"},
    )  # fmt: skip
    report = await harness.run(task)
    again = await parts.front_door.retry(report.task_id)
    for request in again.approvals:
        await harness.approve(request.approval_id, by="bob")
    again = await harness.resume(again.attempt_id)
    assert again.attempt_id != report.attempt_id
    return report.task_id


async def paused(folder: Path, harness: Harness, parts: Parts) -> str:
    """Stopped turns, with a word from a person."""
    report = await harness.run(loops.contract(folder, [loops.says(""), loops.DONE]))
    await parts.front_door.answer(report.attempt_id, "Go on.", by="alice")
    return (await harness.resume(report.attempt_id)).task_id


SCENARIOS: dict[str, tuple[Scenario, str]] = {
    "allowed": (allowed, "CANDIDATE_VERIFIED"),
    "approved": (approved, "CANDIDATE_VERIFIED"),
    "rejected": (rejected, "CANDIDATE_VERIFIED"),
    "stale": (stale, "CANDIDATE_VERIFIED"),
    "denied": (denied, "POLICY_BLOCKED"),
    "refused": (refused, "FAILED_VERIFICATION"),
    "repaired": (repaired, "CANDIDATE_VERIFIED"),
    "asked": (asked, "CANDIDATE_VERIFIED"),
    "cancelled": (cancelled, "CANCELLED"),
    "out of turns": (out_of_turns, "MODEL_ERROR"),
    "tried again": (tried_again, "FAILED_VERIFICATION"),
    "paused": (paused, "CANDIDATE_VERIFIED"),
}
"""Each with the status in which its last attempt ends."""
