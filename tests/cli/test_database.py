"""The database: its state, and every way in which it cannot be used, each told for what it is."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from command_line import NOTHING, Ran, rows, task_file
from loops import DONE
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from checkrein.checkpointer import server

Cli = Callable[..., Ran]


@pytest.fixture
def unusable(plain_cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Run a task and look at the state on a database that cannot be used; returns the error."""

    def run(url: str | None = None) -> Ran:
        if url is not None:
            monkeypatch.setenv("CHECKREIN_DATABASE_URL", url)
        asked = plain_cli("db", "status", "--json")
        ran = plain_cli("run", task_file(tmp_path, [DONE]), "--json")
        assert (ran.code, asked.code) == (2, 2)
        assert ran.error["message"] == asked.error["message"]
        return ran

    return run


@pytest.fixture
def password_url(server_url: str, database_url: str) -> Iterator[str]:
    """A URL whose login needs a password, on a real server that asks for it; PASSWORD is none."""
    with psycopg.connect(server_url.format(name="postgres"), autocommit=True) as connection:
        row = connection.execute("SHOW hba_file").fetchone()
        assert row is not None
        file = Path(row[0])
        before = file.read_text()
        connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        file.write_text(f"local all guarded scram-sha-256\n{before}")
        connection.execute("SELECT pg_reload_conf()")
        yield make_conninfo(database_url, user="guarded", password="PASSWORD")
        file.write_text(before)
        connection.execute("SELECT pg_reload_conf()")
        connection.execute("DROP ROLE guarded")


def test_unreachable(unusable: Cli) -> None:
    """Protects: a server that is not there is told apart from one that refuses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ran = unusable(f"postgresql://postgres@127.0.0.1:{port}/postgres")
    assert ran.error["code"] == "store_unavailable"
    assert ran.error["retryable"] is True
    assert "refused" in ran.error["message"]
    assert "CHECKREIN_DATABASE_URL" in ran.error["message"]


def test_no_url_at_all(unusable: Cli) -> None:
    """Protects: a URL that is none says what one looks like."""
    assert "postgresql://user:password@host" in unusable("mysql://nobody").error["message"]


def test_wrong_password(unusable: Cli, password_url: str) -> None:
    """Protects: the server's own word for it reaches the person, and the password does not."""
    ran = unusable(password_url.replace("PASSWORD", "wrong-secret"))
    assert "password authentication failed" in ran.error["message"]
    assert "wrong-secret" not in ran.out + ran.err


def test_too_old(unusable: Cli, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects: an old server is refused before anything is asked of it."""
    monkeypatch.setattr(server, "OLDEST", 990000)
    ran = unusable(database_url)
    assert ran.error["code"] == "store_too_old"
    assert "needs 99 or newer" in ran.error["message"]
    assert rows(database_url) == NOTHING


def test_migrated_by_a_newer_version(unusable: Cli, database_url: str) -> None:
    """Protects: a schema from the future is left alone."""
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO checkrein.migrations VALUES (9001, '9001_future', 'x', now())"
        )
    ran = unusable(database_url)
    assert ran.error["code"] == "store_newer"
    assert "9001" in ran.error["message"]
    assert rows(database_url) == NOTHING


def test_a_database_of_yours_is_migrated_only_when_asked(
    plain_cli: Cli, server_url: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: nobody else's database is changed by a run; `db migrate` does it, twice as well."""
    with psycopg.connect(server_url.format(name="postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE bare")
        try:
            monkeypatch.setenv("CHECKREIN_DATABASE_URL", server_url.format(name="bare"))
            before = plain_cli("db", "status", "--json").json
            assert before["applied"] == []
            assert before["pending"]
            assert before["embedded"] is False
            ran = plain_cli("status", "--json")
            assert (ran.code, ran.error["code"]) == (2, "store_not_migrated")
            assert "checkrein db migrate" in ran.error["message"]
            for _ in range(2):
                after = plain_cli("db", "migrate", "--json").json
                assert after["pending"] == []
                assert after["applied"] == before["pending"]
            ran = plain_cli("status")
            assert (ran.code, "no attempts yet" in ran.out) == (0, True)
        finally:
            connection.execute("DROP DATABASE bare WITH (FORCE)")


def test_status_tells_no_password(
    plain_cli: Cli, password_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: what is shown of a URL is how to reach the server, never how to get in."""
    monkeypatch.setenv("CHECKREIN_DATABASE_URL", password_url.replace("PASSWORD", "right"))
    for args in (["db", "status"], ["db", "status", "--json"], ["doctor", "--json"]):
        ran = plain_cli(*args)
        assert "right" not in ran.out + ran.err


def test_stop_leaves_your_server_alone(cli: Cli, database_url: str) -> None:
    """Protects: `db stop` stops the embedded server and no other."""
    ran = cli("db", "stop")
    assert ran.code == 2
    assert "server of yours" in ran.err
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(os.name != "posix", reason="the embedded server's socket is a Unix one")
def test_the_embedded_server_starts_by_itself_and_stops_when_asked(
    plain_cli: Cli, home: Path
) -> None:
    """Protects: nothing has to be set up; and nothing is left running that cannot be ended."""
    home.chmod(0o755)
    try:
        assert plain_cli("status", "--json").json == {"attempts": []}
        state = plain_cli("db", "status", "--json").json
        assert (state["embedded"], state["pending"]) == (True, [])
        assert conninfo_to_dict(f"host={state['host']}")["host"] == str(home / "postgres")
    finally:
        ran = plain_cli("db", "stop", "--json")
    assert ran.json == {"home": str(home), "stopped": True}
    assert plain_cli("db", "stop", "--json").json["stopped"] is False
