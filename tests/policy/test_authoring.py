"""What policy authors run, on the shipped bundle and on one whose tests do not all pass."""

from pathlib import Path

import pytest

from checkrein.contracts.decision import Constraints
from checkrein.errors import InputError
from checkrein.policy_rego import authoring
from checkrein.policy_rego.bundle_files import shipped_bundle

SHIPPED = Path(shipped_bundle().origin)


async def test_shipped_bundle_passes_its_own_check() -> None:
    """`make policy`, first half."""
    assert await authoring.check(SHIPPED) == []


@pytest.mark.shows(61)
async def test_shipped_rego_tests_pass_and_reach_every_line() -> None:
    """`make policy`, second half: identity, capability, arguments and situation each have tests."""
    report = await authoring.test(SHIPPED, deadline_s=30)
    broken = [result for result in report.results if result.outcome != "pass"]
    assert broken == []
    assert report.ok
    assert {path.rpartition("/")[2] for path in {r.path for r in report.results}} == {
        "decision_test.rego",
        "workspace_test.rego",
        "protected_test.rego",
        "paths_test.rego",
        "planning_test.rego",
        "untrusted_test.rego",
        "capabilities_test.rego",
        "commit_test.rego",
    }
    assert {file.path: file.missed for file in report.coverage if file.missed} == {}
    assert report.percent == 100.0
    assert report.version == shipped_bundle().version


async def test_every_way_that_a_test_can_end(bundles: Path) -> None:
    """False, broken and endless tests fail alone: those behind them run all the same."""
    report = await authoring.test(bundles / "failing_test", deadline_s=2.0)
    outcomes = {result.name.rpartition(".")[2]: result.outcome for result in report.results}
    assert outcomes == {
        "test_list_is_allowed": "pass",
        "test_read_is_allowed": "fail",
        "test_breaks": "error",
        "test_never_ends": "error",
        "test_after_the_endless_one": "pass",
        "todo_test_later": "skip",
    }
    assert not report.ok
    assert [report.count(word) for word in ("pass", "fail", "error", "skip")] == [2, 1, 2, 1]
    by_name = {result.name.rpartition(".")[2]: result for result in report.results}
    assert "x_test.rego:14:" in by_name["test_breaks"].message
    assert "within 2 s" in by_name["test_never_ends"].message
    assert by_name["test_read_is_allowed"].line == 9


async def test_no_test_is_no_success(bundles: Path) -> None:
    """A bundle without tests does not pass them; its unreached rules are counted."""
    report = await authoring.test(bundles / "allow_all")
    assert not report.ok
    assert report.results == []
    assert [(file.path, file.missed) for file in report.coverage] == [
        ("checkrein/rules/allow_all.rego", [10])
    ]
    assert report.percent == 0.0


async def test_what_cannot_be_checked_is_told(bundles: Path, tmp_path: Path) -> None:
    """A missing folder is a wrong call; a changed entrypoint is a finding like others."""
    with pytest.raises(InputError, match="does not exist"):
        await authoring.check(tmp_path / "nowhere")
    (found,) = await authoring.check(bundles / "entrypoint_maybe")
    assert str(found).startswith("checkrein/decision.rego:1:1: checkrein/decision.rego differs")
    with pytest.raises(InputError, match="x.rego:5:1: Expecting expression"):
        await authoring.test(bundles / "syntax")


def test_metadata_tell_what_each_rule_answers() -> None:
    """Every member of the shipped rules has an annotation that names its reason code."""
    for path, text in shipped_bundle().modules.items():
        if "/rules/" in path:
            told = {line.split()[-1] for line in text.splitlines() if "reason_code: " in line}
            given = {line.split('"')[3] for line in text.splitlines() if '{"reason_code"' in line}
            assert told == given, path


def test_entrypoint_knows_every_constraint() -> None:
    """A constraint that the contracts gain must be merged by the entrypoint, or no rule has it."""
    text = shipped_bundle().modules["checkrein/decision.rego"]
    assert {name for name in Constraints.model_fields if f'"{name}"' not in text} == set()
