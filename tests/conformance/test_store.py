"""The Postgres store and its leases keep the promises of their ports."""

from collections.abc import AsyncIterator, Iterator

import pytest
from databases import fresh_database
from open_store import opened_store

from checkrein.testing.conformance import event_store_suite, leases_suite
from checkrein.testing.conformance.event_store_suite import Stored


@pytest.fixture(scope="module")
def module_url(server_url: str) -> Iterator[str]:
    """One database for all checks: each keeps to attempts of its own."""
    with fresh_database(server_url) as url:
        yield url


@pytest.fixture
async def stored(module_url: str) -> AsyncIterator[Stored]:
    """The adapters under test."""
    async with opened_store(module_url, size=8, ttl_s=leases_suite.SHORT_TTL_S) as opened:
        yield Stored(opened.events, opened.leases)


@pytest.mark.shows(236)
@pytest.mark.parametrize("check", event_store_suite.CHECKS)
async def test_event_store_keeps_the_promises_of_the_port(check: str, stored: Stored) -> None:
    await event_store_suite.CHECKS[check](stored)


@pytest.mark.parametrize("check", leases_suite.CHECKS)
async def test_leases_keep_the_promises_of_the_port(check: str, stored: Stored) -> None:
    await leases_suite.CHECKS[check](stored)
