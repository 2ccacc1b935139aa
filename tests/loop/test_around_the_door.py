"""Clients of LangGraph that hold graph and saver themselves: nothing unapproved ever happens.

They work on the very thread that the front door paused at, without the server's auth handlers:
what stops them is the database alone. Afterwards the attempt still works as it should.
"""

import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import loops
import pytest
from intruders import RUN, Intruder
from langgraph.types import Command
from payment_account import FAST, Account

from checkrein.contracts.attempt import AttemptStatus
from checkrein.settings import Settings

PAY = loops.says("I pay.", loops.call("payments.charge", amount=500, currency="EUR", to="acme"))
YES = {"decisions": [{"type": "approve"}]}


async def goto_commit(intruder: Intruder) -> None:
    """Enter at the node that sends."""
    for entry in (
        Command(goto="commit_effect"),
        Command(goto="commit_effect", update=RUN),
        Command(goto=["policy", "commit_effect"]),
    ):
        await intruder.invoke(entry)


async def resume_with_goto(intruder: Intruder) -> None:
    """Say yes, and name where to go."""
    for value in (YES, True, "yes", None):
        await intruder.invoke(Command(resume=value, goto="commit_effect"))
    await intruder.invoke(Command(resume=YES, update=RUN))


async def scalar_twice(intruder: Intruder) -> None:
    """Say yes, and say it again."""
    for value in (YES, YES, "approve", True):
        await intruder.invoke(Command(resume=value))


async def forged_updates(intruder: Intruder) -> None:
    """Write the state in the name of each node."""
    for node in ("policy", "approval", "commit_effect", "compile_context", "decide", "suspend"):
        await intruder.update(RUN, node)
        await intruder.update(Command(update=RUN, goto="commit_effect"), node)
    await intruder.update(RUN, "__start__")
    await intruder.update({"attempt_id": str(uuid.uuid4()), "outcome": "run"}, "policy")
    await intruder.update(None, "__end__")


async def old_checkpoints(intruder: Intruder) -> None:
    """Go back to each checkpoint and say yes there, or only go on."""
    for config in await intruder.history():
        await intruder.invoke(Command(resume=YES), config)
        await intruder.invoke(None, config)
        await intruder.invoke(Command(goto="commit_effect"), config)


async def new_input(intruder: Intruder) -> None:
    """Start again while it waits."""
    for entry in (
        {"attempt_id": intruder.attempt_id},
        {"task": "other.yaml", **RUN},
        {},
        None,
    ):
        await intruder.invoke(entry)


WAYS: list[Callable[[Intruder], Awaitable[None]]] = [
    goto_commit,
    resume_with_goto,
    scalar_twice,
    forged_updates,
    old_checkpoints,
    new_input,
]


@pytest.mark.shows(144)
@pytest.mark.parametrize("durability", ["sync", "exit"])
@pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
async def test_nothing_unapproved_happens(
    way: Callable[[Intruder], Awaitable[None]],
    durability: Any,
    bank: Account,
    tmp_path: Path,
    settings: Settings,
) -> None:
    """Protects: whatever a client does to the thread, the person's yes comes first, once."""
    here = Settings(settings.home, settings.database_url, durability=durability)
    task = loops.contract(
        tmp_path, [PAY, loops.DONE], capabilities=["payments.charge"], policy=loops.ASK_WRITES
    )
    async with loops.opened(here, bank.charge(retry=FAST)) as (harness, parts):
        waits = await harness.run(task)
        assert waits.status is AttemptStatus.WAITING_FOR_APPROVAL
        intruder = Intruder(parts, tmp_path, waits.attempt_id)
        await way(intruder)
        assert intruder.pressed
        assert (await bank.calls()).get("calls", 0) == 0
        report = await harness.status(waits.attempt_id)
        assert report.effects == {}
        assert [request.approval_id for request in report.approvals] == [
            request.approval_id for request in waits.approvals
        ]
        kinds = await loops.types(parts, waits.attempt_id)
        assert "run_resumed" in kinds, "no node ever ran, so that nothing was shown"
        assert not {"approval_decided", "effect_executing"} & set(kinds)

        await harness.approve(waits.approvals[0].approval_id, by="bob")
        report = await harness.resume(waits.attempt_id)
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert (report.effects, await bank.paid()) == ({"COMMITTED": 1}, 1)
        # And once it has ended, no way leads to a second one.
        await way(intruder)
        await loops.payloads(parts, waits.attempt_id)
    assert (await bank.paid(), (await bank.calls())["calls"]) == (1, 1)
    assert loops.model_calls(tmp_path) == ["turn 1", "turn 2"]
