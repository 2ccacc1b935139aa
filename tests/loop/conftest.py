"""A payment service for whole runs: one process for a module, a fresh account for each test."""

import uuid
from collections.abc import AsyncGenerator

import httpx
import pytest
import pytest_asyncio
from payment_account import Account

from checkrein.testing.payment_server.process import running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[str]:
    """One payment service for the module."""
    async with running(tmp_path_factory.mktemp("payments")) as url:
        yield url


@pytest.fixture
async def bank(service: str) -> AsyncGenerator[Account]:
    """A fresh account at it."""
    async with httpx.AsyncClient(base_url=service, trust_env=False) as client:
        yield Account(service, uuid.uuid4().hex, client)
