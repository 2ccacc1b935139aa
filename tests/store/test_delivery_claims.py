"""Claims: in order for each attempt, one process at a time, later after a failure, never lost."""

import asyncio
from typing import Any

import pytest
from open_store import OpenStore
from outbox_story import Told, courier, later, on_offer
from payloads import answered

from checkrein.checkpointer.outbox import PostgresOutbox
from checkrein.contracts.action import Action
from checkrein.contracts.event import Payload
from checkrein.contracts.message import ApprovalMessage
from checkrein.errors import DeliveryError
from checkrein.graph.delivery import LONGEST_PAUSE_S, pause_s

pytestmark = pytest.mark.timeout(60)


async def fails(message: ApprovalMessage) -> str:
    raise DeliveryError("not now", op="test")


async def outside(store: OpenStore, action: Action, payload: Payload) -> None:
    await store.events.append(action.attempt_id, [payload], fence=None)


async def test_a_message_waits_for_the_one_before_it(
    own_store: OpenStore, database_url: str
) -> None:
    """Protects the order within an attempt: no "answered" before its "wanted" has arrived."""
    await courier(own_store, Told()).once()
    slow, other = await on_offer(own_store), await on_offer(own_store)
    await outside(own_store, slow, answered(slow))

    async def first_fails(message: ApprovalMessage) -> str:
        if message.attempt_id == slow.attempt_id and len(told.begun) <= 2:
            raise DeliveryError("not now", op="test")
        return ""

    told = Told(behaviour=first_fails)
    await courier(own_store, told).once()
    assert [m.attempt_id for m in told.got] == [other.attempt_id], "others do not wait"
    await courier(own_store, told).once()
    assert len(told.got) == 1, "the pause is not over"
    later(database_url, seconds=6)
    await courier(own_store, told).once()
    assert told.kinds[1:] == ["approval_requested", "approval_decided"]


async def test_what_is_given_up_makes_way(own_store: OpenStore) -> None:
    """Protects later messages from one that no receiver ever takes."""
    await courier(own_store, Told()).once()
    action = await on_offer(own_store)
    await outside(own_store, action, answered(action))

    async def never(message: ApprovalMessage) -> str:
        if message.kind == "approval_requested":
            raise DeliveryError("never", op="test", final=True)
        return ""

    told = Told(behaviour=never)
    tried = await courier(own_store, told).once()
    assert [str(one.state) for one in tried] == ["GIVEN_UP", "DELIVERED"]
    entries = await PostgresOutbox(own_store.pool).entries(limit=10)
    assert [(d.state, d.last_error) for e in entries for d in e.deliveries] == [
        ("GIVEN_UP", "never"),
        ("DELIVERED", ""),
    ]


async def test_two_processes_never_deliver_the_same_at_once(own_store: OpenStore) -> None:
    """Protects receivers from doubles where nobody died: a claim is one process's alone."""
    await courier(own_store, Told()).once()
    actions = [await on_offer(own_store) for _ in range(12)]
    for action in actions:
        await outside(own_store, action, answered(action))
    together = [Told(), Told(), Told()]
    await asyncio.gather(*(courier(own_store, told).once() for told in together))
    await courier(own_store, together[0]).once()
    keys = [key for told in together for key in told.begun]
    assert (len(keys), len(set(keys))) == (24, 24)
    for action in actions:
        found = [
            (m.seq, n)
            for n, told in enumerate(together)
            for m in told.got
            if m.attempt_id == action.attempt_id
        ]
        assert len(found) == 2


async def test_a_claim_whose_process_died_ends(own_store: OpenStore, database_url: str) -> None:
    """Protects a message from a process that died with it: after the claim another delivers it."""
    await on_offer(own_store)
    outbox = PostgresOutbox(own_store.pool)
    (dead,) = await outbox.claim("told", None, most=4, hold_s=80)
    assert await outbox.claim("told", None, most=4, hold_s=80) == []
    later(database_url, seconds=79)
    assert await outbox.claim("told", None, most=4, hold_s=80) == []
    later(database_url, seconds=81)
    (alive,) = await outbox.claim("told", None, most=4, hold_s=80)
    assert (alive.key, dead.tries, alive.tries) == (dead.key, 1, 2)


@pytest.mark.parametrize("late", ["delivered", "failed", "refused"])
async def test_what_a_late_process_says(late: Any, own_store: OpenStore, database_url: str) -> None:
    """Protects: that it arrived is true whoever says it; a failure counts of the newest try."""
    await on_offer(own_store)
    outbox = PostgresOutbox(own_store.pool)
    (first,) = await outbox.claim("told", None, most=4, hold_s=80)
    later(database_url, seconds=81)
    (second,) = await outbox.claim("told", None, most=4, hold_s=80)
    more: dict[str, Any] = {"note": "", "again_s": 5.0, "give_up_s": 1e6}
    said = await outbox.record(first, "told", late, **more)
    assert said == ("DELIVERED" if late == "delivered" else None)
    said = await outbox.record(second, "told", "failed", **more)
    assert said == (None if late == "delivered" else "WAITING")
    assert await outbox.claim("told", None, most=4, hold_s=80) == []


async def test_the_pause_doubles_and_is_bounded(own_store: OpenStore, database_url: str) -> None:
    """Protects a receiver that is down from being asked without end, and us from never asking."""
    await on_offer(own_store)
    told = Told(behaviour=fails, give_up_s=1e9)
    at = 0.0
    for tries in range(1, 12):
        await courier(own_store, told).once()
        assert len(told.begun) == tries
        later(database_url, seconds=at + pause_s(tries) - 1)
        await courier(own_store, told).once()
        assert len(told.begun) == tries, "before the pause is over"
        at += pause_s(tries) + 2
        later(database_url, seconds=at)
    assert [pause_s(n) for n in (1, 2, 3)] == [5.0, 10.0, 20.0]
    assert pause_s(10_000) == LONGEST_PAUSE_S


async def test_a_receiver_may_ask_for_a_longer_pause(
    own_store: OpenStore, database_url: str
) -> None:
    """Protects a receiver that says when it will be back; within an hour, whatever it says."""

    async def busy(message: ApprovalMessage) -> str:
        raise DeliveryError("busy", op="test", wait_s=1e9)

    await on_offer(own_store)
    told = Told(behaviour=busy)
    await courier(own_store, told).once()
    later(database_url, seconds=3_590)
    await courier(own_store, told).once()
    later(database_url, seconds=3_610)
    await courier(own_store, told).once()
    assert len(told.begun) == 2


async def test_one_that_is_stopping_takes_nothing_more(own_store: OpenStore) -> None:
    """Protects a clean end: what is on its way is seen through, and nothing more is begun."""
    for _ in range(9):
        await on_offer(own_store)

    async def last(message: ApprovalMessage) -> str:
        going.stopping = True
        return ""

    told = Told(behaviour=last)
    going = courier(own_store, told)
    await going.once()
    assert len(told.got) == len(told.begun) == 4, "one batch"
    await courier(own_store, told).once()
    assert len(told.got) == 9
