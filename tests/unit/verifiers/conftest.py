"""A project with tests, and what judges it."""

from pathlib import Path

import pytest
from judged import PROJECT, Judging, written


@pytest.fixture
def judging(tmp_path: Path) -> Judging:
    written(tmp_path / "project", PROJECT)
    return Judging(tmp_path)
