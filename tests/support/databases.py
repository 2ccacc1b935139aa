"""Databases of a test's own, cloned from the migrated template or empty."""

import uuid
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import sql


@contextmanager
def fresh_database(server_url: str, template: str = "template_checkrein") -> Generator[str]:
    """The URL of a new database, dropped afterwards; template1 gives an empty one."""
    name = f"t_{uuid.uuid4().hex[:16]}"
    with psycopg.connect(server_url.format(name="postgres"), autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        try:
            yield server_url.format(name=name)
        finally:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )
