"""The artifact store: what is read is what was stored, or it is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.contracts.artifact import Artifact
from checkrein.contracts.codec import digest
from checkrein.errors import EnvironmentFault, InputError, IntegrityError


@pytest.fixture
def store(home: Path) -> FolderArtifactStore:
    return FolderArtifactStore(home, max_bytes=1000)


async def put(store: FolderArtifactStore, data: bytes) -> Artifact:
    return await store.put(data, name="n", media_type="text/plain", producer="test")


def files(home: Path) -> list[Path]:
    return sorted(path for path in (home / "artifacts").rglob("*") if path.is_file())


async def test_bytes_come_back_by_their_hash(store: FolderArtifactStore, home: Path) -> None:
    """Protects references: both forms lead to the same bytes, kept once."""
    one = await put(store, b"content")
    assert (one.hash, one.uri) == (digest(b"content"), f"artifact:{digest(b'content')}")
    assert (one.size, one.name, one.producer) == (7, "n", "test")
    assert await put(store, b"content") == one
    assert await store.get(one.uri) == await store.get(one.hash) == b"content"
    hex_digest = one.hash.removeprefix("sha256:")
    assert files(home) == [home / "artifacts" / hex_digest[:2] / hex_digest]


@pytest.mark.shows(6)
async def test_a_flipped_byte_is_refused(store: FolderArtifactStore, home: Path) -> None:
    """Protects evidence: changed bytes are no evidence; storing them again mends it."""
    stored = await put(store, b"content")
    (path,) = files(home)
    path.write_bytes(b"cOntent")
    with pytest.raises(IntegrityError, match="has changed since"):
        await store.get(stored.uri)
    await put(store, b"content")
    assert await store.get(stored.uri) == b"content"
    path.unlink()
    with pytest.raises(IntegrityError, match="cannot be read"):
        await store.get(stored.uri)


@pytest.mark.parametrize("ref", ["", "sha256:", "artifact:../x", "md5:" + "0" * 64, "0" * 64])
async def test_other_references_are_refused(ref: str, store: FolderArtifactStore) -> None:
    """Protects the folder: a reference is a hash and never a path."""
    with pytest.raises(IntegrityError, match="no reference"):
        await store.get(ref)


async def test_too_large_is_refused(store: FolderArtifactStore) -> None:
    """Protects the disk."""
    with pytest.raises(InputError, match="more than 1000"):
        await put(store, b"x" * 1001)


FULL = """
import asyncio, resource, sys
from pathlib import Path
from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.errors import EnvironmentFault

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
store = FolderArtifactStore(Path(sys.argv[1]))
try:
    asyncio.run(store.put(b"x" * 5000, name="n", media_type="text/plain", producer="test"))
except EnvironmentFault as error:
    print(error.code, error)
"""


def test_a_full_disk_is_named_and_leaves_nothing(home: Path) -> None:
    """Protects people, who must know where there is no room, and the store from halves."""
    said = subprocess.run(
        [sys.executable, "-c", FULL, str(home)], capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith("artifact_not_stored An artifact of 5000 bytes cannot be stored in")
    assert str(home / "artifacts") in said
    assert "File too large" in said
    assert files(home) == []


async def test_a_folder_that_cannot_be_is_a_fault(home: Path, tmp_path: Path) -> None:
    """Protects the difference between a broken disk and a bug."""
    (tmp_path / "home").write_text("a file where the folder should be")
    with pytest.raises(EnvironmentFault, match="Make room there"):
        await put(FolderArtifactStore(home), b"x")
