"""Targets over services that run outside of the process: a payment service, and Postgres."""

import os
import uuid
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from checkrein.adapters.payment_target import payments
from checkrein.adapters.sql_target import RowDeclaration, SqlRow, SqlRowWithReceipt
from checkrein.checkpointer.transaction import PostgresTransaction
from checkrein.contracts.action import Guarantee, Lookup
from checkrein.ports.transaction import Transaction
from checkrein.testing.conformance.target import Target

PAYMENTS_URL = "CHECKED_PAYMENTS_URL"
ROWS_URL = "CHECKED_ROWS_URL"
ACCOUNT = "CHECKED_ACCOUNT"
"""The variables that name the services, and to a child process the account of its parent."""

TABLE = """
CREATE TABLE IF NOT EXISTS public.orders (
    id text PRIMARY KEY, state text NOT NULL, version bigint NOT NULL DEFAULT 0)
"""

DECLARED = RowDeclaration(
    name="orders.set",
    description="Change an order.",
    table="public.orders",
    key_column="id",
    columns={"state": {"type": "string"}},
    version_column="version",
)


@asynccontextmanager
async def _account(**terms: Any) -> AsyncGenerator[Target]:
    url, namespace = os.environ[PAYMENTS_URL], uuid.uuid4().hex
    async with httpx.AsyncClient(base_url=url) as client:

        async def count() -> int:
            return int((await client.get(f"/{namespace}/count")).json()["payments"])

        # The account is a part of the capability, so that a child process must be told of it.
        told = os.environ.get(ACCOUNT, namespace)
        one, other = ({"amount": n, "currency": "EUR", "to": "alice"} for n in (5, 7))
        yield Target(
            payments(url, told, client=client, **terms),
            one,
            other,
            count=count,
            environment={ACCOUNT: namespace},
        )


def keyed() -> AbstractAsyncContextManager[Target]:
    """payments.charge as it is shipped."""
    return _account()


def keyed_eventual() -> AbstractAsyncContextManager[Target]:
    """payments.charge, declared with less than it can."""
    return _account(lookup=Lookup.EVENTUAL, verified=False)


def unkeyed() -> AbstractAsyncContextManager[Target]:
    """payments.charge without a key: sent at most once, found by its reference."""
    return _account(guarantee=Guarantee.NONE)


async def _order() -> str:
    name = uuid.uuid4().hex
    async with await AsyncConnection.connect(os.environ[ROWS_URL]) as connection:
        await connection.execute(TABLE)
        await connection.execute("INSERT INTO public.orders VALUES (%s, 'new')", (name,))
    return name


async def _row(kind: type[SqlRow] | type[SqlRowWithReceipt], **more: Any) -> Target:
    name, url = await _order(), os.environ[ROWS_URL]

    async def count() -> int:
        async with await AsyncConnection.connect(url) as connection:
            query = "SELECT version FROM public.orders WHERE id = %s"
            row = await (await connection.execute(query, (name,))).fetchone()
            assert row is not None
            return int(row[0])

    one, other = ({"key": name, "set": {"state": state}} for state in ("paid", "sent"))
    return Target(kind(DECLARED, url), one, other, count=count, **more)


async def row() -> Target:
    """A row swapped from version to version."""
    return await _row(SqlRow)


@asynccontextmanager
async def transaction() -> AsyncGenerator[Transaction]:
    """A transaction as the store lends it."""
    url = os.environ[ROWS_URL]
    async with await AsyncConnection[DictRow].connect(url, row_factory=dict_row) as connection:
        yield PostgresTransaction(connection)


async def row_with_receipt() -> Target:
    """A row changed in the transaction of its receipt."""
    return await _row(SqlRowWithReceipt, transaction=transaction)
