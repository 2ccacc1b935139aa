"""The hunt for the canary can fail: planted in each kind of place, it is found there."""

import base64
import secrets
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from canary import CANARY, Canary, CanaryFoundError
from psycopg import sql

PLACES = {
    "text": ("checkrein.attempts", "detail", "text"),
    "json": ("checkrein.attempts", "body", "json"),
    "bytes": ("checkrein.blobs", "data", "bytea"),
    "event": ("checkrein.events", "payload", "text"),
    "saver": ("langgraph.checkpoint_blobs", "blob", "bytea"),
}


@pytest.fixture
def planted() -> Iterator[Canary]:
    """Another secret than the session's, so that planting it fails no hunt but the test's own."""
    canary = Canary(f"planted-{secrets.token_hex(20)}")
    yield canary
    (canary.folder / "canary").unlink()
    canary.folder.rmdir()


@pytest.mark.shows(262)
@pytest.mark.parametrize("place", PLACES)
def test_it_is_found_in_every_kind_of_column(
    place: str, planted: Canary, database_url: str
) -> None:
    """Protects the hunt: it looks into text, JSON and bytes, of both schemas."""
    table, column, kind = PLACES[place]
    value = planted.reveal()
    text = f"so it is {value}, and on it goes"
    said = {"json": f'{{"a": ["{text}"]}}', "bytea": b"\x00\xff" + text.encode()}.get(kind, text)
    planted.hunt_database(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = sql.Identifier(*table.split("."))
        # Whatever else a row must have is of no interest here.
        connection.execute(sql.SQL("CREATE TABLE checkrein.twin (LIKE {})").format(name))
        connection.execute(
            sql.SQL("ALTER TABLE checkrein.twin {}").format(
                sql.SQL(", ").join(
                    sql.SQL("ALTER {} DROP NOT NULL").format(sql.Identifier(one))
                    for one in _columns(connection, table)
                )
            )
        )
        insert = sql.SQL("INSERT INTO checkrein.twin ({}) VALUES (%s)").format(
            sql.Identifier(column)
        )
        connection.execute(insert, (said,))
    fresh = Canary(value)
    with pytest.raises(CanaryFoundError, match=r"checkrein\.twin") as caught:
        fresh.hunt_database(database_url)
    assert value not in str(caught.value)


def _columns(connection: psycopg.Connection, table: str) -> list[str]:
    query = (
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
        " AND NOT attisdropped"
    )
    return [str(row[0]) for row in connection.execute(query, (table,)).fetchall()]


@pytest.mark.parametrize("form", ["plain", "base64", "hex", "reversed", "name", "link"])
def test_it_is_found_in_files(form: str, planted: Canary, tmp_path: Path) -> None:
    """Protects the hunt: artifacts and homes are looked into, names and links as well."""
    value = planted.reveal()
    below = tmp_path / "artifacts" / "ab"
    below.mkdir(parents=True)
    (below / "other").write_bytes(b"nothing")
    planted.hunt_files(tmp_path)
    texts = {
        "plain": value.encode(),
        "base64": base64.b64encode(f"user:{value}".encode()),
        "hex": value.encode().hex().encode(),
        "reversed": value[::-1].encode(),
    }
    if form == "name":
        (below / value).mkdir()
    elif form == "link":
        (below / "link").symlink_to(f"/nowhere/{value}")
    else:
        (below / "output").write_bytes(b"before " + texts[form] + b" after")
    with pytest.raises(CanaryFoundError) as caught:
        planted.hunt_files(tmp_path)
    if form != "name":
        assert value not in str(caught.value)


def test_what_a_test_prints_and_logs_is_hunted(tmp_path: Path) -> None:
    """Protects the hunt through captured output: a test that shows the value fails, masked."""
    script = """
        import logging, sys
        from canary import CANARY

        def test_prints(): print(CANARY.reveal())
        def test_prints_error(): print(CANARY.reveal(), file=sys.stderr)
        def test_logs(): logging.getLogger("x").warning("see %s", CANARY.reveal())
        def test_fails(): raise RuntimeError(CANARY.reveal())
        def test_is_quiet(): print("nothing")
    """
    (tmp_path / "test_shown.py").write_text(textwrap.dedent(script), encoding="utf-8")
    root = Path(__file__).resolve().parents[2]
    (tmp_path / "conftest.py").write_bytes((root / "tests" / "conftest.py").read_bytes())
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rf"]
    done = subprocess.run(
        [*command, "-o", f"pythonpath={root / 'tests' / 'support'}", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "4 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("the canary's value stands in what") >= 4
    assert "canary-" not in done.stdout.replace("checkrein-canary-", "")


@pytest.mark.shows(262)
def test_the_session_offers_it(environment: dict[str, str]) -> None:
    """Protects: the canary that is hunted is the one that tests are offered."""
    place = Path(environment["CHECKREIN_SECRETS"])
    assert (place / "canary").read_text(encoding="utf-8").strip() == CANARY.reveal()
