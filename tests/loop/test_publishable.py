"""What nobody could ever hand over is not verified, and the model is told while it can mend it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loops
import pytest

from checkrein import capability
from checkrein.contracts.approval import Approver
from checkrein.contracts.event import VerificationFinished
from checkrein.contracts.verification import PUBLISHABLE
from checkrein.settings import Settings


def _link(root: Path) -> None:
    (root / "odd").symlink_to("a.txt")


def _other_kind(root: Path) -> None:
    (root / "keep.txt").unlink()
    (root / "keep.txt").mkdir()
    (root / "keep.txt" / "b.txt").write_text("b\n")


def _mended(root: Path) -> None:
    (root / "odd").unlink(missing_ok=True)
    if (root / "keep.txt").is_dir():
        (root / "keep.txt" / "b.txt").unlink()
        (root / "keep.txt").rmdir()
        (root / "keep.txt").write_text("kept\n")


def maker(home: Path, make: Callable[[Path], None]) -> Any:
    """A tool that works in the workspace of the only attempt."""

    @capability("odd.make", resource=lambda a: f"odd:{a['mend']}")
    async def odd(mend: bool) -> None:
        """Make something odd, or mend it."""
        await asyncio.to_thread(work, _mended if mend else make)

    def work(change: Callable[[Path], None]) -> None:
        (root,) = (file.parent for file in home.glob("**/work/a.txt"))
        change(root)

    return odd


def _turns(*, mends: bool) -> list[Any]:
    made = loops.says("", loops.call("odd.make", mend=False))
    mended = [loops.says("", loops.call("odd.make", mend=True)), loops.DONE] if mends else []
    return [made, loops.DONE, *mended]


@pytest.mark.shows(207)
@pytest.mark.parametrize(
    ("make", "named"),
    [
        (_link, "odd: it is a link"),
        (_other_kind, "keep.txt: it was a file and is a folder now"),
    ],
)
async def test_it_is_mended_before_it_is_verified(
    make: Callable[[Path], None], named: str, tmp_path: Path, settings: Settings
) -> None:
    """Protects: whatever ends verified can be committed; the gap names the very paths."""
    contract = loops.contract(
        tmp_path,
        _turns(mends=True),
        files={"a.txt": "one\n", "keep.txt": "kept\n"},
        policy=loops.ALLOW_ALL,
        capabilities=["odd.make"],
        commit_authority="bob",
    )
    async with loops.opened(settings, maker(settings.home, make)) as (harness, parts):
        report = await harness.run(contract)
        assert report.verified, report
        told = await loops.payloads(parts, report.attempt_id)
        first, last = (p.result for p in told if isinstance(p, VerificationFinished))
        (gap,) = first.gaps
        assert named in gap
        assert first.repairable
        assert PUBLISHABLE in {check.kind for check in last.checks}
        assert (await parts.front_door.commit(report.task_id, Approver(name="bob"))).verified


async def test_where_nothing_is_moved_it_is_nobodys_business(
    tmp_path: Path, settings: Settings
) -> None:
    """Protects: a link is no fault of a task that nobody may commit."""
    contract = loops.contract(
        tmp_path,
        _turns(mends=False),
        policy=loops.ALLOW_ALL,
        capabilities=["odd.make"],
    )
    async with loops.opened(settings, maker(settings.home, _link)) as (harness, _):
        assert (await harness.run(contract)).verified


async def test_what_was_a_link_before_may_stay_one(tmp_path: Path, settings: Settings) -> None:
    """Protects: what nobody changed need not be handed over, whatever it is."""
    contract = loops.contract(tmp_path, [loops.DONE], commit_authority="bob")
    (tmp_path / "workspace" / "link").symlink_to("a.txt")
    async with loops.opened(settings) as (harness, _):
        assert (await harness.run(contract)).verified


def test_it_is_for_copies_that_are_published(tmp_path: Path) -> None:
    """Protects: work in place, and acts of somebody's own, move no files of ours."""
    folder = {"path": str(tmp_path / "workspace")}
    others: list[dict[str, Any]] = [
        {},
        {"commit_authority": "bob", "workspace": folder | {"mode": "in_place"}},
        {"commit_authority": "bob", "commit": {"capability": "desk.release"}},
    ]
    assert not any(loops.contract(tmp_path, [], **fields).moves_files for fields in others)
    assert loops.contract(tmp_path, [], commit_authority="bob").moves_files
