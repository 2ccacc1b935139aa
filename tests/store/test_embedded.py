"""The embedded server: one for all who want it, however many ask at once."""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from checkrein.checkpointer.embedded_server import started, stopped

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its socket is a Unix one")


@pytest.fixture
def home() -> Iterator[Path]:
    """A home at a short path, as a socket's path must be."""
    with tempfile.TemporaryDirectory(prefix="cr-", dir="/tmp", ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o755)
        yield Path(made) / "home"


async def test_many_who_start_it_at_once_get_the_same_server(home: Path) -> None:
    """Protects two harnesses of one process: none is handed a server that does not answer yet."""
    try:
        found = await asyncio.gather(*(started(home) for _ in range(4)))
        assert len({database.login for database in found}) == 1
        for database in found:
            async with await psycopg.AsyncConnection.connect(database.login) as connection:
                assert await (await connection.execute("SELECT 1")).fetchone() == (1,)
    finally:
        assert await stopped(home)
