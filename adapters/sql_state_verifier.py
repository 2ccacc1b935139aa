"""The `sql_state` check: what a query of a database answers, in a read-only transaction."""

import asyncio
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from checkrein.adapters.verdicts import About, about, not_mine, same, shown
from checkrein.contracts.check import Check, Scalar, SqlStateCheck, SqlStateSpec
from checkrein.contracts.codec import canonical
from checkrein.contracts.verification import CheckResult
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

MOST_ROWS = 1_000_000
"""Rows that are counted; a query that answers more says nothing here."""

_CONNECT_S = 10
_VERSION = "sql_state/1"


class SqlStateVerifier:
    """Implements checkrein.ports.verifier.Verifier for `sql_state` checks on Postgres.

    Each check has a connection of its own. The URL is a secret: neither it nor what the driver says
    of it stands in a result.
    """

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `sql_state` check."""
        return isinstance(check, SqlStateCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Ask the database; PASS if it answers what it must.

        A database that cannot be asked, or that refuses the query, is ERROR.

        Raises:
            InputError: the check is of another kind.
        """
        if not isinstance(check, SqlStateCheck):
            not_mine(_VERSION, check)
        spec = check.sql_state
        subject = about(check, f"{spec.connection}: {' '.join(spec.query.split())}")
        if spec.connection not in examination.secrets:
            return subject.error(f"The secret {spec.connection} was not lent to this check.")
        url = examination.secrets[spec.connection].get_secret_value()
        try:
            async with asyncio.timeout(spec.timeout_s + _CONNECT_S):
                count, rows = await _asked(_bound(url, spec.timeout_s), spec)
        except (psycopg.Error, TimeoutError) as error:
            return subject.error(_problem(error, spec))
        return _verdict(subject, spec, count, rows)


def _bound(url: str, timeout_s: int) -> str:
    """The same login, whose session can only read, in time, and writes times in one way."""
    given = conninfo_to_dict(url).get("options") or ""
    settings = {
        "default_transaction_read_only": "on",
        "statement_timeout": f"{timeout_s}s",
        "TimeZone": "UTC",
        "DateStyle": "ISO",
    }
    bound = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return make_conninfo(
        url,
        options=f"{given} {bound}".strip(),
        application_name="checkrein-verifier",
        connect_timeout=_CONNECT_S,
    )


async def _asked(url: str, spec: SqlStateSpec) -> tuple[int, list[list[Scalar]]]:
    """How many rows there are, and as many of them as are compared."""
    keep = 0 if spec.rows is None else len(spec.rows) + 1
    count, kept = 0, list[list[Scalar]]()
    connection = await AsyncConnection.connect(url)
    try:
        await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
        await connection.set_read_only(True)
        # Streamed: the extended protocol takes one statement alone, and no answer fills the memory.
        async with connection.cursor() as cursor:
            async for row in cursor.stream(spec.query.encode()):
                count += 1
                if len(kept) < keep:
                    kept.append([_scalar(value) for value in row])
                if count > MOST_ROWS:
                    break
    finally:
        await connection.close()
    return count, kept


def _scalar(value: Any) -> Scalar:
    """A value as JSON knows it: numerics and times as text, structures as canonical JSON."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict | list):
        return canonical(value).decode()
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _problem(error: psycopg.Error | TimeoutError, spec: SqlStateSpec) -> str:
    """Why it could not be asked, in words that hold nothing of the URL."""
    if isinstance(error, TimeoutError | psycopg.errors.QueryCanceled):
        return f"The database {spec.connection} did not answer within {spec.timeout_s} s."
    if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
        return "The query would change something; sql_state only reads."
    if error.sqlstate is None or error.sqlstate[:2] in {"08", "28", "3D", "53", "57"}:
        state = f", SQLSTATE {error.sqlstate}" if error.sqlstate else ""
        return f"The database {spec.connection} cannot be used ({type(error).__name__}{state})."
    said = (error.diag.message_primary or type(error).__name__)[:300]
    return f"The database {spec.connection} refuses the query: {said} (SQLSTATE {error.sqlstate})."


def _verdict(
    subject: About, spec: SqlStateSpec, count: int, rows: Sequence[Sequence[Scalar]]
) -> CheckResult:
    if count > MOST_ROWS:
        return subject.error(f"The query answers more than {MOST_ROWS} rows.")
    wanted = spec.count if spec.rows is None else len(spec.rows)
    if spec.count is not None and count != spec.count:
        return subject.failed(f"The query answers {count} rows, not {spec.count}.", rows=count)
    for place, row in enumerate(spec.rows or (), start=1):
        gap = f"row {place} is missing" if place > len(rows) else _row(place, rows[place - 1], row)
        if gap:
            return subject.failed(f"The query answers something else: {gap}.", rows=count)
    if count != wanted:
        return subject.failed(f"The query answers {count} rows, not {wanted}.", rows=count)
    return subject.passed(rows=count)


def _row(place: int, found: Sequence[Scalar], wanted: Sequence[Scalar]) -> str:
    if len(found) != len(wanted):
        return f"row {place} has {len(found)} columns, not {len(wanted)}"
    for column, (is_there, must) in enumerate(zip(found, wanted, strict=True), start=1):
        if not same(is_there, must):
            return f"row {place}, column {column} is {shown(is_there)}, not {shown(must)}"
    return ""
