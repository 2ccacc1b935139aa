"""A small source folder, a home beside it, and a workspace made of the two."""

from pathlib import Path

import pytest

from checkrein.adapters.workspace import FolderWorkspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two files, a secret beside the folder, and nothing else."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_bytes(b"one\ntwo\nthree\n")
    (folder / "notes.txt").write_bytes(b"note\n")
    (tmp_path / "secret.txt").write_bytes(b"secret\n")
    return folder


@pytest.fixture
async def workspace(source: Path, home: Path) -> FolderWorkspace:
    """A workspace in place, so that tests can reach its files through `source`."""
    ref = await FolderWorkspace.create(source, "in_place", home=home, attempt_id="a1")
    return FolderWorkspace(ref, home=home, attempt_id="a1", lock_wait_s=5)
