"""The outbox: with the event or not at all, once for each key, for whom it is meant, in bounds."""

import asyncio
from typing import Any

import pytest
from open_store import OpenStore
from outbox_story import MONTH, Told, courier, later, on_offer
from payloads import answered, ended, granted, prepared, requested, stale

from checkrein.checkpointer.outbox import PostgresOutbox
from checkrein.contracts import ids
from checkrein.contracts.action import Action
from checkrein.contracts.approval import Answer
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ApprovalEscalated, ApprovalExpired, CancelRequested, Payload
from checkrein.contracts.message import ApprovalMessage
from checkrein.contracts.task import Escalation
from checkrein.errors import ConflictError, DeliveryError

pytestmark = pytest.mark.timeout(60)


async def fails(message: ApprovalMessage) -> str:
    raise DeliveryError("not now", op="test")


async def kinds(store: OpenStore) -> list[str]:
    return [entry.kind for entry in await PostgresOutbox(store.pool).entries(limit=1000)]


async def outside(store: OpenStore, action: Action, payload: Payload) -> None:
    await store.events.append(action.attempt_id, [payload], fence=None)


async def test_a_request_is_told_once_from_when_it_is_on_offer(own_store: OpenStore) -> None:
    """Protects: no message before its request is published, and one however often that is."""
    action = await on_offer(own_store, offered=False)
    assert await kinds(own_store) == []
    await own_store.append(action.attempt_id, [requested(action)], 1)
    (entry,) = await PostgresOutbox(own_store.pool).entries(limit=10)
    approval = ids.approval_id(action.action_id, 1)
    head = (await own_store.records.position(action.attempt_id)).head_seq
    assert entry.key == f"{approval}-approval_requested-{head}"
    assert (entry.attempt_id, entry.tenant) == (action.attempt_id, "local")
    # Published again after a crash: the same request, and no second message.
    await own_store.append(action.attempt_id, [requested(action)], 1)
    assert await kinds(own_store) == ["approval_requested"]


STORIES: dict[str, tuple[list[str], str]] = {
    "granted": (["approval_requested", "approval_decided"], "GRANTED"),
    "rejected": (["approval_requested", "approval_decided"], "REJECTED"),
    "stale": (
        ["approval_requested", "approval_decided", "approval_stale", "approval_requested"],
        "PENDING",
    ),
    "ended": (["approval_requested", "approval_revoked"], "REVOKED"),
    "used": (["approval_requested", "approval_decided"], "GRANTED"),
    "expired": (["approval_requested", "approval_expired"], "EXPIRED"),
    "escalated": (["approval_requested", "approval_escalated"], "PENDING"),
}


@pytest.mark.parametrize("story", STORIES)
async def test_every_turn_of_a_request_is_told(
    story: str, own_store: OpenStore, database_url: str
) -> None:
    """Protects receivers: each can open its message, change it and close it."""
    told = Told()
    await courier(own_store, told).once()  # from now on it is told of everything
    steps = [Escalation(after_s=60, role="lead")]
    action = await on_offer(own_store, escalation=steps)
    approval, act = ids.approval_id(action.action_id, 1), action.action_id
    if story == "expired":
        later(database_url, days=31)
        await outside(own_store, action, ApprovalExpired(approval_id=approval, action_id=act))
    elif story == "escalated":
        later(database_url, seconds=61)
        step = ApprovalEscalated(approval_id=approval, action_id=act, step=1, role="lead")
        await outside(own_store, action, step)
    elif story == "ended":
        await outside(own_store, action, CancelRequested(by="bob", reason="enough"))
        await own_store.append(action.attempt_id, [ended(AttemptStatus.CANCELLED)], 1)
    else:
        word = Answer.REJECT if story == "rejected" else Answer.APPROVE
        await outside(own_store, action, answered(action, word))
    if story == "stale":
        again: list[Payload] = [
            stale(action),
            prepared(action, 2, terms=MONTH),
            requested(action, 2),
        ]
        await own_store.append(action.attempt_id, again, 1)
    if story == "used":
        await own_store.append(action.attempt_id, [granted(action)], 1)
    await courier(own_store, told).once()
    wanted, status = STORIES[story]
    assert (told.kinds, told.got[-1].status) == (wanted, status)
    assert len({message.key for message in told.got}) == len(wanted)
    seqs = [message.seq for message in told.got]
    assert seqs == sorted(seqs)
    if story == "escalated":
        assert [m.roles for m in told.got] == [["approver"], ["approver", "lead"]]
    if story in {"granted", "used"}:
        assert [m.status for m in told.got] == ["PENDING", "GRANTED"], "each as it was then"
        assert told.got[1].answered is not None and told.got[1].answered.by == "bob"


async def test_a_refused_event_leaves_no_message(own_store: OpenStore) -> None:
    """Protects people from news of what never came to be: both are one transaction."""
    action = await on_offer(own_store)
    bad: list[Payload] = [
        stale(action),
        granted(action),
    ]  # the second is refused, so that the first is undone
    with pytest.raises(ConflictError):
        await own_store.append(action.attempt_id, bad, 1)
    assert await kinds(own_store) == ["approval_requested"]


async def test_it_is_given_up_in_the_end_and_the_request_stays(
    own_store: OpenStore, database_url: str
) -> None:
    """Protects: giving up is visible, and a request that nobody was told of can be answered."""
    action = await on_offer(own_store)
    told = Told(behaviour=fails)
    await courier(own_store, told).once()
    later(database_url, days=6.9)
    (early,) = await courier(own_store, told).once()
    later(database_url, days=7.1)
    (late,) = await courier(own_store, told).once()
    assert (early.state, late.state) == ("WAITING", "GIVEN_UP")
    later(database_url, days=20)
    assert await courier(own_store, told).once() == []
    (entry,) = await PostgresOutbox(own_store.pool).entries(limit=10)
    (delivery,) = entry.deliveries
    assert (delivery.state, delivery.tries, delivery.last_error) == ("GIVEN_UP", 3, "not now")
    await outside(own_store, action, answered(action))
    (request, _) = await own_store.records.approval(ids.approval_id(action.action_id, 1))
    assert request.status == "GRANTED"


async def hangs(message: ApprovalMessage) -> str:
    await asyncio.Event().wait()
    return ""


async def breaks(message: ApprovalMessage) -> str:
    raise RuntimeError("the secret is hush")


@pytest.mark.parametrize("behaviour", [fails, hangs, breaks])
async def test_one_that_fails_touches_neither_the_others_nor_the_approval(
    behaviour: Any, own_store: OpenStore
) -> None:
    """Protects everybody else from one deliverer, whatever it does and says."""
    actions = [await on_offer(own_store) for _ in range(6)]
    bad, good = Told("bad", behaviour, limit_s=0.2), Told("good")
    tried = await courier(own_store, bad, good).once()
    assert len(good.got) == 6
    assert {str(one.state) for one in tried if one.deliverer == "bad"} == {"WAITING"}
    assert len(bad.begun) == 4, "a receiver that takes nothing is left alone after one batch"
    assert not any("hush" in one.note for one in tried)
    for action in actions:
        await outside(own_store, action, answered(action))
    await courier(own_store, bad, good).once()
    assert len(good.got) == 12


async def test_a_row_of_another_version_stops_nobody(own_store: OpenStore) -> None:
    """Protects the queue from one row that this version cannot read."""
    bad, good = await on_offer(own_store), await on_offer(own_store)
    await own_store.by_owner(
        "UPDATE checkrein.approvals SET body = body::jsonb - 'capability' WHERE attempt_id = %s",
        bad.attempt_id,
    )
    told = Told()
    tried = await courier(own_store, told).once()
    assert [m.attempt_id for m in told.got] == [good.attempt_id]
    assert sorted(str(one.state) for one in tried) == ["DELIVERED", "WAITING"]


async def test_each_deliverer_gets_each_message(own_store: OpenStore) -> None:
    """Protects: deliverers do not take messages from each other."""
    await on_offer(own_store)
    first, second = Told("first"), Told("second")
    await courier(own_store, first, second).once()
    assert (len(first.got), len(second.got)) == (1, 1)
    await courier(own_store, first, second).once()
    assert (len(first.got), len(second.got)) == (1, 1)


async def test_a_new_deliverer_is_not_told_what_is_over(own_store: OpenStore) -> None:
    """Protects people from a flood of old news; what is open, and all that comes, they get."""
    over, still = await on_offer(own_store), await on_offer(own_store)
    await outside(own_store, over, answered(over, Answer.REJECT))
    told = Told()
    await courier(own_store, told).once()
    assert [m.attempt_id for m in told.got] == [still.attempt_id]
    fresh = await on_offer(own_store)
    await outside(own_store, fresh, answered(fresh))  # over before anybody looked again
    await courier(own_store, told).once()
    assert told.kinds[1:] == ["approval_requested", "approval_decided"]


async def test_another_tenants_messages_are_not_told(own_store: OpenStore) -> None:
    """Protects tenants from each other: a deliverer of one gets nothing of another."""
    await on_offer(own_store)
    theirs, ours, everybodys = Told("a", tenant="other"), Told("b", tenant="local"), Told("c")
    await courier(own_store, theirs, ours, everybodys).once()
    assert (theirs.begun, len(ours.got), len(everybodys.got)) == ([], 1, 1)


async def test_a_note_is_kept_in_bounds(own_store: OpenStore) -> None:
    """Protects the database from whatever a deliverer says of itself."""

    async def chatty(message: ApprovalMessage) -> str:
        return "\x00" + "x" * 100_000

    await on_offer(own_store)
    await courier(own_store, Told(behaviour=chatty)).once()
    (entry,) = await PostgresOutbox(own_store.pool).entries(limit=10)
    assert len(entry.deliveries[0].last_error) == 300


async def test_a_long_answer_is_not_stored_a_second_time(own_store: OpenStore) -> None:
    """Protects the outbox from what people may write into an answer; the event has it all."""
    told = Told()
    await courier(own_store, told).once()
    action = await on_offer(own_store)
    word = answered(action, Answer.EDIT).model_copy(
        update={"reason": "r" * 90_000, "args": {"path": "x" * 90_000}}
    )
    await outside(own_store, action, word)
    await courier(own_store, told).once()
    size = await own_store.value("SELECT max(length(body::text)) FROM checkrein.outbox")
    assert size < 3_000
    assert told.got[1].answered is not None and len(told.got[1].answered.reason) <= 500
