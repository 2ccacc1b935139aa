"""A store for each test; its database is shared by tests that leave the rows of others alone."""

from collections.abc import AsyncIterator, Iterator

import pytest
from databases import fresh_database
from open_store import OpenStore, opened_store


@pytest.fixture(scope="session")
def shared_url(server_url: str) -> Iterator[str]:
    """A database for tests that keep to attempts of their own."""
    with fresh_database(server_url) as url:
        yield url


@pytest.fixture
async def store(shared_url: str) -> AsyncIterator[OpenStore]:
    """The store, on the shared database."""
    async with opened_store(shared_url) as opened:
        yield opened


@pytest.fixture
async def own_store(database_url: str) -> AsyncIterator[OpenStore]:
    """The store, on a database that the test may do anything with."""
    async with opened_store(database_url) as opened:
        yield opened
