"""Reading files and listing folders: bounded, by lines, and never bytes that are no text."""

from pathlib import Path

import pytest

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_reads import MAX_LISTED, SHOWN, ListFolder, ReadFile
from checkrein.adapters.workspace_writes import ApplyPatch
from checkrein.contracts.codec import digest
from checkrein.errors import CapabilityError

PATCH = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-note\n+noted\n"


@pytest.fixture
def reader(workspace: FolderWorkspace) -> ReadFile:
    return ReadFile(workspace)


@pytest.fixture
def lister(workspace: FolderWorkspace) -> ListFolder:
    return ListFolder(workspace)


@pytest.fixture
def patcher(workspace: FolderWorkspace) -> ApplyPatch:
    return ApplyPatch(workspace)


async def test_reading_lines(reader: ReadFile, source: Path) -> None:
    """Protects the model's view: which lines these are, and of how many."""
    found = await reader.read({"path": "src/app.py"}, {})
    assert found.result["text"] == "one\ntwo\nthree\n"
    assert (found.version, found.truncated) == (digest(b"one\ntwo\nthree\n"), False)
    some = (await reader.read({"path": "src/app.py", "offset": 2, "limit": 1}, {})).result
    assert (some["text"], some["first_line"], some["last_line"]) == ("two\n", 2, 2)
    assert some["total_lines"] == 3
    (source / "empty").write_bytes(b"")
    assert (await reader.read({"path": "empty"}, {})).result["text"] == ""
    with pytest.raises(CapabilityError, match="there is no line 9") as caught:
        await reader.read({"path": "src/app.py", "offset": 9}, {})
    assert caught.value.code == "past_end"


async def test_reading_is_bounded_and_the_whole_is_kept(reader: ReadFile, source: Path) -> None:
    """Protects the context, and the way from a shortened observation to its original."""
    whole = b"".join(b"line %06d\n" % n for n in range(20_000))
    (source / "big.txt").write_bytes(whole)
    found = await reader.read({"path": "big.txt"}, {})
    assert len(found.result["text"]) <= SHOWN
    assert found.truncated
    assert found.original == whole
    last = found.result["last_line"]
    rest = await reader.read({"path": "big.txt", "offset": last + 1, "limit": 1}, {})
    assert rest.result["text"] == f"line {last:06}\n"
    assert not rest.truncated
    (source / "long.txt").write_bytes("é".encode() * 100_000)
    one = await reader.read({"path": "long.txt"}, {})
    assert one.truncated
    assert len(one.result["text"].encode()) <= SHOWN


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfe\xfd"])
async def test_binary_files_are_refused(
    data: bytes, reader: ReadFile, patcher: ApplyPatch, source: Path
) -> None:
    """Protects contexts and patches from bytes that are no text."""
    (source / "notes.txt").write_bytes(data)
    for call in (
        reader.read({"path": "notes.txt"}, {}),
        patcher.prepare({"path": "notes.txt", "patch": PATCH}),
    ):
        with pytest.raises(CapabilityError) as caught:
            await call
        assert caught.value.code == "binary_file"


async def test_listing(lister: ListFolder, source: Path) -> None:
    """Protects orientation: one folder, in order, with kinds; what is ours or Git's is no part."""
    (source / "link").symlink_to("notes.txt")
    (source / ".git").mkdir()
    (source / ".checkrein-tmp-x").write_text("half")
    found = await lister.read({}, {})
    assert found.result["entries"] == [
        {"name": "link", "kind": "link"},
        {"name": "notes.txt", "kind": "file", "bytes": 5},
        {"name": "src", "kind": "folder"},
    ]
    with pytest.raises(CapabilityError) as caught:
        await lister.read({"path": "notes.txt"}, {})
    assert caught.value.code == "not_found"
    for n in range(MAX_LISTED + 1):
        (source / "src" / f"f{n}").touch()
    many = await lister.read({"path": "src"}, {})
    assert (len(many.result["entries"]), many.result["total"]) == (MAX_LISTED, MAX_LISTED + 2)
    assert many.truncated
    assert many.original is not None
