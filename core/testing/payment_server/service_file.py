"""The payment service's SQLite file: settings, faults that are queued, and what arrived.

Several server processes may share the file. Everything here blocks; the server calls it in a
thread of its own.
"""

import fcntl
import json
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

FILE = "payments.sqlite3"

_BUSY_S = 30.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS done (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, namespace TEXT NOT NULL,
    kind TEXT NOT NULL, key TEXT, reference TEXT, record TEXT NOT NULL, made REAL NOT NULL);
CREATE INDEX IF NOT EXISTS done_by_key ON done (namespace, key);
CREATE TABLE IF NOT EXISTS keys (
    namespace TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, args_hash TEXT NOT NULL,
    id TEXT NOT NULL, made REAL NOT NULL, PRIMARY KEY (namespace, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settings (namespace TEXT PRIMARY KEY, given TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS arrived (
    namespace TEXT NOT NULL, what TEXT NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (namespace, what)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS faults (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, queue TEXT NOT NULL,
    fault TEXT NOT NULL);
"""


class ServiceFile:
    """One connection; only ever used by one thread."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Two processes that switch one file to WAL at once would find it locked.
        with (folder / "opening.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._db = sqlite3.connect(folder / FILE, timeout=_BUSY_S, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """One writer at a time, over all processes; durable once it ends."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def rows(self, query: str, *values: object) -> list[Any]:
        """Run one statement and return its rows."""
        with closing(self._db.execute(query, values)) as cursor:
            return cursor.fetchall()

    def arrive(self, namespace: str, what: list[str], queue: str) -> str | None:
        """Count a request under each of the names; return the fault that it shall meet."""
        with self.transaction():
            for name in what:
                self.rows(
                    "INSERT INTO arrived VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1",
                    namespace,
                    name,
                )
            taken = self.rows(
                "DELETE FROM faults WHERE seq = (SELECT min(seq) FROM faults "
                "WHERE namespace = ? AND queue = ?) RETURNING fault",
                namespace,
                queue,
            )
        return str(taken[0][0]) if taken else None

    def calls(self, namespace: str) -> dict[str, int]:
        """How many requests arrived, whatever became of them."""
        rows = self.rows("SELECT what, n FROM arrived WHERE namespace = ?", namespace)
        return {"calls": 0, "with_key": 0, "lookups": 0} | dict(rows)

    def settings(self, namespace: str) -> dict[str, Any]:
        """What was set for a namespace."""
        rows = self.rows("SELECT given FROM settings WHERE namespace = ?", namespace)
        found: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
        return found

    def set(self, namespace: str, given: dict[str, Any], *, forget_keys: bool) -> dict[str, Any]:
        """Change settings; `forget_keys` forgets every key now."""
        with self.transaction():
            merged = self.settings(namespace) | given
            self.rows(
                "INSERT OR REPLACE INTO settings VALUES (?, ?)", namespace, json.dumps(merged)
            )
            if forget_keys:
                self.rows("DELETE FROM keys WHERE namespace = ?", namespace)
        return merged

    def queue(self, namespace: str, queues: dict[str, list[str]]) -> None:
        """Replace the faults that the next requests shall meet, first come first served."""
        with self.transaction():
            for queue, faults in queues.items():
                self.rows("DELETE FROM faults WHERE namespace = ? AND queue = ?", namespace, queue)
                for fault in faults:
                    self.rows(
                        "INSERT INTO faults (namespace, queue, fault) VALUES (?, ?, ?)",
                        namespace,
                        queue,
                        fault,
                    )
