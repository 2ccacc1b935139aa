"""A real store for targets: one SQLite file that processes share, and its transactions."""

import asyncio
import atexit
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeVar

from checkrein.errors import CapabilityError, StoreError
from checkrein.ports.transaction import Transaction

T = TypeVar("T")

STORE = "TARGETS_STORE"
"""The variable that names the file; without it each process has one of its own."""

TABLES = """
CREATE TABLE IF NOT EXISTS charges (
    n INTEGER PRIMARY KEY, key TEXT UNIQUE, hash TEXT, account TEXT, cents INTEGER, at REAL);
CREATE TABLE IF NOT EXISTS notes (n INTEGER PRIMARY KEY, account TEXT, text TEXT);
CREATE TABLE IF NOT EXISTS pages (account TEXT PRIMARY KEY, version INTEGER, text TEXT);
"""

LAG_S = 0.4
"""Seconds until the store's slow index shows a charge."""


def store() -> Path:
    """The file. Who makes it, on first use, takes it away at its end."""
    if STORE not in os.environ:
        folder = tempfile.mkdtemp(prefix="targets-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ[STORE] = str(Path(folder) / "store.sqlite")
    return Path(os.environ[STORE])


async def run(work: Callable[[sqlite3.Connection], T]) -> T:
    """Do some work in one transaction of its own."""

    def whole() -> T:
        with closing(_connected()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            result = work(connection)
            connection.execute("COMMIT")
            return result

    return await asyncio.to_thread(whole)


def _connected() -> sqlite3.Connection:
    connection = sqlite3.connect(store(), timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=OFF")
    connection.executescript(TABLES)
    return connection


async def rows(query: str, *parameters: object) -> list[Any]:
    """What one query finds."""

    def whole() -> list[Any]:
        with closing(_connected()) as connection:
            return connection.execute(query, parameters).fetchall()

    return await asyncio.to_thread(whole)


async def charged(account: str, cents: int, key: str, bound: str) -> dict[str, int]:
    """Charge once for each key, by the store's own unique constraint."""

    def insert(connection: sqlite3.Connection) -> tuple[str, int]:
        connection.execute(
            "INSERT INTO charges (key, hash, account, cents, at) "
            "VALUES (?, ?, ?, ?, julianday('now') * 86400.0) ON CONFLICT (key) DO NOTHING",
            (key, bound, account, cents),
        )
        held: tuple[str, int] = connection.execute(
            "SELECT hash, n FROM charges WHERE key = ?", (key,)
        ).fetchone()
        return held

    held, number = await run(insert)
    if held != bound:
        raise CapabilityError("The key is taken.", op="charge", code="key_reused")
    return {"number": number}


class InSqlite:
    """ports.transaction.Transaction over the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def rows(
        self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[dict[str, Any]]:
        try:
            found = self._connection.execute(query, parameters)
        except sqlite3.Error as error:
            raise StoreError(str(error), op="sqlite.rows") from error
        return [dict(row) for row in found.fetchall()]


@asynccontextmanager
async def transaction() -> AsyncGenerator[Transaction]:
    """Commits where the block ends well; closing rolls back what is open."""
    with closing(_connected()) as connection:
        connection.execute("BEGIN")
        yield InSqlite(connection)
        connection.execute("COMMIT")
