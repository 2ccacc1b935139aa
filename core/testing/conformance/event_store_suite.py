"""What every EventStore must do, as checks that run against any adapter of the port.

An adapter's tests open it on an empty database together with its Leases; each check of CHECKS is
awaited with both and raises AssertionError with what went wrong. Checks use attempts of their own,
so that they may share a database.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from checkrein.contracts import ids
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import Budget, BudgetLimits
from checkrein.contracts.codec import digest
from checkrein.contracts.event import (
    GENESIS,
    ActionProposed,
    AttemptEnded,
    BudgetReserved,
    CancelRequested,
    PauseRequested,
    Payload,
    RetryScheduled,
    check_chain,
)
from checkrein.errors import (
    BudgetExceededError,
    CheckreinError,
    ConflictError,
    InputError,
    IntegrityError,
    LeaseLostError,
)
from checkrein.ports.event_store import EventStore
from checkrein.ports.leases import Leases
from checkrein.testing.conformance.story import (
    action_of,
    asked,
    authorized,
    bound,
    contract_of,
    decided,
    executing,
    opening,
    replied,
)


@dataclass(frozen=True)
class Stored:
    """What a check is given: a store, and the leases under whose fences it takes events."""

    events: EventStore
    leases: Leases


Check = Callable[[Stored], Awaitable[None]]

_Fault = TypeVar("_Fault", bound=CheckreinError)


async def attempts_begin_once(stored: Stored) -> None:
    """The first events are there after start; a second start of the same attempt is refused."""
    attempt_id = await _begun(stored)
    found = await stored.events.read(attempt_id)
    _same([event.type for event in found], ["task_created", "attempt_started"], "first events")
    await _refused(ConflictError, stored.events.start(opening(attempt_id)))


async def attempts_need_their_task(stored: Stored) -> None:
    """An attempt of a task that is not there is refused, and leaves nothing."""
    attempt_id = ids.new_attempt_id()
    start = stored.events.start(opening(attempt_id, task_id=ids.new_task_id(), number=2))
    await _refused(InputError, start)
    _same(await stored.events.read(attempt_id), [], "events of a refused attempt")


async def contracts_come_back(stored: Stored) -> None:
    """The contract that an attempt was started under is kept with it."""
    attempt_id, contract = ids.new_attempt_id(), contract_of("acme", BudgetLimits(steps=3))
    await stored.events.start(opening(attempt_id, contract=contract))
    _same(await stored.events.contract(attempt_id), contract, "the contract")
    await _refused(InputError, stored.events.contract(ids.new_attempt_id()))


async def events_are_numbered_caused_and_chained(stored: Stored) -> None:
    """seq counts from 1 without gaps, each event but the first names an earlier one, all hash."""
    attempt_id = await _begun(stored)
    action = action_of(attempt_id)
    async with stored.leases.hold(attempt_id) as lease:
        await stored.events.append(attempt_id, asked(), fence=lease.fence)
        await stored.events.append(attempt_id, replied(), fence=lease.fence, blobs=[b"{}"])
        judged: list[Payload] = [ActionProposed(action=action), decided(action)]
        await stored.events.append(attempt_id, judged, fence=lease.fence)
    found = await stored.events.read(attempt_id)
    _same([event.seq for event in found], list(range(1, 10)), "seq")
    for event in found:
        _same(event.event_id, f"{attempt_id}/{event.seq}", "event_id")
        _same(event.read().type, event.type, "the payload's type")
        earlier = {other.event_id for other in found if other.seq < event.seq}
        caused = event.cause_id is None if event.seq == 1 else event.cause_id in earlier
        _must(caused, f"event {event.seq} names {event.cause_id} as its cause")
    _same(found[0].prev_hash, GENESIS, "prev_hash of the first event")
    _same(check_chain(found, 9, found[-1].hash), [], "faults of the chain")


async def reading_goes_on_from_a_cursor(stored: Stored) -> None:
    """`after` and `limit` page through the events without loss."""
    attempt_id = await _begun(stored)
    await stored.events.append(attempt_id, [PauseRequested(by="bob")] * 5, fence=None)
    whole = await stored.events.read(attempt_id)
    paged = [
        event
        for after in range(0, 8, 3)
        for event in await stored.events.read(attempt_id, after=after, limit=3)
    ]
    _same(paged, whole, "events page by page")
    _same(await stored.events.read(attempt_id, after=7), [], "events after the last")


async def payload_text_is_kept(stored: Stored) -> None:
    """Text of any language, quotes, newlines and null in arguments come back as they were."""
    attempt_id = await _begun(stored)
    said = 'ä ￥12.5 \U0001f600 "q" \\u0000 \n\t'
    await stored.events.append(attempt_id, [CancelRequested(by="bob", reason=said)], fence=None)
    event = (await stored.events.read(attempt_id))[-1]
    _same(event.read(), CancelRequested(by="bob", reason=said), "the payload")


async def appending_is_all_or_nothing(stored: Stored) -> None:
    """One event that is refused takes those before it, and their bytes, along."""
    attempt_id = await _begun(stored)
    raw = attempt_id.encode()
    async with stored.leases.hold(attempt_id) as lease:
        bad = [*asked(), *replied(1, raw), *replied(1, raw)]
        append = stored.events.append(attempt_id, bad, fence=lease.fence, blobs=[raw])
        await _refused(ConflictError, append)
        _same(len(await stored.events.read(attempt_id)), 2, "events after a refusal")
        await _refused(IntegrityError, stored.events.blob(digest(raw)))
        await stored.events.append(attempt_id, bad[:5], fence=lease.fence, blobs=[raw])


async def appending_tells_where_the_attempt_stands(stored: Stored) -> None:
    """append_and_look stores what append would, and its answer holds the last of it."""
    attempt_id = await _begun(stored)
    async with stored.leases.hold(attempt_id) as lease:
        position = await stored.events.append_and_look(attempt_id, asked(), fence=lease.fence)
        _same(position.head_seq, 5, "head_seq of the answer")
        _same(position.turn and position.turn.status, "REQUESTED", "the turn of the answer")
        again = stored.events.append_and_look(attempt_id, asked(), fence=lease.fence + 1)
        await _refused(LeaseLostError, again)
    found = await stored.events.read(attempt_id)
    _same(found[-1].hash, position.head_hash, "head_hash of the answer")


async def writing_needs_the_newest_fence(stored: Stored) -> None:
    """No fence, a fence of before, and one given back: each is refused."""
    attempt_id = await _begun(stored)
    await _refused(ConflictError, stored.events.append(attempt_id, asked(), fence=None))
    async with stored.leases.hold(attempt_id) as lease:
        old = lease.fence
        await _refused(LeaseLostError, stored.events.append(attempt_id, asked(), fence=old + 1))
    await _refused(LeaseLostError, stored.events.append(attempt_id, asked(), fence=old))
    async with stored.leases.hold(attempt_id) as lease:
        await _refused(LeaseLostError, stored.events.append(attempt_id, asked(), fence=old))
        await stored.events.append(attempt_id, asked(), fence=lease.fence)


async def requests_need_no_fence(stored: Stored) -> None:
    """People may ask for a pause or an end while another process owns the attempt."""
    attempt_id = await _begun(stored)
    async with stored.leases.hold(attempt_id) as lease:
        await stored.events.append(attempt_id, [PauseRequested(by="bob")], fence=None)
        await stored.events.append(attempt_id, asked(), fence=lease.fence)
        mixed: list[Payload] = [PauseRequested(by="bob"), *replied()]
        await _refused(ConflictError, stored.events.append(attempt_id, mixed, fence=None))


async def writers_at_once_leave_no_gap(stored: Stored) -> None:
    """Requests from outside and an owner's events interleave; each gets a number of its own."""
    attempt_id = await _begun(stored)
    retry = RetryScheduled(turn=1, what="model", try_number=2, delay_s=0.5, error_type="busy")
    async with stored.leases.hold(attempt_id) as lease:
        await asyncio.gather(
            *(
                stored.events.append(attempt_id, [PauseRequested(by=f"p{n}")] * 2, fence=None)
                for n in range(10)
            ),
            *(stored.events.append(attempt_id, [retry], fence=lease.fence) for _ in range(10)),
        )
    found = await stored.events.read(attempt_id)
    _same([event.seq for event in found], list(range(1, 33)), "seq")
    _same(check_chain(found, 32, found[-1].hash), [], "faults of the chain")


async def ended_attempts_take_nothing(stored: Stored) -> None:
    """After the end neither an owner nor a request adds anything."""
    attempt_id = await _begun(stored)
    end = AttemptEnded(status=AttemptStatus.FAILED)
    async with stored.leases.hold(attempt_id) as lease:
        after: list[Payload] = [end, PauseRequested(by="bob")]
        await _refused(ConflictError, stored.events.append(attempt_id, after, fence=lease.fence))
        await stored.events.append(attempt_id, [end], fence=lease.fence)
        await _refused(ConflictError, stored.events.append(attempt_id, asked(), fence=lease.fence))
    request = [CancelRequested(by="bob", reason="late")]
    await _refused(ConflictError, stored.events.append(attempt_id, request, fence=None))
    _same(len(await stored.events.read(attempt_id)), 3, "events of an ended attempt")


async def budgets_hold(stored: Stored) -> None:
    """A reservation that does not fit is refused, whatever else is appended with it."""
    attempt_id = ids.new_attempt_id()
    contract = contract_of(budgets=BudgetLimits(tool_calls=2))
    await stored.events.start(opening(attempt_id, contract=contract))
    two = BudgetReserved(turn=1, amounts={Budget.TOOL_CALLS: 2})
    one = BudgetReserved(turn=1, amounts={Budget.TOOL_CALLS: 1})
    async with stored.leases.hold(attempt_id) as lease:
        append = stored.events.append(attempt_id, [two, one], fence=lease.fence)
        error = await _refused(BudgetExceededError, append)
        _same(error.context.get("detail"), "tool_calls", "the budget that the error names")
        await stored.events.append(attempt_id, [two], fence=lease.fence)


async def keys_are_bound_once(stored: Stored) -> None:
    """A second intent on a key is refused, in the same attempt and from another one."""
    first, second = await _begun(stored), await _begun(stored)
    key = f"invoice-{first}"
    async with stored.leases.hold(first) as lease:
        action = action_of(first, key=key)
        await stored.events.append(first, authorized(action), fence=lease.fence)
        await stored.events.append(first, [bound(action)], fence=lease.fence)
        again = stored.events.append(first, [bound(action)], fence=lease.fence)
        _same((await _refused(ConflictError, again)).code, "key_bound", "the error's code")
    async with stored.leases.hold(second) as lease:
        action = action_of(second, key=key)
        await stored.events.append(second, authorized(action), fence=lease.fence)
        again = stored.events.append(second, [bound(action)], fence=lease.fence)
        _same((await _refused(ConflictError, again)).code, "key_bound", "the error's code")


async def nothing_is_sent_once_cancelled(stored: Stored) -> None:
    """EXECUTING is refused as soon as a cancel is on record."""
    attempt_id = await _begun(stored)
    action = action_of(attempt_id)
    async with stored.leases.hold(attempt_id) as lease:
        await stored.events.append(attempt_id, authorized(action), fence=lease.fence)
        request = CancelRequested(by="bob", reason="enough")
        await stored.events.append(attempt_id, [request], fence=None)
        sent: list[Payload] = [bound(action), executing(action, lease.fence)]
        refused = stored.events.append(attempt_id, sent, fence=lease.fence)
        _same((await _refused(ConflictError, refused)).code, "cancelled", "the error's code")


async def bytes_are_kept_under_their_digest(stored: Stored) -> None:
    """Any bytes come back; the same bytes may be stored again; others are not there."""
    attempt_id = await _begun(stored)
    data = [bytes(range(256)) + attempt_id.encode(), b""]
    for _ in range(2):
        await stored.events.append(attempt_id, [PauseRequested(by="b")], fence=None, blobs=data)
    for item in data:
        _same(await stored.events.blob(digest(item)), item, "stored bytes")
    await _refused(IntegrityError, stored.events.blob(digest(b"never stored")))


async def unknown_attempts_are_named(stored: Stored) -> None:
    """Events for an attempt that is not there are refused as unusable input."""
    append = stored.events.append(ids.new_attempt_id(), [PauseRequested(by="bob")], fence=None)
    await _refused(InputError, append)


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        attempts_begin_once,
        attempts_need_their_task,
        contracts_come_back,
        events_are_numbered_caused_and_chained,
        reading_goes_on_from_a_cursor,
        payload_text_is_kept,
        appending_is_all_or_nothing,
        appending_tells_where_the_attempt_stands,
        writing_needs_the_newest_fence,
        requests_need_no_fence,
        writers_at_once_leave_no_gap,
        ended_attempts_take_nothing,
        budgets_hold,
        keys_are_bound_once,
        nothing_is_sent_once_cancelled,
        bytes_are_kept_under_their_digest,
        unknown_attempts_are_named,
    )
}
"""Every check by its name."""


async def _begun(stored: Stored) -> str:
    attempt_id = ids.new_attempt_id()
    await stored.events.start(opening(attempt_id))
    return attempt_id


async def _refused(kind: type[_Fault], call: Awaitable[object]) -> _Fault:
    try:
        await call
    except kind as error:
        return error
    raise AssertionError(f"nothing raised a {kind.__name__}")


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)


def _same(found: object, expected: object, what: str) -> None:
    _must(found == expected, f"{what}: {found!r:.300} is not {expected!r:.300}")
