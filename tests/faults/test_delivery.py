"""Deliveries over crashes and outages: each request arrives, and counts once at its receiver."""

import asyncio
import json
import signal
import sys
from datetime import timedelta
from pathlib import Path

import loops
import pytest
from asking import asking, move_clock
from delivery_child import webhook
from outbox_story import Told
from receivers import HookReceiver, hooks, status

from checkrein.checkpointer.outbox import PostgresOutbox
from checkrein.compose import Parts
from checkrein.contracts.attempt import AttemptStatus
from checkrein.errors import DeliveryError
from checkrein.graph.delivery import Courier, Tried
from checkrein.harness import Harness
from checkrein.settings import Settings

SUPPORT = Path(__file__).parents[1] / "support"
WRITE = loops.says("I write.", loops.call("workspace.write_file", path="a.txt", content="two\n"))


async def child(*argv: str, environment: dict[str, str]) -> int:
    """Run one of the children to its end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *argv, env=environment, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait()


async def waiting(harness: Harness, folder: Path, name: str) -> str:
    """A run that waits for one approval; its id."""
    place = folder / name
    place.mkdir()
    task = loops.contract(place, [WRITE, loops.DONE], policy=asking(place))
    report = await harness.run(task)
    assert report.status is AttemptStatus.WAITING_FOR_APPROVAL
    return report.approvals[0].approval_id


def approvals(receiver: HookReceiver) -> list[str]:
    """The requests of all that a receiver counts, doubles thrown away by their key."""
    first = {post.key: json.loads(post.body) for post in receiver.posts}
    return [str(message["approval_id"]) for message in first.values()]


async def passed(parts: Parts, *deliverers: object) -> list[Tried]:
    return await Courier(parts.outbox, deliverers).once()  # type: ignore[arg-type] # all are some


@pytest.mark.shows(80)
async def test_killed_between_commit_and_delivery(
    tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects a request whose process died right after storing it: the next delivery finds it."""
    task = loops.contract(tmp_path, [WRITE, loops.DONE], policy=asking(tmp_path))
    (tmp_path / "task.json").write_text(task.model_dump_json(), encoding="utf-8")
    argv = [str(SUPPORT / "crash_child.py"), str(tmp_path / "task.json")]
    dying = environment | {"CHECKREIN_FAILPOINT": "after_publishing"}
    assert await child(*argv, environment=dying) == -signal.SIGKILL
    async with hooks() as receiver, loops.opened(settings) as (harness, parts):
        (request,) = await harness.approvals()
        await passed(parts, webhook(receiver.url))
        await passed(parts, webhook(receiver.url))
    assert approvals(receiver) == [request.approval_id]
    assert len(receiver.posts) == 1


@pytest.mark.shows(80)
@pytest.mark.parametrize("where", ["before", "after"])
async def test_killed_in_the_middle_of_delivering(
    where: str, tmp_path: Path, settings: Settings, environment: dict[str, str]
) -> None:
    """Protects: whoever dies with a message loses none; what arrives twice has one key."""
    url = settings.database_url or ""
    async with hooks() as receiver, loops.opened(settings) as (harness, parts):
        approval = await waiting(harness, tmp_path, "one")
        argv = [str(SUPPORT / "delivery_child.py"), url, receiver.url, where]
        assert await child(*argv, environment=environment) == -signal.SIGKILL
        assert len(receiver.posts) == (where == "after")
        assert await passed(parts, webhook(receiver.url)) == [], "its claim is not over"
        move_clock(settings, timedelta(seconds=66))
        (tried,) = await passed(parts, webhook(receiver.url))
        assert await passed(parts, webhook(receiver.url)) == []
    assert tried.state == "DELIVERED"
    assert approvals(receiver) == [approval]
    assert len(receiver.keys) == (2 if where == "after" else 1)
    assert len({post.body for post in receiver.posts}) == 1, "word for word the same"


async def test_a_receiver_that_is_down_for_a_minute_gets_each_approval_once(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: five approvals come to be while nobody listens; each arrives once when one does."""
    async with hooks() as receiver:
        pass  # its port is known, and nobody listens there now
    port = receiver.port
    async with loops.opened(settings) as (harness, parts):
        made = [await waiting(harness, tmp_path, f"task{n}") for n in range(5)]
        for second in range(0, 60, 15):
            move_clock(settings, timedelta(seconds=second))
            tried = await passed(parts, webhook(receiver.url))
            assert all(one.state == "WAITING" for one in tried)
        assert receiver.posts == []
        move_clock(settings, timedelta(minutes=2))
        async with hooks(port=port, receiver=receiver):
            await passed(parts, webhook(receiver.url))
            for minutes in (3, 10, 60):
                move_clock(settings, timedelta(minutes=minutes))
                await passed(parts, webhook(receiver.url))
        assert sorted(approvals(receiver)) == sorted(made)
        assert receiver.keys == receiver.once, "none of them came twice"
        # The outage touched no approval: all of them can still be answered.
        for approval in made:
            answered = await harness.approve(approval, by="bob")
            assert answered.status == "GRANTED"


async def test_an_answer_that_is_lost_brings_it_a_second_time_under_the_same_key(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: "at least once" and "counted once" are both true where a yes gets lost."""
    async with hooks() as receiver, loops.opened(settings) as (harness, parts):
        approval = await waiting(harness, tmp_path, "one")
        receiver.answers = [b"drop", status(500)]
        for minutes in (0, 1, 2):
            move_clock(settings, timedelta(minutes=minutes))
            await passed(parts, webhook(receiver.url))
    assert (len(receiver.keys), len(receiver.once)) == (3, 1)
    assert approvals(receiver) == [approval]


async def test_a_run_goes_through_while_every_deliverer_fails(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects work from its messengers: an approval is asked, given and spent without them."""

    async def dead(message: object) -> str:
        raise DeliveryError("dead", op="test")

    async with loops.opened(settings) as (harness, parts):
        approval = await waiting(harness, tmp_path, "one")
        await passed(parts, Told("a", dead), Told("b", dead))
        request = await harness.approve(approval, by="bob")
        done = await harness.resume(request.attempt_id)
        await passed(parts, Told("a", dead))
        states = [e.deliveries for e in await parts.outbox.entries(limit=10)]
    assert done.status is AttemptStatus.CANDIDATE_VERIFIED
    assert {d.state for row in states for d in row} == {"WAITING"}


async def test_the_store_going_away_loses_nothing(tmp_path: Path, settings: Settings) -> None:
    """Protects: a try that could not be recorded is tried again, and counts once."""
    async with hooks() as receiver, loops.opened(settings) as (harness, parts):
        approval = await waiting(harness, tmp_path, "one")

        class Forgetful(PostgresOutbox):
            async def record(self, *args: object, **more: object) -> None:
                raise ConnectionError("the store is away")

        forgetful = Forgetful(parts.outbox._pool)  # pyright: ignore[reportPrivateUsage] # its pool
        with pytest.raises(ConnectionError):
            await Courier(forgetful, [webhook(receiver.url)]).once()
        move_clock(settings, timedelta(seconds=66))
        await passed(parts, webhook(receiver.url))
    assert (len(receiver.keys), approvals(receiver)) == (2, [approval])
