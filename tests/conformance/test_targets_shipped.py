"""The targets that ship keep what they declare, by the suite that anybody may run on theirs."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from shop_table import DECLARED, ONE, OTHER, opened_shop

from checkrein.adapters.payment_target import payments
from checkrein.adapters.sql_target import SqlRow, SqlRowWithReceipt
from checkrein.checkpointer import server
from checkrein.checkpointer.transaction import PostgresTransaction
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.testing.conformance import target_suite
from checkrein.testing.conformance.target import Target
from checkrein.testing.payment_server.process import running

CHARGE = {"amount": 500, "currency": "EUR", "to": "alice"}


async def kept(source: Any) -> None:
    """Fail on whatever does not hold; a crash needs a module of its own and is shown elsewhere."""
    _, plan = await target_suite.plan_of(source)
    made = [verdict async for verdict in target_suite.verdicts(source, plan)]
    assert [verdict for verdict in made if verdict.ok is False] == []
    assert sum(verdict.ok is True for verdict in made) >= len(made) - 2


@pytest.mark.parametrize(
    ("guarantee", "lookup"),
    [
        (Guarantee.ATOMIC_KEY, Lookup.AUTHORITATIVE),
        (Guarantee.ATOMIC_KEY, Lookup.NONE),
        (Guarantee.NONE, Lookup.AUTHORITATIVE),
        (Guarantee.NONE, Lookup.NONE),
    ],
)
async def test_payments_keep_what_they_declare(
    guarantee: Guarantee, lookup: Lookup, tmp_path: Path
) -> None:
    """Protects the ledger, whose path through a payment is picked by the declaration."""
    async with running(tmp_path) as url, httpx.AsyncClient(base_url=url, trust_env=False) as client:

        @asynccontextmanager
        async def fresh() -> AsyncGenerator[Target]:
            name = uuid.uuid4().hex

            async def count() -> int:
                return int((await client.get(f"/{name}/count")).json()["payments"])

            async with payments(url, name, guarantee=guarantee, lookup=lookup) as charge:
                yield Target(charge, CHARGE, {**CHARGE, "amount": 7}, count=count)

        await kept(fresh)


@pytest.mark.parametrize("kind", [SqlRow, SqlRowWithReceipt])
async def test_rows_keep_what_they_declare(
    kind: type[SqlRow] | type[SqlRowWithReceipt], database_url: str
) -> None:
    """Protects the same for a row, by a swap and together with its receipt."""
    app = server.by_url(database_url).app

    @asynccontextmanager
    async def transaction() -> AsyncGenerator[PostgresTransaction]:
        async with await AsyncConnection[DictRow].connect(app, row_factory=dict_row) as connection:
            yield PostgresTransaction(connection)

    @asynccontextmanager
    async def fresh() -> AsyncGenerator[Target]:
        async with opened_shop(database_url) as by_hand:

            async def count() -> int:
                (row,) = await by_hand("SELECT sum(revision) - 2 AS n FROM shop.articles")
                return int(row["n"])

            try:
                yield Target(kind(DECLARED, app), ONE, OTHER, count=count, transaction=transaction)
            finally:
                await by_hand("DROP SCHEMA shop CASCADE")

    await kept(fresh)
