"""What an owner hears while it holds an attempt, and what its heart leaves alone."""

import asyncio
from collections.abc import Callable

from open_store import OpenStore

from checkrein.contracts.event import CancelRequested, PauseRequested
from checkrein.ports.leases import Word

SOON_S = 5.0
"""A second until it is heard, and the rest for a machine that runs other tests meanwhile."""


class Heard:
    """A listener that notes what it is told."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self._told = asyncio.Event()

    def __call__(self, word: Word) -> None:
        """Take a word."""
        self.words.append(word)
        self._told.set()

    async def until(self, holds: Callable[[list[Word]], bool]) -> None:
        """Wait until the words are as they should be."""
        async with asyncio.timeout(SOON_S):
            while not holds(self.words):
                self._told.clear()
                await self._told.wait()


async def test_a_request_is_heard_and_heard_again(store: OpenStore) -> None:
    """Protects cancel and pause of work that takes long: its owner learns of them by itself."""
    attempt_id = await store.begun()
    heard = Heard()
    async with store.leases.hold(attempt_id, heard=heard):
        await store.events.append(attempt_id, [PauseRequested(by="alice")], fence=None)
        await heard.until(lambda words: words == [Word.PAUSE])
        stop = CancelRequested(by="alice", reason="enough")
        await store.events.append(attempt_id, [stop], fence=None)
        await heard.until(lambda words: words[-2:] == [Word.CANCEL, Word.CANCEL])


async def test_a_session_that_is_cut_is_heard_of(store: OpenStore) -> None:
    """Protects long work of an owner that is none any more: it is told without writing."""
    attempt_id = await store.begun()
    heard = Heard()
    async with store.leases.hold(attempt_id, heard=heard):
        await store.by_owner(
            "SELECT pg_terminate_backend(lease_backend, 5000) FROM checkrein.attempts"
            " WHERE attempt_id = %s",
            attempt_id,
        )
        await heard.until(lambda words: words == [Word.CUT])


async def test_another_owner_is_heard_of(store: OpenStore) -> None:
    """Protects against two at work: who was replaced while it held its session is told so."""
    attempt_id = await store.begun()
    heard = Heard()
    async with store.leases.hold(attempt_id, heard=heard):
        await store.by_owner(
            "UPDATE checkrein.attempts SET lease_fence = lease_fence + 1 WHERE attempt_id = %s",
            attempt_id,
        )
        await heard.until(lambda words: words == [Word.TAKEN])


async def test_the_heart_keeps_out_of_a_transaction(store: OpenStore) -> None:
    """Protects the lease: a transaction that fails takes no heartbeat with it."""
    attempt_id = await store.begun()
    heard = Heard()
    async with store.leases.hold(attempt_id, heard=heard) as lease:
        try:
            async with lease.transaction():
                await store.events.append(attempt_id, [PauseRequested(by="alice")], fence=None)
                await asyncio.sleep(1.5)
                assert heard.words == []
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        await heard.until(lambda words: words == [Word.PAUSE])
        assert await lease.still_owner()
