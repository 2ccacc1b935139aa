"""The page on verification says what the code does."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkrein.contracts.check import KINDS, STRENGTH_ORDER, Strength, kind_of
from checkrein.contracts.task import LEAST_STRENGTH, Risk, TaskContract

PAGE = (Path(__file__).parents[2] / "docs" / "verification.md").read_text(encoding="utf-8")


@pytest.mark.shows(210)
def test_every_kind_is_shown_by_an_example_that_is_valid_and_with_its_strength() -> None:
    """Protects readers: what they copy from the page works, and no kind is left out."""
    [block] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    given: dict[str, Any] = yaml.safe_load(block)
    task = TaskContract.model_validate({"goal": "x", **given})
    assert [kind_of(check) for check in task.success] == list(KINDS)
    rows = {
        kind: cells[1].strip()
        for line in PAGE.splitlines()
        if line.startswith("| `") and len(cells := line.strip("|").split("|")) == 4
        for kind in re.findall(r"`(\w+)`", cells[0])
    }
    assert rows == {kind_of(check): str(check.strength) for check in task.success}


@pytest.mark.shows(213)
def test_the_table_of_risk_is_the_codes() -> None:
    """Protects readers: what the page wants of a task is what the code wants."""
    for risk in (Risk.MEDIUM, Risk.HIGH):
        [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{risk}` |")]
        enough = STRENGTH_ORDER[STRENGTH_ORDER.index(LEAST_STRENGTH[risk]) :]
        assert {word for word in re.findall(r"`(\w+)`", row) if word in set(Strength)} == set(
            enough
        )
