"""What the model is told that it will be accepted by."""

from typing import Any

import pytest
from filled import filled

from checkrein.contracts.check import KINDS
from checkrein.contracts.task import TaskContract
from checkrein.nodes.criteria import LIMIT, criterion

TOLD: list[tuple[dict[str, Any], str]] = [
    ({"command": {"argv": ["make", "test"]}}, "Accepted when this exits 0: make test"),
    (
        {"pytest": {"paths": ["tests"], "fail_to_pass": ["tests/a.py::t"]}},
        "Accepted when pytest passes: tests; these count: tests/a.py::t",
    ),
    (
        {"pytest": {"hidden": "/srv/judges", "fail_to_pass": ["tests/canary.py::t"]}},
        "Accepted when pytest passes: the whole workspace, and hidden tests",
    ),
    (
        {"junit": {"argv": ["go"], "report": "r.xml", "hidden": "/srv/judges"}},
        "Accepted when this exits 0 and its tests pass: go, and hidden tests",
    ),
    ({"file_state": {"path": "a", "exists": False}}, "Accepted when a does not exist"),
    (
        {"file_state": {"path": "a", "contains": ["x"], "lacks": ["y"]}},
        'Accepted when a exists and contains "x" and lacks "y"',
    ),
    (
        {"sql_state": {"connection": "shop_db", "query": "SELECT 1", "rows": [[1]]}},
        "Accepted when the database answers [[1]] to: SELECT 1",
    ),
    (
        {"http_state": {"url": "https://bob:pw@h/x?key=canary#f", "bearer": "shop_token"}},
        "Accepted when GET https://h/x answers 200",
    ),
    (
        {"json_schema": {"file": "a.json", "against": "/srv/schema.json"}},
        "Accepted when a.json is JSON that is valid under the task's schema",
    ),
    (
        {"diff_within": {"paths": ["src/**"], "lines": 9}},
        "Accepted when all changes lie within src/** (lines: at most 9)",
    ),
    (
        {"text_match": {"file": "a", "equals": "x", "ignoring": ["case"]}},
        'Accepted when a is exactly "x" (ignoring case)',
    ),
    (
        {"human": {"role": "editor", "question": "Is it kind?"}},
        "Accepted when the role editor says yes to: Is it kind?",
    ),
]


@pytest.mark.shows(211)
@pytest.mark.parametrize(("check", "told"), TOLD, ids=lambda value: str(value)[:30])
def test_what_must_hold_is_told_and_no_secret(check: dict[str, Any], told: str) -> None:
    """Protects: the model knows its goal; hidden names, host paths and secrets stay out."""
    [one] = TaskContract.model_validate({"goal": "x", "success": [check]}).success
    assert criterion(one) == told


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_told(kind: str) -> None:
    """Protects new kinds: each says what must hold, in bounds."""
    told = criterion(filled(KINDS[kind]))  # type: ignore[arg-type]
    assert told.startswith("Accepted when")
    assert "Accepted by" not in told


def test_a_long_one_is_cut_aloud() -> None:
    """Protects the context from a criterion of a hundred thousand characters."""
    check = {"text_match": {"file": "a", "equals": "x" * 50_000}}
    [one] = TaskContract.model_validate({"goal": "x", "success": [check]}).success
    told = criterion(one)
    assert len(told) < LIMIT + 50
    assert told.endswith("characters left out]")
