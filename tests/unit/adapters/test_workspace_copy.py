"""Making workspaces: what a source may be, and what copy, baseline and diff hold."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_copy import create_workspace
from checkrein.errors import EnvironmentFault, InputError, IntegrityError


def refusal(source: Path, home: Path) -> str:
    with pytest.raises(InputError) as caught:
        create_workspace(source, "copy", home, "a1")
    assert not (home / "workspaces" / "a1").exists()
    return str(caught.value)


def test_unusable_sources_are_refused(source: Path, home: Path, tmp_path: Path) -> None:
    """Protects people: each bad workspace gets one message with what, where and what to do."""
    assert "does not exist. Name an existing" in refusal(tmp_path / "gone", home)
    assert "is not a directory. Name a folder" in refusal(source / "notes.txt", home)
    assert "cannot be reached" in refusal(Path("a\0b"), home)
    inside = home / "workspaces"
    inside.mkdir(parents=True)
    assert "lies inside CHECKREIN_HOME" in refusal(inside, home)
    (tmp_path / "link").symlink_to(inside)
    assert "lies inside CHECKREIN_HOME" in refusal(tmp_path / "link", home)
    assert "contains CHECKREIN_HOME" in refusal(tmp_path, home)
    os.mkfifo(source / "pipe")
    assert "'pipe' in the workspace is a pipe, socket or device" in refusal(source, home)


def test_ids_that_are_no_names_are_refused(source: Path, home: Path) -> None:
    """Protects the home: an id becomes a folder's name."""
    for bad in ("../a", "", "a/b", ".hidden"):
        with pytest.raises(InputError, match="is no attempt id"):
            create_workspace(source, "copy", home, bad)


AS_NOBODY = """
import os, sys
from pathlib import Path
from checkrein.adapters.workspace_copy import create_workspace
from checkrein.errors import InputError
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for name in ("closed", "holds_closed"):
    try:
        create_workspace(Path(sys.argv[1], name), "copy", Path(sys.argv[1], "home"), "a1")
    except InputError as error:
        print(error)
"""


def test_unreadable_sources_are_refused() -> None:
    """Protects people who lack a permission; as another user, since root may read everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for child in ("closed", "holds_closed", "home"):
            (folder / child).mkdir()
        (folder / "holds_closed" / "notes.txt").write_text("x")
        (folder / "holds_closed" / "notes.txt").chmod(0)
        (folder / "closed").chmod(0)
        (folder / "home").chmod(0o777)
        said = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, name], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        (folder / "closed").chmod(0o755)
    assert "is not readable for this user" in said[0]
    assert "'notes.txt' in the workspace cannot be copied" in said[1]


async def test_a_copy_leaves_the_source_alone(source: Path, home: Path) -> None:
    """Protects the person's own folder: effects go to the copy, Git comes along, links stay."""
    (source / ".git").mkdir()
    (source / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("notes.txt")
    ref = await FolderWorkspace.create(source, "copy", home=home, attempt_id="a1")
    workspace = FolderWorkspace(ref, home=home, attempt_id="a1")
    root = Path(ref.root)
    assert root == home / "workspaces" / "a1" / "work"
    assert ref.source == str(source)
    assert await workspace.digest() == ref.baseline
    assert (root / ".git" / "HEAD").exists()
    assert not (home / "workspaces" / "a1" / "baseline" / ".git").exists()
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o755
    assert os.readlink(root / "link") == "notes.txt"
    (root / "notes.txt").write_text("changed")
    assert (source / "notes.txt").read_text() == "note\n"
    assert await workspace.changed(["**"]) == ["notes.txt"]


async def test_making_it_again_gives_the_same(source: Path, home: Path) -> None:
    """Protects a start that is executed twice: work that was done stays."""
    ref = await FolderWorkspace.create(source, "copy", home=home, attempt_id="a1")
    notes = home / "workspaces" / "a1" / "work" / "notes.txt"
    notes.write_text("work")
    (source / "notes.txt").write_text("moved on")
    assert await FolderWorkspace.create(source, "copy", home=home, attempt_id="a1") == ref
    assert notes.read_text() == "work"
    assert [path.name for path in (home / "workspaces").iterdir()] == ["a1"]


async def test_changed_names_what_differs_new_and_gone(
    workspace: FolderWorkspace, source: Path
) -> None:
    """Protects the `unchanged` constraint in each way in which a path can differ."""
    (source / "src" / "new.py").write_text("x")
    (source / "src" / "app.py").write_text("x")
    (source / "src" / ".hidden").write_text("x")
    (source / "notes.txt").unlink()
    assert await workspace.changed(["src/**"]) == ["src/.hidden", "src/app.py", "src/new.py"]
    assert await workspace.changed(["src"]) == ["src/.hidden", "src/app.py", "src/new.py"]
    assert await workspace.changed(["**/*.py"]) == ["src/app.py", "src/new.py"]
    assert await workspace.changed(["*.txt"]) == ["notes.txt"]
    assert await workspace.changed(["docs/**"]) == []


async def test_a_changed_baseline_proves_nothing(workspace: FolderWorkspace, home: Path) -> None:
    """Protects against comparing with a baseline that was made to fit."""
    (home / "workspaces" / "a1" / "baseline" / "notes.txt").write_text("forged")
    with pytest.raises(IntegrityError, match="not what it was"):
        await workspace.changed(["**"])


def git_apply(diff: str, folder: Path) -> None:
    said = subprocess.run(
        ["git", "apply", "-"], input=diff.encode(), cwd=folder, capture_output=True
    )
    assert said.returncode == 0, said.stderr


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o111)
        for path in folder.rglob("*")
        if path.is_file()
    }


async def test_a_diff_applies(workspace: FolderWorkspace, source: Path, tmp_path: Path) -> None:
    """Protects the diff as a product: git applies it, and gets what is there now."""
    shutil.copytree(source, tmp_path / "before")
    (source / "src" / "app.py").write_bytes(b"one\n2\nthree")
    (source / "a name.txt").write_bytes(b"new\r\nfile\n")
    (source / "notes.txt").unlink()
    (source / "src" / "empty.py").write_bytes(b"")
    (source / "src" / "app.py").chmod(0o755)
    diff = await workspace.diff()
    git_apply(diff, tmp_path / "before")
    assert files(tmp_path / "before") == files(source)


async def test_a_diff_names_what_is_no_text(workspace: FolderWorkspace, source: Path) -> None:
    """Protects readers of a diff from bytes, and from not hearing of them."""
    (source / "notes.txt").write_bytes(b"\0\1\2")
    (source / "link").symlink_to("/etc/passwd")
    diff = await workspace.diff()
    assert "Binary files a/notes.txt and b/notes.txt differ" in diff
    assert "Symbolic link link: /etc/passwd" in diff


async def test_a_copy_for_verifiers_has_the_same_digest(
    workspace: FolderWorkspace, source: Path, tmp_path: Path
) -> None:
    """Protects what a verdict is about: the copy is what was sealed."""
    (source / ".git").mkdir()
    target = tmp_path / "copy"
    assert await workspace.copy_to(target) == await workspace.digest()
    assert (target / "src" / "app.py").read_bytes() == b"one\ntwo\nthree\n"
    assert not (target / ".git").exists()
    with pytest.raises(EnvironmentFault, match="cannot be copied"):
        await workspace.copy_to(target)
