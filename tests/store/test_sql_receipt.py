"""A row of our own Postgres that changes together with its receipt."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from shop_table import (
    DECLARED,
    ONE,
    Sql,
    effect_of,
    in_tokyo,
    new_permit,
    opened_shop,
    owner,
)

from checkrein.adapters.sql_target import SqlRowWithReceipt
from checkrein.checkpointer import server
from checkrein.checkpointer.transaction import PostgresTransaction
from checkrein.contracts.effect import EffectStatus
from checkrein.errors import CapabilityError, StoreError
from checkrein.ports.capability import Applies, Prepared


@pytest.fixture
async def by_hand(database_url: str) -> AsyncIterator[Sql]:
    """Somebody else at the table, who may do anything."""
    async with opened_shop(database_url) as run:
        yield run


async def applied(url: str, row: SqlRowWithReceipt, prepared: Prepared, *, commit: bool) -> Any:
    """Apply inside a transaction as the store's, which then ends one way or the other."""
    async with await AsyncConnection[DictRow].connect(url, row_factory=dict_row) as connection:
        try:
            return await row.apply(prepared, new_permit(), PostgresTransaction(connection))
        finally:
            zone = await connection.execute("SHOW TimeZone")
            assert await zone.fetchone() == {"TimeZone": "Asia/Tokyo"}, "settings are left behind"
            await (connection.commit() if commit else connection.rollback())


@pytest.mark.parametrize("commit", [True, False])
async def test_row_and_receipt_stand_or_fall_together(
    commit: bool, database_url: str, by_hand: Sql
) -> None:
    """Protects same_transaction: whoever holds the transaction decides."""
    app = server.by_url(database_url).app
    row = SqlRowWithReceipt(DECLARED, app)
    assert isinstance(row, Applies)
    there = in_tokyo(app)
    prepared = await row.prepare(ONE)
    outcome = await applied(there, row, prepared, commit=commit)
    assert (outcome.status, outcome.version) == (EffectStatus.COMMITTED, prepared.to_version)
    found = await row.version(prepared.resource)
    assert found == (prepared.to_version if commit else prepared.from_version)
    again = await applied(there, row, prepared, commit=False)
    assert (again.status is EffectStatus.REFUSED) == commit
    assert await row.lookup(effect_of(prepared)) is None
    with pytest.raises(CapabilityError, match="does not send"):
        await row.send(prepared, new_permit(), owner)


async def test_a_failed_statement_in_the_lent_transaction_is_raised(
    database_url: str, by_hand: Sql
) -> None:
    """Protects the receipt from standing without its effect."""
    app = server.by_url(database_url).app
    row = SqlRowWithReceipt(DECLARED, app)
    prepared = await row.prepare({"key": "7", "set": {"price": "-1"}})
    async with await AsyncConnection[DictRow].connect(app, row_factory=dict_row) as connection:
        with pytest.raises(StoreError):
            await row.apply(prepared, new_permit(), PostgresTransaction(connection))
    assert await row.version(prepared.resource) == prepared.from_version
