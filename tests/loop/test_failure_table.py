"""The table of docs/failures.md: what each kind of failure comes to, in whole runs."""

from pathlib import Path
from typing import Any

import failing
import pytest
from loops import DONE

from checkrein.contracts.attempt import AttemptStatus
from checkrein.settings import Settings


@pytest.mark.shows(195, 203)
@pytest.mark.parametrize("row", failing.ROWS)
async def test_the_table(row: str, tmp_path: Path, settings: Settings) -> None:
    """Protects: each row of the failure table, as it is documented."""
    await failing.ROWS[row](tmp_path, settings)


@pytest.mark.parametrize(
    ("fields", "status", "effects", "retries"),
    [
        ({}, AttemptStatus.CANDIDATE_VERIFIED, {"REFUSED": 1}, 0),
        ({"retryable": True}, AttemptStatus.CANDIDATE_VERIFIED, {"REFUSED": 1}, 2),
        ({"effect_possible": True}, AttemptStatus.RECONCILE_REQUIRED, {"UNKNOWN_EFFECT": 1}, 0),
        (
            {"effect_possible": True, "retryable": True},
            AttemptStatus.RECONCILE_REQUIRED,
            {"UNKNOWN_EFFECT": 1},
            0,
        ),
    ],
)
async def test_the_fields_decide_and_never_the_wording(
    fields: dict[str, Any],
    status: AttemptStatus,
    effects: dict[str, int],
    retries: int,
    tmp_path: Path,
    settings: Settings,
) -> None:
    """Protects: one and the same sentence means four things, by what stands beside it."""
    tool = failing.failing(9, side_effect="IRREVERSIBLE", **fields)
    run = await failing.ran(tmp_path, settings, [failing.ASK, DONE], tool, **failing.SHOP)
    assert run.report.status is status
    assert run.report.effects == effects
    assert run.count("effect_retried") == retries
