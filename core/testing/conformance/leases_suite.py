"""What every Leases must do, as checks that run against any adapter of the port.

An adapter's tests open it together with its EventStore, which makes the attempts to be owned. The
leases must be given a short time to live, SHORT_TTL_S: some checks outlive it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from checkrein.contracts import ids
from checkrein.errors import BusyError, CheckreinError, InputError
from checkrein.testing.conformance.event_store_suite import Stored
from checkrein.testing.conformance.story import asked, opening

SHORT_TTL_S = 0.6
"""Time to live, in seconds, of the leases under test."""

Check = Callable[[Stored], Awaitable[None]]


async def one_owner_at_a_time(stored: Stored) -> None:
    """A second owner is refused at once, with the attempt's id and what to do."""
    attempt_id = await _begun(stored)
    async with stored.leases.hold(attempt_id) as lease:
        _same(lease.attempt_id, attempt_id, "the lease's attempt")
        error = await _busy(stored, attempt_id)
        _must(attempt_id in str(error) and error.retryable, f"the error says: {error}")
        _must(await lease.still_owner(), "the owner lost its lease to one that was refused")


async def attempts_are_owned_apart(stored: Stored) -> None:
    """Owning one attempt says nothing about another."""
    first, second = await _begun(stored), await _begun(stored)
    async with stored.leases.hold(first) as one, stored.leases.hold(second) as two:
        _must(await one.still_owner() and await two.still_owner(), "one of two owners is none")


async def fences_grow(stored: Stored) -> None:
    """Every owner gets a higher fence than all before it; a former owner is owner no more."""
    attempt_id = await _begun(stored)
    fences: list[int] = []
    for _ in range(3):
        async with stored.leases.hold(attempt_id) as lease:
            fences.append(lease.fence)
        _must(not await lease.still_owner(), "a lease that was given back still owns")
    _must(fences == sorted(set(fences)), f"the fences are {fences}")


async def owners_write_on_a_session_of_their_own(stored: Stored) -> None:
    """The lease brings a store and records that work while it is held, and not after it."""
    attempt_id = await _begun(stored)
    async with stored.leases.hold(attempt_id) as lease:
        position = await lease.events.append_and_look(attempt_id, asked(), fence=lease.fence)
        _same(position, await lease.records.position(attempt_id), "where the attempt stands")
        _must(position.lease_alive and position.turn is not None, f"it stands at {position!r}")
    try:
        await lease.events.append(attempt_id, asked(), fence=lease.fence)
    except CheckreinError:
        return
    raise AssertionError("an owner wrote after it had given the attempt back")


async def leases_are_given_back(stored: Stored) -> None:
    """The end of the context, with or without an error, lets the next owner in at once."""
    attempt_id = await _begun(stored)
    try:
        async with stored.leases.hold(attempt_id):
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    async with stored.leases.hold(attempt_id) as lease:
        _must(await lease.still_owner(), "the next owner owns nothing")


async def a_heart_beats(stored: Stored) -> None:
    """An owner that lives keeps its lease far beyond the time to live, and its fence writes."""
    attempt_id = await _begun(stored)
    async with stored.leases.hold(attempt_id) as lease:
        for _ in range(4):
            await asyncio.sleep(SHORT_TTL_S / 2)
            await _busy(stored, attempt_id)
        _must(await lease.still_owner(), "the lease ended although its owner lives")
        await stored.events.append(attempt_id, asked(), fence=lease.fence)


async def waiting_ends_in_ownership(stored: Stored) -> None:
    """Whoever waits long enough becomes the owner; who does not is told after its time."""
    attempt_id = await _begun(stored)
    order: list[str] = []

    async def second() -> None:
        async with stored.leases.hold(attempt_id, wait_s=5):
            order.append("second")

    async with stored.leases.hold(attempt_id):
        waiting = asyncio.create_task(second())
        await _busy(stored, attempt_id, wait_s=0.3)
        order.append("first")
    await waiting
    _same(order, ["first", "second"], "the order of owners")


async def of_many_one_wins(stored: Stored) -> None:
    """Of ten that want it at once, exactly one becomes the owner."""
    attempt_id = await _begun(stored)
    won: list[int] = []
    done = asyncio.Event()

    async def contend() -> None:
        try:
            async with stored.leases.hold(attempt_id) as lease:
                won.append(lease.fence)
                await done.wait()
        except BusyError:
            lost.append(attempt_id)
            if len(lost) == 9:
                done.set()

    lost: list[str] = []
    await asyncio.wait_for(asyncio.gather(*(contend() for _ in range(10))), 30)
    _same((len(won), len(lost)), (1, 9), "winners and losers")


async def unknown_attempts_are_named(stored: Stored) -> None:
    """There is nothing to own of an attempt that is not there."""
    try:
        async with stored.leases.hold(ids.new_attempt_id()):
            raise AssertionError("an attempt that is not there was owned")
    except InputError:
        pass


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        one_owner_at_a_time,
        attempts_are_owned_apart,
        fences_grow,
        owners_write_on_a_session_of_their_own,
        leases_are_given_back,
        a_heart_beats,
        waiting_ends_in_ownership,
        of_many_one_wins,
        unknown_attempts_are_named,
    )
}
"""Every check by its name."""


async def _begun(stored: Stored) -> str:
    attempt_id = ids.new_attempt_id()
    await stored.events.start(opening(attempt_id))
    return attempt_id


async def _busy(stored: Stored, attempt_id: str, *, wait_s: float = 0.0) -> BusyError:
    try:
        async with stored.leases.hold(attempt_id, wait_s=wait_s):
            raise AssertionError("two own one attempt")
    except BusyError as error:
        return error


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)


def _same(found: object, expected: object, what: str) -> None:
    _must(found == expected, f"{what}: {found!r:.300} is not {expected!r:.300}")
