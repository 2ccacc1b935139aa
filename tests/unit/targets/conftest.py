"""One payment service for each module, and a fresh account at it for each test."""

import uuid
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from payment_account import Account

from checkrein.testing.payment_server.process import running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """One service for the module; each test has a namespace of its own."""
    async with running(tmp_path_factory.mktemp("payments")) as url:
        yield url


@pytest.fixture
async def account(service: str) -> AsyncIterator[Account]:
    """A fresh namespace."""
    async with httpx.AsyncClient(base_url=service, trust_env=False) as client:
        yield Account(service, uuid.uuid4().hex, client)
