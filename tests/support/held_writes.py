"""Writes that are held up in the middle of their send, by the lock that each must get first."""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg


def waited(what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.02)


@contextmanager
def held_write(home: Path, database_url: str) -> Generator[tuple[str, str]]:
    """The one attempt with its workspace, from the moment that its write is on its way.

    It cannot happen before the context ends. To be entered before the write is proposed.
    """
    with psycopg.connect(database_url, autocommit=True) as connection:
        query = "SELECT attempt_id, body #>> '{workspace_ref,root}' FROM checkrein.attempts"
        found = connection.execute(query).fetchone()
        assert found is not None
        attempt_id, workspace = found
        with _locked(home, workspace):
            sent = "SELECT FROM checkrein.effects WHERE status = 'EXECUTING'"
            waited(lambda: connection.execute(sent).fetchone() is not None)
            yield attempt_id, workspace


@contextmanager
def _locked(home: Path, workspace: str) -> Generator[None]:
    name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]
    file = home / "locks" / f"{name}.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)
