"""Appending: all or nothing, by one owner at a time, without a gap, and never after the end."""

import asyncio
from typing import LiteralString

import pytest
from open_store import OpenStore
from payloads import ended, observed, sealed, verified
from psycopg import sql

from checkrein.contracts import ids
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget
from checkrein.contracts.codec import digest
from checkrein.contracts.event import (
    ActionProposed,
    CancelRequested,
    PauseRequested,
    Payload,
    QuestionAsked,
    RetryScheduled,
    TaskCreated,
    UserAnswered,
    check_chain,
)
from checkrein.errors import ConflictError, InputError, IntegrityError, LeaseLostError, StoreError
from checkrein.testing.conformance.story import (
    action_of,
    asked,
    authorized,
    bound,
    decided,
    executing,
    opening,
    replied,
)

ROWS: LiteralString = """
SELECT to_jsonb(t) AS row FROM checkrein.{table} t
WHERE to_jsonb(t) ->> 'attempt_id' = %s OR to_jsonb(t) ->> 'action_id' IN
    (SELECT action_id FROM checkrein.actions WHERE attempt_id = %s)
ORDER BY to_jsonb(t)::text
"""
DERIVED = ("turns", "actions", "decisions", "effects", "tool_tries", "budgets", "attempts")


async def snapshot(store: OpenStore, attempt_id: str) -> dict[str, object]:
    """Every row of an attempt, in every table that its events are projected onto."""
    return {
        table: await store.rows(
            sql.SQL(ROWS).format(table=sql.Identifier(table)), attempt_id, attempt_id
        )
        for table in DERIVED
    }


async def test_one_refused_event_leaves_every_table_as_it_was(store: OpenStore) -> None:
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    action, raw = action_of(attempt_id), attempt_id.encode()
    await store.append(attempt_id, authorized(action), fence)
    before = await snapshot(store, attempt_id)
    sent: list[Payload] = [bound(action), executing(action, fence)]
    for bad in (
        [*sent, bound(action)],
        [*sent, executing(action, fence)],
        [*sent, observed(action), observed(action)],
        [*sent, ended(AttemptStatus.CANDIDATE_VERIFIED)],
    ):
        with pytest.raises(ConflictError):
            await store.events.append(attempt_id, bad, fence=fence, blobs=[raw])
        assert await snapshot(store, attempt_id) == before
        with pytest.raises(IntegrityError):
            await store.events.blob(digest(raw))
    await store.append(attempt_id, sent, fence)


@pytest.mark.shows(113, 235)
async def test_the_fence_of_a_former_owner_writes_nothing(store: OpenStore) -> None:
    attempt_id = await store.begun()
    old = await store.fence(attempt_id)
    new = await store.fence(attempt_id)
    assert new == old + 1
    for fence in (old, new + 1, 0, -1):
        with pytest.raises(LeaseLostError):
            await store.append(attempt_id, asked(), fence)
    await store.append(attempt_id, asked(), new)


async def test_an_expired_lease_writes_nothing_even_where_nobody_took_it(store: OpenStore) -> None:
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id, ttl="200 milliseconds")
    await store.append(attempt_id, asked(), fence)
    await asyncio.sleep(0.25)
    with pytest.raises(LeaseLostError):
        await store.append(attempt_id, replied(), fence)


async def test_people_may_ask_while_somebody_owns_the_attempt(store: OpenStore) -> None:
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    question = QuestionAsked(turn=1, call_id="c", question="Which?")
    await store.append(attempt_id, [*asked(), *replied(), question], fence)
    for request in (
        PauseRequested(by="bob"),
        UserAnswered(text="this one", by="bob"),
        CancelRequested(by="bob", reason=""),
    ):
        await store.events.append(attempt_id, [request], fence=None)
    position = await store.records.position(attempt_id)
    assert position.pause_requested
    assert position.cancel_reason == ""
    assert position.attempt.status is AttemptStatus.CANCELLING
    assert position.turn is not None and position.turn.status == "CLOSED"


async def test_whatever_else_needs_a_fence(store: OpenStore) -> None:
    attempt_id = await store.begun()
    action = action_of(attempt_id)
    owned: list[Payload] = [
        *asked(),
        *replied(),
        ActionProposed(action=action),
        decided(action),
        bound(action),
        executing(action, 1),
        observed(action),
        *sealed(),
        verified(),
        ended(),
    ]
    for payload in owned:
        with pytest.raises(ConflictError, match="without the lease"):
            await store.events.append(attempt_id, [payload], fence=None)
    assert len(await store.events.read(attempt_id)) == 2


@pytest.mark.parametrize(
    "status", [s for s in AttemptStatus if s.is_terminal and s != "CANDIDATE_VERIFIED"]
)
async def test_an_attempt_that_has_ended_takes_nothing_more(
    status: AttemptStatus, store: OpenStore
) -> None:
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    before: list[Payload] = []
    if status is AttemptStatus.CANCELLED:
        before = [CancelRequested(by="bob", reason="enough")]
    elif status is AttemptStatus.FAILED_VERIFICATION:
        before = [*asked(), *replied(), *sealed()]
    with pytest.raises(ConflictError, match="Nothing follows"):
        late = PauseRequested(by="bob")
        await store.append(attempt_id, [*before, ended(status), late], fence)
    await store.append(attempt_id, [*before, ended(status)], fence)
    last = len(await store.events.read(attempt_id))
    for fence_or_none in (fence, None):
        with pytest.raises(ConflictError) as refused:
            cancel = CancelRequested(by="bob", reason="late")
            await store.events.append(attempt_id, [cancel], fence=fence_or_none)
        assert refused.value.code == "attempt_ended"
        assert refused.value.context["detail"] == status
    assert len(await store.events.read(attempt_id)) == last
    assert (await store.records.position(attempt_id)).attempt.status is status


@pytest.mark.shows(225)
async def test_twenty_writers_at_once_leave_no_gap_and_break_no_chain(store: OpenStore) -> None:
    """An owner and people who ask for things; some writes are refused, and take no number."""
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    retry = RetryScheduled(turn=1, what="model", try_number=2, delay_s=0.5, error_type="busy")

    async def write(n: int) -> int:
        try:
            if n % 4 == 0:
                await store.append(attempt_id, [retry, PauseRequested(by="me")], fence)
            elif n % 4 == 1:
                await store.append(attempt_id, [retry], fence - 1)
            else:
                await store.events.append(attempt_id, [PauseRequested(by=f"p{n}")], fence=None)
        except LeaseLostError:
            return 0
        return 2 if n % 4 == 0 else 1

    written = await asyncio.gather(*(write(n) for n in range(20)))
    assert sorted(written) == [0] * 5 + [1] * 10 + [2] * 5
    events = await store.events.read(attempt_id)
    assert [event.seq for event in events] == list(range(1, 2 + sum(written) + 1))
    position = await store.records.position(attempt_id)
    assert check_chain(events, position.head_seq, position.head_hash) == []


@pytest.mark.shows(225, 231)
async def test_every_event_but_the_first_names_an_earlier_one(store: OpenStore) -> None:
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    first, second = action_of(attempt_id, 1, 0), action_of(attempt_id, 1, 1)
    proposed = [ActionProposed(action=first), ActionProposed(action=second)]
    await store.append(attempt_id, [*asked(), *replied(), *proposed], fence)
    await store.append(attempt_id, [decided(first), decided(second)], fence)
    await store.append(attempt_id, [bound(second), executing(second, fence)], fence)
    events = await store.events.read(attempt_id)
    by_id = {event.event_id: event for event in events}
    for event in events[1:]:
        assert event.cause_id is not None and by_id[event.cause_id].seq < event.seq
    # From the send one walks back to what the model was shown, past the other action.
    walked, event = ["effect_executing"], events[-1]
    while event.cause_id is not None:
        event = by_id[event.cause_id]
        walked.append(event.type)
    assert walked == [
        "effect_executing",
        "intent_bound",
        "policy_decided",
        "action_proposed",
        "model_responded",
        "model_requested",
        "context_compiled",
        "attempt_started",
        "task_created",
    ]


@pytest.mark.shows(54)
async def test_one_attempt_cannot_touch_the_rows_of_another(store: OpenStore) -> None:
    theirs = await store.begun()
    their_fence = await store.fence(theirs)
    action = action_of(theirs)
    await store.append(theirs, authorized(action), their_fence)
    await store.append(theirs, [bound(action)], their_fence)
    before = await snapshot(store, theirs)
    ours = await store.begun()
    fence = await store.fence(ours)
    await store.append(ours, [*asked(), *replied()], fence)
    for payload in (decided(action), executing(action, fence), observed(action)):
        with pytest.raises(InputError, match="this attempt"):
            await store.append(ours, [payload], fence)
    assert await snapshot(store, theirs) == before


async def test_beginnings_that_make_no_sense_leave_nothing(store: OpenStore) -> None:
    attempt_id = ids.new_attempt_id()
    task_created, attempt_started = opening(attempt_id)
    for bad, error in (
        ([attempt_started], InputError),
        ([task_created, task_created, attempt_started], ConflictError),
        ([task_created, attempt_started, *asked()], ConflictError),
        ([task_created], StoreError),
    ):
        with pytest.raises(error):
            await store.events.start(bad)
    assert await store.events.read(attempt_id) == []
    assert isinstance(task_created, TaskCreated)
    task_id = task_created.task.task_id
    assert await store.rows("SELECT FROM checkrein.tasks WHERE task_id = %s", task_id) == []


async def test_reservations_of_an_attempt_start_at_nothing(store: OpenStore) -> None:
    position = await store.records.position(await store.begun())
    always = {"steps", "model_tokens", "wall_time_s", "tool_calls", "repairs"}
    assert set(position.budgets) == {Budget(name) for name in always}
    assert {line.spent + line.reserved for line in position.budgets.values()} == {0}
