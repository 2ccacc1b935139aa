"""One secret that every test is offered, and the hunt for its value where a test left anything.

The value is new in each process of pytest. It is looked for as it is and in the forms that stores
and tools make of it; whatever finds it names the place and never shows the value.
"""

import base64
import os
import secrets
import tempfile
from pathlib import Path

import psycopg
from psycopg import sql

NAME = "canary"

LARGEST = 32 << 20
"""Larger files are not looked into. Bytes."""

_OWN_SERVER = "postgres"  # of a home that holds a whole cluster: its pages are not text
# Tables without a page hold no row; most tests write to a few, and each named one is planned for.
_TABLES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm') AND pg_relation_size(c.oid) > 0
    AND n.nspname !~ '^(pg_|information_schema$)'
ORDER BY 1, 2
"""


# A whole row as text holds each column: bytes in hex, JSON as it was written.
_PART = sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {} AS t WHERE t::text LIKE ANY(%(patterns)s))")


class CanaryFoundError(AssertionError):
    """A secret's value lies where it must not."""


class Canary:
    """A secret that nobody but the processes that are lent it may ever show."""

    def __init__(self, value: str) -> None:
        self._value = value
        self.folder = Path(tempfile.mkdtemp(prefix="checkrein-canary-"))
        descriptor = os.open(self.folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(value + "\n")
        raw = value.encode()
        inside = (base64.b64encode(b"\0" * n + raw)[4:-4] for n in range(3))
        self._forms = (raw, raw[::-1], raw.hex().encode(), raw.hex().upper().encode(), *inside)

    def reveal(self) -> str:
        """The value, for tests that must plant it."""
        return self._value

    def is_in(self, data: bytes) -> bool:
        """Whether any form of the value stands in these bytes."""
        return any(form in data for form in self._forms)

    def check(self, place: str, *said: str | bytes) -> None:
        """Fail where the value stands in something that was said.

        Raises:
            CanaryFoundError: naming the place.
        """
        for one in said:
            data = one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one
            if self.is_in(data):
                raise CanaryFoundError(f"the canary's value stands in {place}")

    def hunt_files(self, folder: Path) -> None:
        """Look into the name and the content of every file below a folder."""
        for at, folders, files in os.walk(folder):
            if _OWN_SERVER in folders:
                folders.remove(_OWN_SERVER)
            for name in (*folders, *files):
                self.check(f"a name in {at}", os.fsencode(name))
            for name in files:
                path = Path(at, name)
                if path.is_symlink():
                    self.check(f"the link {path}", os.fsencode(path.readlink()))
                elif path.is_file() and path.stat().st_size <= LARGEST:
                    self.check(f"the file {path}", path.read_bytes())

    def hunt_database(self, url: str) -> None:
        """Look into every row of every table: text, JSON and bytes alike."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET lock_timeout = '5s'; SET bytea_output = 'hex'")
            found = self._tables_with_it(connection)
        if found:
            raise CanaryFoundError(f"the canary's value stands in the tables {', '.join(found)}")

    def _tables_with_it(self, connection: psycopg.Connection) -> list[str]:
        tables = connection.execute(_TABLES).fetchall()
        if not tables:
            return []
        parts = [_PART.format(sql.Literal(".".join(one)), sql.Identifier(*one)) for one in tables]
        query = sql.SQL(" UNION ALL ").join(parts)
        patterns = [f"%{form.decode()}%" for form in self._forms]
        return [str(row[0]) for row in connection.execute(query, {"patterns": patterns})]


CANARY = Canary(f"canary-{secrets.token_hex(20)}")
"""The one of this process of pytest."""
