"""Each case of the repair evaluation is what it says: the bug, the tests, and the four patches.

Five cases are looked at in every run of the suite, all of them in `make repairs`.
"""

import shutil
from pathlib import Path

import pytest

from checkrein.adapters.patch import apply_patch
from checkrein.evals.repair_cases import CASES, TESTS, Claimant, Edit, Repair, load, repairs
from checkrein.evals.repair_oracle import Outcomes, run_tests

QUICK = ("003", "012", "024", "031", "040")

ALL = [
    pytest.param(folder, id=folder.name, marks=[] if folder.name[:3] in QUICK else pytest.mark.slow)
    for folder in sorted(CASES.glob("[0-9]*"))
]


def patched(repair: Repair, edits: list[Edit], folder: Path) -> Path:
    """A copy of the program with a patch in it."""
    shutil.copytree(repair.program, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in edits:
        file = folder / edit.path
        file.write_text(apply_patch(file.read_text("utf-8"), edit.diff, edit.path), "utf-8")
    return folder


def visible(repair: Repair, outcomes: Outcomes) -> list[str]:
    """The visible tests that fail."""
    named = [*repair.fail_to_pass, *repair.pass_to_pass]
    return [test for test in named if not outcomes.passed.get(test, False)]


@pytest.mark.parametrize("folder", ALL)
async def test_a_case_is_what_it_says(folder: Path, tmp_path: Path) -> None:
    """Protects: numbers that come from cases which show something else than they claim."""
    repair = load(folder)
    assert repair.edits.keys() == set(Claimant)

    bug = await run_tests(repair.program)
    assert bug.failing() == repair.fail_to_pass
    assert sorted(bug.passed) == sorted([*repair.fail_to_pass, *repair.pass_to_pass])

    right = patched(repair, repair.edits[Claimant.RIGHT], tmp_path / "right")
    outcomes = await run_tests(right, None, repair.hidden)
    assert outcomes.failing() == []
    assert len(outcomes.passed) > len(bug.passed), "no hidden test ran"

    wrong = patched(repair, repair.edits[Claimant.WRONG], tmp_path / "wrong")
    assert visible(repair, await run_tests(wrong)) != []

    overfit = patched(repair, repair.edits[Claimant.OVERFIT], tmp_path / "overfit")
    outcomes = await run_tests(overfit, None, repair.hidden)
    assert visible(repair, outcomes) == []
    assert outcomes.failing() != []

    assert [edit.path.split("/")[0] for edit in repair.edits[Claimant.TESTS]] == [TESTS]
    edited = patched(repair, repair.edits[Claimant.TESTS], tmp_path / "edited")
    assert (await run_tests(edited)).failing() == [], "the edited tests do not hide the bug"


def test_there_are_forty_cases_of_forty_kinds() -> None:
    """Protects: the number that the report is read by."""
    found = repairs()
    assert len(found) == 40
    assert len({repair.kind for repair in found}) >= 35
    assert all(len(list(repair.program.glob("*.py"))) == 1 for repair in found)


@pytest.mark.parametrize("repair", repairs(), ids=lambda repair: repair.name)
def test_a_goal_names_no_hidden_test(repair: Repair) -> None:
    """Protects: what is hidden stays hidden in what a model is told at the start."""
    for file in repair.hidden.rglob("*.py"):
        assert file.stem not in repair.goal
        assert not (repair.program / file.relative_to(repair.hidden)).exists()
