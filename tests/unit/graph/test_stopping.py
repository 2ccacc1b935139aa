"""Stop signals and outages by themselves: what is broken off when, and how long is waited."""

import asyncio
import time

import pytest

from checkrein.errors import LeaseLostError, StoreError
from checkrein.graph.outage import Outage
from checkrein.nodes.stopping import Stop, WorkStopped
from checkrein.ports.leases import Word

GONE = StoreError("The database cannot be used.", op="test", retryable=True)


async def slow(ended: list[str], seconds: float = 30.0) -> str:
    """Work that notes how it ended."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        ended.append("broken off")
        raise
    return "done"


async def test_work_that_nobody_stops_is_done() -> None:
    """Protects the ordinary run: nothing of all this changes it, its faults pass through."""
    stop = Stop()
    assert await stop.race(slow([], 0.01)) == "done"
    assert not stop.asked

    async def faulty() -> None:
        raise GONE

    with pytest.raises(StoreError):
        await stop.race(faulty())


@pytest.mark.parametrize(
    ("word", "error"),
    [
        (Word.CANCEL, WorkStopped),
        (Word.CUT, LeaseLostError),
        (Word.TAKEN, LeaseLostError),
    ],
)
async def test_a_word_breaks_it_off_at_once(word: Word, error: type[Exception]) -> None:
    """Protects cancel, and owners that are none any more: their long work ends now."""
    stop, ended = Stop(), list[str]()
    asyncio.get_running_loop().call_later(0.05, stop.hear, word)
    with pytest.raises(error):
        await asyncio.wait_for(stop.race(slow(ended)), 5)
    assert ended == ["broken off"]
    with pytest.raises(error):
        await stop.race(slow(ended))
    assert ended == ["broken off"], "what comes later does not even begin"


async def test_a_pause_lets_it_finish() -> None:
    """Protects work that was paid for: a pause waits for it, and lets nothing new begin."""
    stop = Stop()
    asyncio.get_running_loop().call_later(0.01, stop.hear, Word.PAUSE)
    assert await stop.race(slow([], 0.1)) == "done"
    assert stop.asked


async def test_a_drain_gives_its_grace_once() -> None:
    """Protects the end in time: the grace counts from the signal, whatever begins after it."""
    stop, ended = Stop(), list[str]()
    asyncio.get_running_loop().call_later(0.01, stop.drain, 0.3)
    assert await stop.race(slow([], 0.1)) == "done"
    stop.drain(60)
    began = time.monotonic()
    with pytest.raises(WorkStopped):
        await stop.race(slow(ended))
    assert time.monotonic() - began < 5
    assert ended == ["broken off"]


async def test_what_ends_all_the_same_counts() -> None:
    """Protects an answer that arrives in the very moment of the stop."""
    stop = Stop()

    async def stubborn() -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "done"
        return "late"

    asyncio.get_running_loop().call_later(0.05, stop.hear, Word.CANCEL)
    assert await stop.race(stubborn()) == "done"


async def test_who_is_cancelled_from_outside_takes_its_work_along() -> None:
    """Protects Ctrl-C: nothing is left running behind it."""
    ended = list[str]()
    task = asyncio.create_task(Stop().race(slow(ended)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["broken off"]


async def test_the_limit_counts_all_the_waiting() -> None:
    """Protects against a store that comes and goes for ever: the pauses add up."""
    outage, given_up = Outage(1.0), asyncio.Event()
    began = time.monotonic()
    with pytest.raises(StoreError):
        while True:
            await outage.wait(GONE, given_up)
            outage.ended()
    assert 0.9 < time.monotonic() - began < 5


async def test_who_drains_does_not_wait() -> None:
    """Protects the end in time: a stop does not wait for a store that is gone."""
    outage, given_up = Outage(60.0), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, given_up.set)
    began = time.monotonic()
    with pytest.raises(StoreError):
        while True:
            await outage.wait(GONE, given_up)
    assert time.monotonic() - began < 5
