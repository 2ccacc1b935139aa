"""Ownership across processes: killed, frozen and woken owners, and how long each held."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from open_store import OpenStore, opened_store

from checkrein.contracts.budget import Budget
from checkrein.contracts.event import check_chain
from checkrein.errors import BusyError
from checkrein.testing.conformance.story import asked

CHILD = Path(__file__).parents[1] / "support" / "lease_child.py"
LONG_S = 60.0
SHORT_S = 0.8


class Owner:
    """Another process that owns an attempt."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def heard(self) -> dict[str, Any]:
        """Its next line."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 30)
        said: dict[str, Any] = json.loads(line)
        return said

    async def told(self, order: str) -> dict[str, Any]:
        """Tell it something, and return what it answers."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n".encode())
        await self._process.stdin.drain()
        return await self.heard()

    def signalled(self, number: signal.Signals) -> None:
        """Freeze, wake or kill it."""
        os.kill(self._process.pid, number)


@asynccontextmanager
async def owner_of(store: OpenStore, attempt_id: str, ttl_s: float) -> AsyncGenerator[Owner]:
    """A process that owns the attempt; it is killed at the end at the latest."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CHILD),
        store.database.login,
        attempt_id,
        str(ttl_s),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Owner(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
async def short(shared_url: str) -> AsyncGenerator[OpenStore]:
    """The store with leases that live for less than a second."""
    async with opened_store(shared_url, ttl_s=SHORT_S) as opened:
        yield opened


async def test_a_killed_owner_is_followed_at_once(store: OpenStore) -> None:
    """Its lease would live for a minute; its lock died with it."""
    attempt_id = await store.begun()
    async with owner_of(store, attempt_id, LONG_S) as owner:
        first = await owner.heard()
        assert (await owner.told("write"))["found"] is None
        with pytest.raises(BusyError, match=attempt_id):
            async with store.leases.hold(attempt_id):
                raise AssertionError("two owners")
        owner.signalled(signal.SIGKILL)
        # The server notices in its own time that the socket was closed, not in the lease's.
        async with asyncio.timeout(10), store.leases.hold(attempt_id, wait_s=10) as lease:
            assert lease.fence == first["fence"] + 1
            await lease.events.append(attempt_id, asked(), fence=lease.fence)
    events = await store.events.read(attempt_id)
    position = await store.records.position(attempt_id)
    assert check_chain(events, position.head_seq, position.head_hash) == []


@pytest.mark.shows(113)
async def test_a_frozen_owner_is_replaced_and_writes_nothing_when_it_wakes(
    short: OpenStore,
) -> None:
    attempt_id = await short.begun()
    async with owner_of(short, attempt_id, SHORT_S) as owner:
        first = await owner.heard()
        assert (await owner.told("write"))["found"] is None
        before = len(await short.events.read(attempt_id))
        owner.signalled(signal.SIGSTOP)
        until = "SELECT lease_until FROM checkrein.attempts WHERE attempt_id = %s"
        expires = await short.value(until, attempt_id)
        async with short.leases.hold(attempt_id, wait_s=20) as lease:
            assert lease.fence == first["fence"] + 1
            taken = "SELECT lease_seen FROM checkrein.attempts WHERE attempt_id = %s"
            assert await short.value(taken, attempt_id) >= expires
            owner.signalled(signal.SIGCONT)
            assert (await owner.told("own")) == {"found": False}
            for order in ("write", "write_elsewhere"):
                assert await owner.told(order) == {"error": "LeaseLostError", "code": "lease_lost"}
            assert len(await short.events.read(attempt_id)) == before
            assert await lease.still_owner()
            await lease.events.append(attempt_id, asked(), fence=lease.fence)
            # Giving back what it has lost harms nobody, and is no error.
            assert (await owner.told("end")) == {"ended": True}
            assert await lease.still_owner()


async def test_an_owner_that_was_only_slow_goes_on(short: OpenStore) -> None:
    """Frozen past its lease, and nobody came: its next heartbeat makes it the owner again."""
    attempt_id = await short.begun()
    async with owner_of(short, attempt_id, SHORT_S) as owner:
        await owner.heard()
        owner.signalled(signal.SIGSTOP)
        await asyncio.sleep(SHORT_S * 1.5)
        assert not (await short.records.position(attempt_id)).lease_alive
        owner.signalled(signal.SIGCONT)
        for _ in range(200):
            if (await short.records.position(attempt_id)).lease_alive:
                break
            await asyncio.sleep(0.05)
        assert (await owner.told("write"))["found"] is None
        assert (await owner.told("end")) == {"ended": True}


async def test_a_session_that_is_cut_is_an_owner_no_more(store: OpenStore) -> None:
    attempt_id = await store.begun()
    async with owner_of(store, attempt_id, LONG_S) as owner:
        first = await owner.heard()
        await store.by_owner(
            "SELECT pg_terminate_backend(lease_backend, 5000) FROM checkrein.attempts"
            " WHERE attempt_id = %s",
            attempt_id,
        )
        async with store.leases.hold(attempt_id, wait_s=5) as lease:
            assert lease.fence == first["fence"] + 1
            assert (await owner.told("own")) == {"found": False}
            assert (await owner.told("write"))["error"] == "LeaseLostError"


async def test_the_time_that_an_owner_holds_is_metered(short: OpenStore) -> None:
    """Whole seconds, rounded up, while somebody owns the attempt, and only then."""
    attempt_id = await short.begun()

    async def held() -> float:
        query = "SELECT extract(epoch FROM held)::float8 FROM checkrein.attempts"
        found = await short.value(query + " WHERE attempt_id = %s", attempt_id)
        return float(found)

    async def spent() -> int:
        return (await short.records.position(attempt_id)).budgets[Budget.WALL_TIME_S].spent

    assert await spent() == 0
    async with short.leases.hold(attempt_id):
        await asyncio.sleep(1.2)
        assert await spent() >= 2
    first = await held()
    assert 1.2 <= first < 30
    spent_then = await spent()
    await asyncio.sleep(0.5)
    assert (await held(), await spent()) == (first, spent_then)
    async with short.leases.hold(attempt_id):
        await asyncio.sleep(0.3)
    assert first + 0.3 <= await held() < first + 30


async def test_a_dead_owner_is_charged_until_its_lease_would_have_ended(
    short: OpenStore,
) -> None:
    attempt_id = await short.begun()
    await short.fence(attempt_id, ttl="300 milliseconds")
    await asyncio.sleep(0.7)
    await short.fence(attempt_id, ttl="10 milliseconds")
    held = await short.value(
        "SELECT extract(epoch FROM held)::float8 FROM checkrein.attempts WHERE attempt_id = %s",
        attempt_id,
    )
    assert 0.299 <= float(held) <= 0.301


async def test_the_refusal_says_who_and_what_to_do(store: OpenStore) -> None:
    attempt_id = await store.begun()
    async with store.leases.hold(attempt_id):
        with pytest.raises(BusyError) as busy:
            async with store.leases.hold(attempt_id):
                raise AssertionError("two owners")
    error = busy.value
    assert (error.code, error.op, error.retryable) == ("attempt_busy", "lease.hold", True)
    assert error.context == {"attempt_id": attempt_id}
    assert attempt_id in str(error) and "checkrein pause" in str(error)
