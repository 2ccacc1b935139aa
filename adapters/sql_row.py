"""One row of a Postgres table: read, compared and changed by statements that bind every value.

A row's version is the digest of the whole row as `to_jsonb` writes it, so that any change by
anybody makes another one. What a change leads to is computed by the same cast that the UPDATE uses.
A table whose triggers or generated columns change more than was asked for leads elsewhere, and is
refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from checkrein.contracts.codec import canonical, digest, json_object
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.transaction import Transaction

ABSENT = "absent"
"""The version where there is no row."""

MAX_ROW = 1 << 20
"""Longest row that is handled, in bytes of its JSON."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_MAX_COLUMNS = 64
_PINNED = {
    "TimeZone": "UTC",
    "IntervalStyle": "iso_8601",
    "bytea_output": "hex",
    "extra_float_digits": "1",
}
"""On these it depends how to_jsonb writes a row; sessions may differ."""


@dataclass(frozen=True)
class Row:
    """A row now, and what changes would make of it.

    Attributes:
        key: the key as Postgres writes it.
        text: the row as JSON.
        wanted: the row after the changes, the version column left alone.
        after: the row after the changes.
        raised: the version column's next value, where there is one.
    """

    key: str
    text: str
    wanted: str
    after: str
    raised: int | None

    @property
    def version(self) -> str:
        """The version now."""
        return digest(self.text.encode())


class RowStatements:
    """The statements for one table; names are checked and quoted, values are parameters."""

    def __init__(
        self, table: str, key: str, columns: tuple[str, ...], version_column: str | None
    ) -> None:
        """Check the names.

        Raises:
            InputError: one is malformed, or a column is named twice.
        """
        schema, _, name = table.partition(".")
        names = [schema, name, key, *columns, *([version_column] if version_column else [])]
        if wrong := [each for each in names if not _NAME.fullmatch(each)]:
            raise _refused(table, f"{wrong[0][:80]!r} is no plain name; the table is schema.table")
        set_by_us = [key, *columns, *([version_column] if version_column else [])]
        if len(set(set_by_us)) != len(set_by_us) or not 0 < len(columns) <= _MAX_COLUMNS:
            raise _refused(table, f"it takes 1 to {_MAX_COLUMNS} columns, each named once")
        self._table = sql.Identifier(schema, name)
        self._key = sql.Identifier(key)
        self._version_column = version_column
        self._raised: sql.Composable = sql.SQL("NULL::bigint")
        self._changes: sql.Composable = sql.SQL("%(changes)s::jsonb")
        if version_column is not None:
            self._raised = sql.SQL("t.{}::bigint + 1").format(sql.Identifier(version_column))
            self._changes = sql.SQL("%(changes)s::jsonb || jsonb_build_object({}, {})").format(
                sql.Literal(version_column), self._raised
            )

    async def row(
        self,
        transaction: Transaction,
        key: str,
        changes: Mapping[str, Any] | None = None,
        *,
        lock: bool = False,
    ) -> Row | None:
        """The row under a key; None where there is none.

        Raises:
            CapabilityError: several rows have the key, or the row is too large.
        """
        query = sql.SQL(
            "SELECT t.{key}::text AS key, to_jsonb(t)::text AS text, {raised} AS raised, "
            "to_jsonb(jsonb_populate_record(t, %(changes)s::jsonb))::text AS wanted, "
            "to_jsonb(jsonb_populate_record(t, {changes}))::text AS after "
            "FROM {table} AS t WHERE t.{key} = %(key)s {lock}"
        ).format(
            key=self._key,
            raised=self._raised,
            changes=self._changes,
            table=self._table,
            lock=sql.SQL("FOR UPDATE" if lock else "LIMIT 2"),
        )
        values = {"key": key, "changes": canonical(dict(changes or {})).decode()}
        rows = await transaction.rows(query.as_string(), values)
        if len(rows) > 1:
            raise _fault("ambiguous_key", f"Several rows have the key {key[:80]!r}.")
        if not rows:
            return None
        row = Row(**rows[0])
        if max(len(row.text), len(row.after)) > MAX_ROW:
            raise _fault("too_large", f"The row {key[:80]!r} is larger than {MAX_ROW} characters.")
        return row

    def raised(self, row: Row, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The changes with the version column raised by one, where there is such a column."""
        if self._version_column is None:
            return dict(changes)
        return {**changes, self._version_column: row.raised}

    async def update(self, transaction: Transaction, key: str, changes: Mapping[str, Any]) -> None:
        """Change the row; the caller has locked and compared it."""
        columns = [sql.Identifier(name) for name in sorted(changes)]
        query = sql.SQL(
            "UPDATE {table} AS t SET ({columns}) = (SELECT {wanted} FROM "
            "jsonb_populate_record(t, %(changes)s::jsonb) AS n) WHERE t.{key} = %(key)s"
        ).format(
            table=self._table,
            columns=sql.SQL(", ").join(columns),
            wanted=sql.SQL(", ").join(sql.SQL("n.{}").format(column) for column in columns),
            key=self._key,
        )
        values = {"key": key, "changes": canonical(dict(changes)).decode()}
        await transaction.rows(query.as_string(), values)


async def pinned(transaction: Transaction, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Set, until the transaction ends, what rows are written by; return what was set before."""
    wanted = {**_PINNED, **(more or {})}
    before = await transaction.rows(
        "SELECT name, current_setting(name) AS value FROM unnest(%s::text[]) AS name",
        (list(wanted),),
    )
    await restored(transaction, wanted)
    return {str(row["name"]): str(row["value"]) for row in before}


async def restored(transaction: Transaction, settings: Mapping[str, str]) -> None:
    """Set settings until the transaction ends."""
    await transaction.rows(
        "SELECT set_config(name, value, true) "
        "FROM unnest(%s::text[], %s::text[]) AS given(name, value)",
        (list(settings), list(settings.values())),
    )


def plan_of(key: str, changes: Mapping[str, Any]) -> bytes:
    """What a send needs, as bytes."""
    return canonical({"key": key, "set": dict(changes)})


def read_plan(plan: bytes) -> tuple[str, dict[str, Any]]:
    """The key and the changes of a plan."""
    read = json_object(plan, op="sql_row.plan")
    return str(read["key"]), dict(read["set"])


def _refused(table: str, why: str) -> InputError:
    return InputError(
        f"The row target on {table[:80]!r} cannot be declared like this: {why}.",
        op="sql_target.declare",
        code="declaration_refused",
    )


def _fault(code: str, message: str) -> CapabilityError:
    return CapabilityError(f"{message} Nothing was changed.", op="sql_row.read", code=code)
