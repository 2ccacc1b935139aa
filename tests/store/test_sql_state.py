"""The sql_state verifier on a real Postgres: it compares what is there, and can change nothing."""

from pathlib import Path
from typing import Any

import pytest
from judging import judged
from shop_table import opened_shop

from checkrein.adapters.sql_state_verifier import SqlStateVerifier
from checkrein.adapters.workspace import FolderWorkspace

QUERY = "SELECT id, price, note, weight, seen, note IS NULL FROM shop.articles ORDER BY id"
ROWS = [
    [7, "12345678901234567890.10", "old", 0.1, "2024-01-01T00:00:00+00:00", False],
    [8, "5.00", None, None, "2024-01-01T00:00:00+00:00", True],
]


@pytest.fixture
async def workspace(tmp_path: Path, home: Path) -> FolderWorkspace:
    (tmp_path / "source").mkdir()
    ref = await FolderWorkspace.create(tmp_path / "source", "copy", home=home, attempt_id="a1")
    return FolderWorkspace(ref, home=home, attempt_id="a1")


@pytest.mark.parametrize(
    ("spec", "status", "told"),
    [
        ({"query": QUERY, "rows": ROWS}, "PASS", ""),
        ({"query": QUERY, "count": 2}, "PASS", ""),
        ({"query": QUERY, "rows": ROWS, "count": 2}, "PASS", ""),
        ({"query": "SELECT 1 WHERE false", "rows": []}, "PASS", ""),
        ({"query": "SELECT 100 % 7", "rows": [[2]]}, "PASS", ""),
        ({"query": QUERY, "rows": ROWS[:1]}, "FAIL", "answers 2 rows, not 1"),
        ({"query": QUERY, "rows": [*ROWS, ROWS[0]]}, "FAIL", "row 3 is missing"),
        ({"query": QUERY, "rows": ROWS[::-1]}, "FAIL", "row 1, column 1 is 7, not 8"),
        ({"query": QUERY, "count": 3}, "FAIL", "2 rows, not 3"),
        ({"query": "SELECT 5.00", "rows": [[5]]}, "FAIL", "column 1 is '5.00', not 5"),
        ({"query": "SELECT true", "rows": [[1]]}, "FAIL", "is True, not 1"),
        ({"query": "SELECT 1, 2", "rows": [[1]]}, "FAIL", "has 2 columns, not 1"),
        ({"query": "SELEC 1", "count": 1}, "ERROR", "42601"),
        ({"query": "SELECT * FROM nowhere", "count": 1}, "ERROR", "42P01"),
        ({"query": "SELECT pg_sleep(20)", "count": 1, "timeout_s": 1}, "ERROR", "within 1 s"),
    ],
)
async def test_what_a_query_answers(
    spec: dict[str, Any], status: str, told: str, database_url: str, workspace: FolderWorkspace
) -> None:
    """Protects: exactly the rows that must be there pass; what cannot be asked is no FAIL."""
    async with opened_shop(database_url):
        check = {"sql_state": {"connection": "shop", **spec}}
        result = await judged(SqlStateVerifier(), Path("/"), workspace, check, shop=database_url)
    assert (result.status, told in result.gap) == (status, True), result.gap
    assert result.repairable == (status != "ERROR")


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM shop.articles",
        "WITH gone AS (DELETE FROM shop.articles RETURNING 1) SELECT * FROM gone",
        "SELECT 1; DELETE FROM shop.articles",
        "COMMIT; DELETE FROM shop.articles",
        "SET TRANSACTION READ WRITE",
        "SELECT set_config('transaction_read_only', 'off', true)",
    ],
)
async def test_no_query_changes_anything(
    query: str, database_url: str, workspace: FolderWorkspace
) -> None:
    """Protects the database from its verifier, whose login may be allowed more than to read."""
    async with opened_shop(database_url) as run:
        check = {"sql_state": {"connection": "shop", "query": query, "rows": [["never"]]}}
        result = await judged(SqlStateVerifier(), Path("/"), workspace, check, shop=database_url)
        assert result.status != "PASS"
        assert (await run("SELECT count(*) AS n FROM shop.articles"))[0]["n"] == 2


async def test_a_database_that_is_away_proves_nothing_and_its_url_is_not_told(
    workspace: FolderWorkspace,
) -> None:
    """Protects the credential: neither password, user nor host stands in a result."""
    url = "postgresql://auditor:hunter2@127.0.0.1:1/books"
    check = {"sql_state": {"connection": "books", "query": "SELECT 1", "count": 1}}
    result = await judged(SqlStateVerifier(), Path("/"), workspace, check, books=url)
    assert (result.status, result.repairable) == ("ERROR", False)
    assert not [part for part in ("hunter2", "auditor", "127.0.0.1") if part in str(result)]


async def test_a_url_that_is_none_and_a_secret_that_was_not_lent(
    workspace: FolderWorkspace,
) -> None:
    """Protects: what is wrong with the login is said by the secret's name alone."""
    check = {"sql_state": {"connection": "books", "query": "SELECT 1", "count": 1}}
    result = await judged(SqlStateVerifier(), Path("/"), workspace, check, books="hunter2=x y")
    assert (result.status, "hunter2" in str(result)) == ("ERROR", False)
    none = await judged(SqlStateVerifier(), Path("/"), workspace, check)
    assert (none.status, "not lent" in none.gap) == ("ERROR", True)
