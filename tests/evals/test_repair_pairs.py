"""Pairs of releases as repairs: fetched safely, and split into what a model sees and what not."""

import io
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from checkrein.errors import EnvironmentFault
from checkrein.evals.repair_cases import Claimant
from checkrein.evals.repair_hunks import edits, hunks, patched, subsets
from checkrein.evals.repair_pairs import extract, fetched, pairs
from checkrein.evals.repair_split import Split, mended

BEFORE = "def half(n):\n    return n / 2\n\n\nA = 1\n\n\ndef third(n):\n    return n / 3\n"
AFTER = "def half(n):\n    return n // 2\n\n\nA = 1\n\n\ndef third(n):\n    return n // 3\n"
TESTS = """import pytest

from shares import half, third


def test_half():
    assert half(5) == 2


@pytest.mark.parametrize("n", [3, 7])
def test_third(n):
    assert third(n) == n // 3


def test_even():
    assert half(4) == 2
"""


def laid_out(folder: Path) -> Split:
    """Two releases of a small package, as if they had been fetched."""
    split = Split(*(folder / name for name in Split._fields))
    for root, text in ((split.program, BEFORE), (split.mended, AFTER)):
        (root / "shares").mkdir(parents=True)
        (root / "shares" / "__init__.py").write_text(text)
        (root / "tests").mkdir()
        (root / "tests" / "test_shares.py").write_text(TESTS)
        (root / "tests" / "test_other.py").write_text("import not_installed_anywhere\n")
    return split


async def test_a_pair_becomes_a_repair(tmp_path: Path) -> None:
    """Protects: half of what shows a real bug is out of the model's sight."""
    split = laid_out(tmp_path)
    repair, why = await mended("shares 1 to 2", "shares are not whole", split)
    assert repair.fail_to_pass == ["tests/test_shares.py::test_half"]
    assert repair.pass_to_pass == ["tests/test_shares.py::test_even"]
    assert "test_third" not in (split.program / "tests" / "test_shares.py").read_text()
    assert "test_third" in (split.hidden / "tests" / "test_shares.py").read_text()
    assert repair.edits.keys() == set(Claimant)
    overfit = repair.edits[Claimant.OVERFIT][0].diff
    assert "+    return n // 2" in overfit
    assert "+    return n // 3" not in overfit
    assert all(edit.path.startswith("shares/") for edit in repair.edits[Claimant.RIGHT])
    assert "2 failing tests, 1 of them visible" in why


async def test_releases_that_no_test_tells_apart_are_no_repair(tmp_path: Path) -> None:
    """Protects: a pair without a bug would count as one that was mended."""
    split = laid_out(tmp_path)
    (split.program / "shares" / "__init__.py").write_text(AFTER)
    with pytest.raises(EnvironmentFault, match="0 tests tell"):
        await mended("shares", "nothing", split)


def test_hunks_are_taken_one_by_one(tmp_path: Path) -> None:
    """Protects: a part of a patch changes what it says and nothing else."""
    split = laid_out(tmp_path)
    found = hunks(split.program, split.mended)
    assert len(found) == 2
    whole = patched(split.program, found)
    assert whole == {"shares/__init__.py": AFTER}
    (only_half, only_third) = [patched(split.program, part) for part in subsets(found)[2:]]
    assert only_half["shares/__init__.py"] == BEFORE.replace("n / 2", "n // 2")
    assert only_third["shares/__init__.py"] == BEFORE.replace("n / 3", "n // 3")
    (edit,) = edits(split.program, whole)
    assert edit.diff.startswith("--- a/shares/__init__.py\n+++ b/shares/__init__.py\n@@")


async def test_without_an_index_a_pair_is_null(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: what could not be fetched is said, with its reason, and is no result."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    found = await fetched(pairs()[-1], tmp_path / "work")
    assert found.repair is None
    assert "cachetools 5.5.1 cannot be fetched" in found.why


async def test_an_archive_with_another_hash_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects: nothing is unpacked that is not what was meant."""
    archive(tmp_path / "cachetools-5.5.1.tar.gz", "cachetools-5.5.1/setup.py")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    found = await fetched(pairs()[-1], tmp_path / "work")
    assert found.repair is None
    assert "HASH" in found.why.upper()
    assert not (tmp_path / "work" / "cachetools-5.5.1" / "source").exists()


@pytest.mark.parametrize("name", ["../outside.txt", "/tmp/outside.txt"])
def test_an_archive_cannot_reach_outside(name: str, tmp_path: Path) -> None:
    """Protects: unpacking stays in its folder, whatever the archive names."""
    made = archive(tmp_path / "a.tar.gz", name)
    target = tmp_path / "in" / "here"
    with suppress(tarfile.TarError):
        extract(made, target)
    assert not (tmp_path / "in" / "outside.txt").exists()
    assert not Path("/tmp/outside.txt").exists()


def archive(path: Path, *names: str) -> Path:
    """An archive of small files."""
    with tarfile.open(path, "w:gz") as opened:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            opened.addfile(member, io.BytesIO(b"x"))
    return path
