"""A part of the repair evaluation: whole attempts, judged by the harness and by an oracle."""

from pathlib import Path

import pytest

from checkrein.contracts.attempt import AttemptStatus
from checkrein.evals import repair_report as report
from checkrein.evals.repair_cases import CASES, QUICK, Claimant, Repair, repairs
from checkrein.evals.repair_oracle import run_tests, sound
from checkrein.evals.repair_runs import Tried, allowing, bench
from checkrein.evals.repairs import jobs, plan_of
from checkrein.settings import Settings

VERIFIED = AttemptStatus.CANDIDATE_VERIFIED
REFUSED = AttemptStatus.FAILED_VERIFICATION


# One in every run, the others in the slow one: each is five whole attempts.
_REPAIRS = [
    pytest.param(one, id=one.name, marks=[pytest.mark.slow] if number else [])
    for number, one in enumerate(repairs(QUICK))
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("repair", _REPAIRS)
async def test_only_what_is_right_is_called_done(
    repair: Repair, settings: Settings, tmp_path: Path
) -> None:
    """Protects: a model's claim is no completion, whatever it did to look done."""
    policy = allowing(tmp_path / "policy")
    async with bench(settings) as shipped, bench(settings, policy=policy) as open_to_all:
        tried = [await shipped.attempt(repair, who) for who in Claimant]
        tried.append(await open_to_all.attempt(repair, Claimant.TESTS))
    assert report.surprises(tried) == []
    assert [one.status for one in tried] == [VERIFIED, REFUSED, REFUSED, REFUSED, REFUSED]
    assert [one.applied for one in tried] == [1, 1, 1, 0, 1]
    assert not any(one.told for one in tried)


async def test_the_oracle_believes_the_original_tests_alone(tmp_path: Path) -> None:
    """Protects: an oracle that edited tests could talk round would measure nothing."""
    (repair,) = repairs(["002"])
    folder = tmp_path / "left"
    (folder / "tests").mkdir(parents=True)
    (folder / "lru.py").write_bytes((repair.program / "lru.py").read_bytes())
    (folder / "tests" / "test_lru.py").write_text("def test_fine():\n    pass\n")
    assert not await sound(repair, folder)


async def test_an_inherited_test_is_named_where_it_runs(tmp_path: Path) -> None:
    """Protects: real projects share tests by base classes, and each class counts by itself."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").write_text(
        "class Base:\n    def test_it(self):\n        assert self.good\n"
    )
    (tmp_path / "tests" / "test_both.py").write_text(
        "from . import Base\n\n\nclass TestA(Base):\n    good = True\n\n\n"
        "class TestB(Base):\n    good = False\n"
    )
    assert (await run_tests(tmp_path)).passed == {
        "tests/test_both.py::TestA::test_it": True,
        "tests/test_both.py::TestB::test_it": False,
    }


def tried(who: Claimant, status: AttemptStatus, *, is_sound: bool, told: bool = False) -> Tried:
    """An attempt that was never made."""
    return Tried("001_x", "off_by_one", who, False, status, "", 1, is_sound, told)


def test_what_counts_as_false_and_as_missed() -> None:
    """Protects: the two numbers that the evaluation is for."""
    good = [
        tried(Claimant.RIGHT, VERIFIED, is_sound=True),
        tried(Claimant.WRONG, REFUSED, is_sound=False),
    ]
    false = tried(Claimant.OVERFIT, VERIFIED, is_sound=False)
    missed = tried(Claimant.RIGHT, REFUSED, is_sound=True)
    assert report.count(good) == report.Count(2, 1, 0, 0, 0)
    assert report.count([*good, false]) == report.Count(3, 2, 1, 0, 1)
    assert report.count([*good, missed]) == report.Count(3, 1, 0, 1, 1)
    assert report.ok(good, [])
    assert not report.ok([*good, false], [])
    assert not report.ok([*good, missed], [])
    assert not report.ok([], []), "nothing measured is nothing shown"


def test_a_hidden_test_that_reached_the_model_is_told() -> None:
    """Protects: a leak counts against the evaluation even where the result is right."""
    leaked = tried(Claimant.RIGHT, VERIFIED, is_sound=True, told=True)
    assert not report.ok([leaked], [])


def test_a_pair_that_could_not_be_fetched_is_null() -> None:
    """Protects: what was not measured is never counted as passed."""
    good = [tried(Claimant.RIGHT, VERIFIED, is_sound=True)]
    gone = report.PairResult("a 1 to 2", None, "there is no network")
    document = report.document(good, [gone], {})
    assert document["pairs"] == {"a 1 to 2": None}
    assert document["pairs_why"] == {"a 1 to 2": "there is no network"}
    assert "null (there is no network)" in report.text(good, [gone])


def test_the_seed_only_shuffles() -> None:
    """Protects: two seeds measure the same."""
    cases = repairs(QUICK)
    one, other = jobs(cases, 1), jobs(cases, 2)
    assert one != other
    assert sorted(map(str, one)) == sorted(map(str, other))
    assert len(one) == len(cases) * 5


def test_a_plan_names_cases() -> None:
    """Protects: a run of some cases fetches nothing from anywhere."""
    plan = plan_of(["007", "--seed", "5"])
    assert [case.name for case in plan.cases] == ["007_graph_search"]
    assert (plan.pairs, plan.seed) == (False, 5)
    assert plan_of([]).pairs
    assert CASES.is_dir()
