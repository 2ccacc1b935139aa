"""What all tests share: one embedded Postgres, a fresh database for each test, and a canary.

The canary is a secret that every test is offered. Wherever a test leaves something (its database,
its home, its folder, what it printed and logged) its value is hunted for afterwards.
"""

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import psycopg
import pytest
from canary import CANARY, CanaryFoundError
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from checkrein.checkpointer import embedded_server, migrate, server
from checkrein.evals.opa_binary import HOW
from checkrein.settings import Settings

ROOM = 4 << 30
"""What must be free in memory for the servers of all workers to keep their files there. Bytes."""


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server of this worker's own, whose database `template_checkrein` is migrated."""
    # Outside pytest's folder, which is private: the server runs as another user under root.
    folder = Path(tempfile.mkdtemp(prefix="checkrein-pg-", dir=_memory()))
    folder.chmod(0o755)
    database = asyncio.run(embedded_server.started(folder))
    login = conninfo_to_dict(database.login)
    url = f"postgresql://postgres@/{{name}}?host={login['host']}"
    with psycopg.connect(url.format(name="postgres"), autocommit=True) as connection:
        # The tests ask for crashes of ours, not of the machine's power supply.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET max_wal_size = '256MB'")
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("CREATE DATABASE template_checkrein")
    asyncio.run(migrate.migrate(server.by_url(url.format(name="template_checkrein"))))
    yield url
    asyncio.run(embedded_server.stopped(folder))
    shutil.rmtree(folder)


def _memory() -> str | None:
    """A folder in memory with room for a server's files, which are much of a test's time."""
    shared = Path("/dev/shm")
    if shared.is_dir() and os.access(shared, os.W_OK | os.X_OK):
        return str(shared) if shutil.disk_usage(shared).free >= ROOM else None
    return None


@pytest.fixture
def database_url(server_url: str) -> Iterator[str]:
    """The URL of a fresh, migrated database, gone after the test."""
    name = f"t_{uuid.uuid4().hex[:16]}"
    with psycopg.connect(server_url.format(name="postgres"), autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template_checkrein STRATEGY file_copy").format(
                sql.Identifier(name)
            )
        )
        yield server_url.format(name=name)
        try:
            CANARY.hunt_database(server_url.format(name=name))
        finally:
            connection.execute(
                sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            )


@pytest.fixture
def home() -> Iterator[Path]:
    """A CHECKREIN_HOME of the test's own."""
    folder = Path(tempfile.mkdtemp(prefix="checkrein-home-"))
    yield folder
    try:
        CANARY.hunt_files(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def settings(home: Path, database_url: str) -> Settings:
    """Settings that name the test's home and database, and offer the canary."""
    return Settings(home=home, database_url=database_url, secrets=CANARY.folder)


@pytest.fixture
def environment(home: Path, database_url: str) -> dict[str, str]:
    """The environment of a child process that works on the test's home and database."""
    return {
        "PATH": os.environ["PATH"],
        "CHECKREIN_HOME": str(home),
        "CHECKREIN_DATABASE_URL": database_url,
        "CHECKREIN_SECRETS": str(CANARY.folder),
        "PYTHONWARNINGS": "error",
        "NO_COLOR": "1",
    }


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hunt through what a test printed, logged and failed with."""
    report = yield
    said = [text for _, text in report.sections]
    try:
        CANARY.check(f"what {item.name} printed or logged", *said, report.longreprtext)
    except CanaryFoundError as found:
        report.sections = []
        report.outcome = "failed"
        report.longrepr = str(found)
    return report


def pytest_sessionfinish() -> None:
    """Take the canary's folder away."""
    shutil.rmtree(CANARY.folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once how to get a real OPA, where tests were skipped for want of one."""
    skipped = terminalreporter.stats.get("skipped", [])
    if any(HOW in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(HOW)
