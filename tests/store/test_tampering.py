"""Whoever has the database may change it, and is found out: by the chain, the head and the digests.

The tamperer here is the server's superuser: nothing in the database can stop that one.
"""

from collections.abc import Awaitable, Callable

import pytest
from open_store import OpenStore
from payloads import ended, sealed, verified

from checkrein.contracts.codec import digest
from checkrein.contracts.event import ChainFault, PauseRequested, check_chain
from checkrein.errors import IntegrityError
from checkrein.testing.conformance.story import asked, replied

LAST = 11


async def told(store: OpenStore) -> str:
    """A whole trace of eleven events."""
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    raw = attempt_id.encode()
    await store.append(attempt_id, asked(), fence)
    await store.events.append(attempt_id, replied(1, raw), fence=fence, blobs=[raw])
    await store.append(attempt_id, [*sealed(), verified(), ended()], fence)
    assert await faults(store, attempt_id) == []
    return attempt_id


async def faults(store: OpenStore, attempt_id: str) -> list[ChainFault]:
    """What checking the stored trace against the attempt's head finds."""
    position = await store.records.position(attempt_id)
    events = await store.events.read(attempt_id)
    return check_chain(events, position.head_seq, position.head_hash)


async def _edit_payload(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "UPDATE checkrein.events SET payload = replace(payload, 'PASS', 'FAIL')"
        " WHERE attempt_id = %s AND type = 'verification_finished'",
        attempt_id,
    )


async def _edit_one_space(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "UPDATE checkrein.events SET payload = payload || ' ' WHERE attempt_id = %s AND seq = 4",
        attempt_id,
    )


async def _edit_type(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "UPDATE checkrein.events SET type = 'cancelled' WHERE attempt_id = %s AND seq = 5",
        attempt_id,
    )


async def _edit_time(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "UPDATE checkrein.events SET at = replace(at, '20', '19')"
        " WHERE attempt_id = %s AND seq = 1",
        attempt_id,
    )


async def _edit_cause(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "UPDATE checkrein.events SET cause_seq = 1 WHERE attempt_id = %s AND seq = 7", attempt_id
    )


async def _edit_with_its_hash(store: OpenStore, attempt_id: str) -> None:
    """A careful forger makes the event's own hash right again; the next event tells."""
    await store.by_owner(
        "UPDATE checkrein.events SET payload = replace(payload, 'none-1', 'none-2'),"
        " hash = sha256(convert_to(concat_ws(E'\\n', attempt_id, seq, attempt_id || '/' || seq,"
        " attempt_id || '/' || cause_seq, type, at, 'sha256:' || encode(prev_hash, 'hex'),"
        " replace(payload, 'none-1', 'none-2')), 'UTF8'))"
        " WHERE attempt_id = %s AND type = 'model_responded'",
        attempt_id,
    )


async def _delete_one(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "DELETE FROM checkrein.events WHERE attempt_id = %s AND seq = 6", attempt_id
    )


async def _delete_one_and_close_the_gap(store: OpenStore, attempt_id: str) -> None:
    await _delete_one(store, attempt_id)
    for seq in range(7, LAST + 1):
        await store.by_owner(
            "UPDATE checkrein.events SET seq = seq - 1, cause_seq = least(cause_seq, seq - 2)"
            " WHERE attempt_id = %s AND seq = %s",
            attempt_id,
            seq,
        )


async def _swap_two(store: OpenStore, attempt_id: str) -> None:
    for before, after in ((4, 1000), (5, 4), (1000, 5)):
        await store.by_owner(
            "UPDATE checkrein.events SET seq = %s, cause_seq = 1"
            " WHERE attempt_id = %s AND seq = %s",
            after,
            attempt_id,
            before,
        )


async def _swap_two_payloads(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "UPDATE checkrein.events e SET (type, payload) = (SELECT o.type, o.payload"
        " FROM checkrein.events o WHERE o.attempt_id = e.attempt_id AND o.seq = 9 - e.seq)"
        " WHERE attempt_id = %s AND seq IN (4, 5)",
        attempt_id,
    )


async def _cut_the_tail(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "DELETE FROM checkrein.events WHERE attempt_id = %s AND seq > 9", attempt_id
    )


async def _cut_everything(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner("DELETE FROM checkrein.events WHERE attempt_id = %s", attempt_id)


async def _add_one(store: OpenStore, attempt_id: str) -> None:
    await store.by_owner(
        "INSERT INTO checkrein.events SELECT tenant, attempt_id, seq + 1, seq, 'pause_requested',"
        ' at, \'{"v":1,"type":"pause_requested","by":"eve"}\', hash, sha256(\'x\')'
        " FROM checkrein.events WHERE attempt_id = %s AND seq = 11",
        attempt_id,
    )


async def _take_from_another(store: OpenStore, attempt_id: str) -> None:
    """A true event of another trace in the place of ours."""
    other = await told(store)
    await store.by_owner(
        "UPDATE checkrein.events e SET (payload, at, prev_hash, hash) ="
        " (SELECT o.payload, o.at, o.prev_hash, o.hash FROM checkrein.events o"
        "  WHERE o.attempt_id = %s AND o.seq = e.seq) WHERE attempt_id = %s AND seq = 1",
        other,
        attempt_id,
    )


Tamper = Callable[[OpenStore, str], Awaitable[None]]
CASES: dict[Tamper, list[tuple[int, str]]] = {
    _edit_payload: [(10, "does not match its hash")],
    _edit_one_space: [(4, "does not match its hash")],
    _edit_type: [(5, "does not match its hash")],
    _edit_time: [(1, "does not match its hash")],
    _edit_cause: [(7, "does not match its hash")],
    _edit_with_its_hash: [(7, "does not follow the event before it")],
    _delete_one: [(6, "expected seq 6, found 7")],
    _delete_one_and_close_the_gap: [(6, "does not follow"), (6, "does not match its hash")],
    _swap_two: [(4, "does not follow"), (4, "does not match"), (5, "does not follow")],
    _swap_two_payloads: [(4, "does not match its hash"), (5, "does not match its hash")],
    _cut_the_tail: [(9, "the attempt's head says 11 events")],
    _cut_everything: [(0, "the attempt's head says 11 events")],
    _add_one: [(12, "does not match its hash"), (12, "found 12")],
    _take_from_another: [(1, "does not match its hash"), (2, "does not follow")],
}


@pytest.mark.shows(224, 225)
@pytest.mark.parametrize("tamper", CASES, ids=lambda tamper: tamper.__name__.strip("_"))
async def test_tampering_with_events_is_found(tamper: Tamper, store: OpenStore) -> None:
    attempt_id = await told(store)
    await tamper(store, attempt_id)
    found = await faults(store, attempt_id)
    for seq, problem in CASES[tamper]:
        assert any(f.seq == seq and problem in f.problem for f in found), found


async def test_other_traces_stay_whole_beside_one_that_was_changed(store: OpenStore) -> None:
    attempt_id, other = await told(store), await told(store)
    await _edit_payload(store, attempt_id)
    assert await faults(store, other) == []


async def test_bytes_that_were_changed_are_refused(store: OpenStore) -> None:
    attempt_id = await told(store)
    ref = digest(attempt_id.encode())
    assert await store.events.blob(ref) == attempt_id.encode()
    await store.by_owner("UPDATE checkrein.blobs SET data = data || 'x' WHERE ref = %s", ref)
    with pytest.raises(IntegrityError, match="have changed") as changed:
        await store.events.blob(ref)
    assert changed.value.code == "integrity" and ref in str(changed.value)
    await store.by_owner("DELETE FROM checkrein.blobs WHERE ref = %s", ref)
    with pytest.raises(IntegrityError, match="no bytes stored"):
        await store.events.blob(ref)


async def test_a_chain_goes_on_after_a_read_in_pages(store: OpenStore) -> None:
    attempt_id = await store.begun()
    await store.events.append(attempt_id, [PauseRequested(by="bob")] * 30, fence=None)
    paged = [
        event
        for after in range(0, 40, 8)
        for event in await store.events.read(attempt_id, after=after, limit=8)
    ]
    position = await store.records.position(attempt_id)
    assert check_chain(paged, position.head_seq, position.head_hash) == []
    assert check_chain(paged[:-1], position.head_seq, position.head_hash) != []
