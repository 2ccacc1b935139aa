"""The path guard: what leads outside is refused, by name, by link, and in a race."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkrein.adapters.workspace_paths import MAX_PATH, GuardedFolder, segments_of
from checkrein.errors import CapabilityError, EnvironmentFault

OUTSIDE = [
    "..",
    "../secret.txt",
    "src/../../secret.txt",
    "src/..",
    "/etc/passwd",
    "//etc/passwd",
    "..%2fsecret.txt",
    "%2e%2e/secret.txt",
    "%252e%252e%252fsecret.txt",
    "..\\secret.txt",
    "src\\..\\..\\secret.txt",
    "C:/secret.txt",
    "c:\\secret.txt",
    "~/secret.txt",
    "~",
]
UNUSABLE = [
    "",
    "a\0b",
    "a\nb",
    "a\x1b[31mb",
    "a\\b",
    "a\ud800b",
    "a\u202eb",
    "a\u2028b",
    "x" * (MAX_PATH + 1),
    "x" * 256,
    "src/.checkrein-tmp-eff_1",
    ".checkrein-tmp-x/y",
]


def refused(path: str) -> CapabilityError:
    with pytest.raises(CapabilityError) as caught:
        segments_of(path, op="test")
    assert caught.value.advice
    assert not caught.value.effect_possible
    return caught.value


@pytest.mark.parametrize("path", OUTSIDE)
def test_paths_that_lead_outside_are_refused(path: str) -> None:
    """Protects everything beside the workspace, in each spelling that a model may try."""
    assert refused(path).code == "path_outside_workspace"


@pytest.mark.parametrize("path", UNUSABLE)
def test_unusable_names_are_refused(path: str) -> None:
    """Protects approvers and file systems from names that are not what they look like."""
    assert refused(path).code == "invalid_path"


def test_plain_paths_are_split() -> None:
    """Protects the one spelling of a resource: `./a//b/` and `a/b` are the same."""
    assert segments_of("./src//app.py", op="test") == ("src", "app.py")
    assert segments_of("src/", op="test") == ("src",)
    assert segments_of(".", op="test") == ()
    assert segments_of("...", op="test") == ("...",)
    assert segments_of("50%.txt", op="test") == ("50%.txt",)


@given(st.text(max_size=60))
def test_accepted_paths_never_leave_the_root(path: str) -> None:
    """Protects the guard against spellings that nobody thought of."""
    try:
        segments = segments_of(path, op="test")
    except CapabilityError:
        return
    joined = os.path.normpath(os.path.join("/root/of/it", *segments))
    assert joined == "/root/of/it" or joined.startswith("/root/of/it/")


def read(root: Path, path: str) -> bytes:
    return GuardedFolder(root).read(segments_of(path, op="test"), op="test", limit=1000)


def code_of(root: Path, path: str) -> str:
    with pytest.raises(CapabilityError) as caught:
        read(root, path)
    return caught.value.code


def test_links_are_not_followed(source: Path, tmp_path: Path) -> None:
    """Protects against links to files and to folders, outside and inside alike."""
    (source / "file_link").symlink_to(tmp_path / "secret.txt")
    (source / "folder_link").symlink_to(tmp_path)
    (source / "inner").symlink_to(source / "src")
    (source / "loop").symlink_to(source / "loop")
    for path in ("file_link", "folder_link/secret.txt", "inner/app.py", "loop"):
        assert code_of(source, path) == "path_outside_workspace"


def test_what_is_no_file_is_refused(source: Path) -> None:
    """Protects against hanging on a pipe and against reading a folder."""
    os.mkfifo(source / "pipe")
    assert code_of(source, "pipe") == "not_a_file"
    assert code_of(source, "src") == "not_a_file"
    assert code_of(source, ".") == "not_a_file"
    assert code_of(source, "gone.txt") == "not_found"
    assert code_of(source, "notes.txt/below") == "not_found"
    assert code_of(source, "no/such/folder.txt") == "not_found"


def test_too_large_is_refused(source: Path) -> None:
    """Protects memory."""
    (source / "big").write_bytes(b"x" * 1001)
    assert code_of(source, "big") == "too_large"
    assert read(source, "src/app.py") == b"one\ntwo\nthree\n"


def test_a_lost_root_is_a_fault_of_the_machine(tmp_path: Path) -> None:
    """Protects the difference between a bad call and a broken environment."""
    with pytest.raises(EnvironmentFault, match="start a new attempt"):
        read(tmp_path / "gone", "a")


def test_a_link_swapped_in_during_the_walk_leads_nowhere(source: Path, tmp_path: Path) -> None:
    """Protects against a race: a folder becomes a link to outside while it is walked."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "app.py").write_bytes(b"secret\n")
    link, real, spare = source / "link", source / "src", source / "spare"
    link.symlink_to(outside)
    stop = threading.Event()

    def swap_for_ever() -> None:
        while not stop.is_set():
            real.rename(spare)
            link.rename(real)
            real.rename(link)
            spare.rename(real)

    thread = threading.Thread(target=swap_for_ever)
    thread.start()
    seen: set[str] = set()
    try:
        for _ in range(3000):
            try:
                seen.add(read(source, "src/app.py").decode())
            except CapabilityError as error:
                seen.add(error.code)
    finally:
        stop.set()
        thread.join()
    assert "secret\n" not in seen
    assert seen <= {"one\ntwo\nthree\n", "path_outside_workspace", "not_found"}


def test_other_spellings_of_a_name_are_refused_where_the_disk_holds_them_equal(
    source: Path,
) -> None:
    """Protects policies on file systems that ignore case: `SRC` must not pass for `src`."""
    folder = GuardedFolder(source, folds_case=True)
    with pytest.raises(CapabilityError, match="spelled 'src'"):
        folder.read(("SRC", "app.py"), op="test", limit=100)
    assert folder.read(("src", "app.py"), op="test", limit=100)


def test_facts_for_policies(source: Path, tmp_path: Path) -> None:
    """Protects policies: links are resolved, and what lies outside is not even looked at."""
    (source / "out").symlink_to(tmp_path)
    (source / "alias").symlink_to("src")
    folder = GuardedFolder(source)

    plain = folder.locate("path", "./src/app.py")
    assert (plain.segments, plain.inside, plain.exists, plain.symlink) == (
        ["src", "app.py"], True, True, False,
    )  # fmt: skip
    alias = folder.locate("path", "alias/app.py")
    assert (alias.segments, alias.inside, alias.symlink) == (["src", "app.py"], True, True)
    new = folder.locate("path", "src/new.py")
    assert (new.inside, new.exists) == (True, False)
    root = folder.locate("path", ".")
    assert (root.segments, root.inside, root.exists) == ([], True, True)
    for path in ("../secret.txt", "out/secret.txt", "/etc/passwd", "", "a\0b", "..%2fx"):
        fact = folder.locate("path", path)
        assert (fact.inside, fact.exists) == (False, False)
