"""Which Postgres, and how to connect to it."""

from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from checkrein.checkpointer.faults import translated
from checkrein.errors import InputError, StoreError

OLDEST = 140000
"""server_version_num of the oldest Postgres that is supported."""

APP_ROLE = "checkrein_app"
OWNER_ROLE = "checkrein_owner"


@dataclass(frozen=True)
class Database:
    """How to reach the database.

    Attributes:
        login: conninfo of the login that may migrate.
        app: conninfo of every other connection; it acts as the application role.
        embedded: whether the server is ours, in the home folder.
    """

    login: str
    app: str
    embedded: bool

    def schema(self, name: str) -> str:
        """The application's conninfo with another schema first."""
        options = conninfo_to_dict(self.app).get("options") or ""
        return make_conninfo(self.app, options=f"{options} -c search_path={name}".strip())


def by_url(url: str) -> Database:
    """Your own server. The login must own the database or be granted checkrein_app.

    Raises:
        InputError: the URL cannot be read.
    """
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InputError(
            "CHECKREIN_DATABASE_URL is no Postgres URL. It looks like "
            "postgresql://user:password@host:5432/database.",
            op="server.by_url",
        ) from error
    options = f"{given.get('options') or ''} -c role={APP_ROLE} -c search_path=checkrein".strip()
    login = make_conninfo(url, connect_timeout=given.get("connect_timeout") or 10)
    return Database(login=login, app=make_conninfo(login, options=options), embedded=False)


async def server_version(database: Database) -> int:
    """Return server_version_num, after checking that it is new enough.

    Raises:
        StoreError: unreachable, wrong password, or too old.
    """
    try:
        async with await psycopg.AsyncConnection.connect(database.login) as connection:
            version = connection.info.server_version
    except psycopg.Error as error:
        raise translated(error, "server.version") from error
    if version < OLDEST:
        raise StoreError(
            f"This Postgres is {version // 10000}; Checkrein needs {OLDEST // 10000} or newer. "
            "Upgrade the server, or leave CHECKREIN_DATABASE_URL unset to use the embedded one.",
            op="server.version",
            code="store_too_old",
        )
    return version
