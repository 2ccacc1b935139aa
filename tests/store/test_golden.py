"""A trace of an earlier version, told again to this one's store, ends where it ended."""

import pytest
from golden_events import golden_history
from open_store import OpenStore

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.event import Payload

OUTSIDE = {"approval_decided", "pause_requested", "cancel_requested", "user_answered"}


@pytest.mark.shows(238)
async def test_an_old_trace_replays(own_store: OpenStore) -> None:
    store, history = own_store, golden_history()
    attempt_id = history[0].attempt_id
    payloads: list[Payload] = [event.read() for event in history]
    await store.events.start(payloads[:2])
    assert await store.fence(attempt_id) == 1
    for payload in payloads[2:]:
        fence = None if payload.type in OUTSIDE else 1
        await store.events.append(attempt_id, [payload], fence=fence)
    again = await store.events.read(attempt_id)
    # What was added to a noun since has its default: the same is said in more words.
    assert [event.read() for event in again] == payloads
    assert [event.cause_id for event in again] == [event.cause_id for event in history]
    position = await store.records.position(attempt_id)
    assert position.attempt.status is AttemptStatus.CANDIDATE_VERIFIED
    assert position.verification is not None and position.verification.accepted
    effects = await store.records.effects(attempt_id)
    assert [effect.status for effect in effects] == [EffectStatus.COMMITTED]
