"""Write checkpointer/schema.sql: what all migrations together make, read back from a database.

It is for people to read and for a test to compare; the migrations are what makes a database. It
is read from the catalogue, so that no tool of the server's own version is needed.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from checkrein.checkpointer import embedded_server, migrate

FILE = Path(__file__).resolve().parent.parent / "checkpointer" / "schema.sql"

HEAD = """\
-- What all migrations together make. Written by scripts/schema_dump.py from a migrated database;
-- not to be edited, and not what makes one: that is migrations/.

SET check_function_bodies = off;
"""

# The migrations table is made by the code that keeps it, before the first migration.
TABLES: LiteralString = """
SELECT c.oid, c.relname FROM pg_class c
WHERE c.relnamespace = 'checkrein'::regnamespace AND c.relkind = 'r' AND c.relname <> 'migrations'
ORDER BY c.relname
"""
COLUMNS: LiteralString = """
SELECT quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
    || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
    || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
# Not-null constraints have rows of their own in newer servers; the columns say the same.
CONSTRAINTS: LiteralString = """
SELECT contype = 'f', format('CONSTRAINT %%I %%s', conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE conrelid = %s AND contype <> 'n'
ORDER BY contype = 'f', contype <> 'p', conname
"""
INDEXES: LiteralString = """
SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s
  AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
ORDER BY c.relname
"""
FUNCTIONS: LiteralString = """
SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid) FROM pg_proc p
WHERE p.pronamespace = 'checkrein'::regnamespace ORDER BY p.oid::regprocedure::text COLLATE "C"
"""
TABLE_RIGHTS: LiteralString = """
SELECT x.privilege_type, x.grantee::regrole::text FROM pg_class c, aclexplode(c.relacl) x
WHERE c.oid = %s AND x.grantee <> c.relowner AND x.grantee <> 0 ORDER BY 2, 1
"""
FUNCTION_RIGHTS: LiteralString = """
SELECT x.privilege_type, CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE x.grantee::regrole::text END
FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
WHERE p.oid = %s::regprocedure AND x.grantee <> p.proowner ORDER BY 2, 1
"""

Connection = psycopg.Connection[tuple[Any, ...]]


def dump(connection: Connection) -> str:
    """The whole schema as SQL, in a stable order."""
    connection.execute("SET search_path = pg_catalog")
    parts = [HEAD]
    later: list[str] = []
    rights: list[str] = []
    for oid, name in connection.execute(TABLES).fetchall():
        table = f"checkrein.{name}"
        lines = [column for (column,) in connection.execute(COLUMNS, (oid,))]
        for foreign, text in connection.execute(CONSTRAINTS, (oid,)):
            if foreign:
                later.append(f"ALTER TABLE {table} ADD {text};")
            else:
                lines.append(text)
        parts.append(f"CREATE TABLE {table} (\n    " + ",\n    ".join(lines) + "\n);")
        parts += [f"{index};" for (index,) in connection.execute(INDEXES, (oid,))]
        rights += [
            f"GRANT {right} ON {table} TO {who};"
            for right, who in connection.execute(TABLE_RIGHTS, (oid,))
        ]
    parts += later
    for name, text in connection.execute(FUNCTIONS).fetchall():
        parts.append(text.rstrip() + ";")
        granted = connection.execute(FUNCTION_RIGHTS, (name,)).fetchall()
        rights.append(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC;")
        rights += [f"GRANT {right} ON FUNCTION {name} TO {who};" for right, who in granted]
    return "\n\n".join(parts) + "\n\n" + "\n".join(rights) + "\n"


def dumped_from_migrations() -> str:
    """The schema of a fresh database of a throw-away server."""
    folder = Path(tempfile.mkdtemp(prefix="checkrein-schema-"))
    folder.chmod(0o755)  # the server may run as another user, who must reach its own folder
    try:
        database = asyncio.run(embedded_server.started(folder))
        asyncio.run(migrate.migrate(database))
        with psycopg.connect(database.login) as connection:
            return dump(connection)
    finally:
        asyncio.run(embedded_server.stopped(folder))
        shutil.rmtree(folder)


def main(arguments: list[str] | None = None) -> int:
    """Write the file; with --check only say whether it is stale, and exit 1 if it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    options = parser.parse_args(arguments)
    text = dumped_from_migrations()
    if not options.check:
        FILE.write_text(text, encoding="utf-8")
        return 0
    if FILE.exists() and FILE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{FILE} is stale: run `python scripts/schema_dump.py`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
