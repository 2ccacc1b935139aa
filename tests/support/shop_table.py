"""A table of articles in a test's database, and what changes of its rows are given."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

from checkrein.adapters.sql_target import RowDeclaration
from checkrein.contracts.effect import Effect, EffectStatus
from checkrein.ports.capability import Permit, Prepared

DECLARED = RowDeclaration(
    name="stock.set",
    description="Set an article's price, stock or note.",
    table="shop.articles",
    key_column="id",
    columns={
        "price": {"type": "string"},
        "stock": {"type": "integer"},
        "note": {"type": ["string", "null"], "maxLength": 200},
    },
    version_column="revision",
    timeout_s=5,
)
PLAIN = DECLARED.model_copy(update={"version_column": None})
ONE = {"key": "7", "set": {"price": "12.50", "note": "new"}}
OTHER = {"key": "7", "set": {"price": "99.00"}}

SHOP = """
CREATE SCHEMA shop;
CREATE TABLE shop.articles (
    id bigint PRIMARY KEY, price numeric(30, 2) NOT NULL CHECK (price > 0), stock integer NOT NULL,
    note varchar(10), seen timestamptz NOT NULL DEFAULT '2024-01-01T00:00:00Z', weight float8,
    revision bigint NOT NULL DEFAULT 1);
INSERT INTO shop.articles (id, price, stock, note, weight)
    VALUES (7, 12345678901234567890.10, 3, 'old', 0.1), (8, 5, 1, NULL, NULL);
GRANT USAGE ON SCHEMA shop TO checkrein_app;
GRANT SELECT, UPDATE ON shop.articles TO checkrein_app;
"""

Sql = Callable[[str], Awaitable[list[dict[str, Any]]]]


@asynccontextmanager
async def opened_shop(url: str) -> AsyncGenerator[Sql]:
    """Make the table; gives a hand at it that may do anything."""
    async with await AsyncConnection[DictRow].connect(
        url, autocommit=True, row_factory=dict_row
    ) as connection:
        await connection.execute(SHOP)

        async def run(query: str) -> list[dict[str, Any]]:
            cursor = await connection.execute(query.encode())
            return await cursor.fetchall() if cursor.description else []

        yield run


def in_tokyo(url: str) -> str:
    """The same login, whose session writes times and numbers otherwise."""
    given = conninfo_to_dict(url).get("options")
    return make_conninfo(url, options=f"{given} -c TimeZone=Asia/Tokyo -c extra_float_digits=-3")


def new_permit(**more: Any) -> Permit:
    return Permit(effect_id="eff_1", key="act_1", operation_hash="sha256:h", fence=1, **more)


def effect_of(prepared: Prepared) -> Effect:
    return Effect(
        effect_id="eff_1",
        tenant="t",
        resource=prepared.resource,
        key="act_1",
        operation_hash="sha256:h",
        action_id="act_1",
        status=EffectStatus.EXECUTING,
        from_version=prepared.from_version,
        to_version=prepared.to_version,
    )


async def owner() -> bool:
    return True
