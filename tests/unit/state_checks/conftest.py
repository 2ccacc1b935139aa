"""A sealed candidate in a folder, and a workspace that the verifiers here never look at."""

from pathlib import Path

import pytest

from checkrein.adapters.workspace import FolderWorkspace


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    folder = tmp_path / "candidate"
    folder.mkdir()
    return folder


@pytest.fixture
async def workspace(tmp_path: Path) -> FolderWorkspace:
    source = tmp_path / "source"
    source.mkdir()
    home = tmp_path / "home"
    ref = await FolderWorkspace.create(source, "copy", home=home, attempt_id="a1")
    return FolderWorkspace(ref, home=home, attempt_id="a1")
