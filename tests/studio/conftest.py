"""One dev server for all tests of this folder, on a database of its own."""

import shutil
import tempfile
import uuid
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from studio_server import StudioServer

from checkrein.settings import Settings


@pytest.fixture(scope="session")
def studio_settings(server_url: str) -> Generator[Settings]:
    """A home and a fresh database for the server, gone after the last test."""
    name = f"studio_{uuid.uuid4().hex[:16]}"
    home = Path(tempfile.mkdtemp(prefix="checkrein-home-"))
    with psycopg.connect(server_url.format(name="postgres"), autocommit=True) as connection:
        made = sql.SQL("CREATE DATABASE {} TEMPLATE template_checkrein STRATEGY file_copy")
        connection.execute(made.format(sql.Identifier(name)))
        yield Settings(home=home, database_url=server_url.format(name=name))
        gone = sql.SQL("DROP DATABASE {} WITH (FORCE)")
        connection.execute(gone.format(sql.Identifier(name)))
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def studio(
    studio_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Generator[StudioServer]:
    """The running server."""
    server = StudioServer(tmp_path_factory.mktemp("studio"), studio_settings)
    server.start()
    yield server
    server.stop()
