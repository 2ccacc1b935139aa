"""How strong the checks of a task must be: its risk says so, by a table."""

from typing import Any

import pytest
from filled import filled
from pydantic import ValidationError

from checkrein.contracts.check import KINDS, STRENGTH_ORDER, Strength
from checkrein.contracts.task import LEAST_STRENGTH, RISK_ORDER, Risk, TaskContract, shortfall
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.nodes.standing_checks import reports_of_tests, strong_enough

BY_STRENGTH: dict[Strength, dict[str, Any]] = {
    Strength.GUARD: {"unchanged": ["a"]},
    Strength.JUDGE: {"model_judge": {"model": "m", "rubric": "is it kind?", "files": ["**"]}},
    Strength.PERSON: {"human": {"role": "editor", "question": "is it kind?"}},
    Strength.OUTPUT: {"text_match": {"file": "a", "contains": "x"}},
    Strength.TESTS: {"command": {"argv": ["true"]}},
    Strength.STATE: {"file_state": {"path": "a"}},
}
ENOUGH = {
    Risk.LOW: set(Strength),
    Risk.MEDIUM: {Strength.OUTPUT, Strength.TESTS, Strength.STATE},
    Risk.HIGH: {Strength.TESTS, Strength.STATE},
}


def task(risk: Risk, *strengths: Strength) -> TaskContract:
    checks = [BY_STRENGTH[strength] for strength in strengths]
    return TaskContract.model_validate({"goal": "x", "risk": risk, "success": checks})


@pytest.mark.shows(210, 213)
@pytest.mark.parametrize("risk", RISK_ORDER)
@pytest.mark.parametrize("strength", STRENGTH_ORDER)
def test_the_risk_sets_what_is_enough(risk: Risk, strength: Strength) -> None:
    """Protects risky tasks: a contract whose one check proves too little is not read."""
    if strength in ENOUGH[risk]:
        assert [check.strength for check in task(risk, strength).success] == [strength]
    else:
        with pytest.raises(ValidationError, match=f"risk: {risk} (needs at least one|lets no)"):
            task(risk, strength)


@pytest.mark.shows(210, 213)
def test_a_model_decides_nothing_where_the_risk_is_high() -> None:
    """Protects risky tasks: a judge may not stand even beside tests."""
    assert len(task(Risk.MEDIUM, Strength.JUDGE, Strength.TESTS).success) == 2
    with pytest.raises(ValidationError, match="replace model_judge"):
        task(Risk.HIGH, Strength.JUDGE, Strength.TESTS, Strength.STATE)


@pytest.mark.shows(213)
def test_the_gate_looks_once_more() -> None:
    """Protects the gate: a contract that was made without being read is judged by the same rule."""
    short = task(Risk.LOW, Strength.PERSON).model_copy(update={"risk": Risk.HIGH})
    [refused] = strong_enough(short)
    assert (refused.status, refused.repairable) == ("FAIL", False)
    assert "risk: high needs at least one check of strength tests or state; add" in refused.gap
    assert strong_enough(task(Risk.HIGH, Strength.STATE)) == []


@pytest.mark.shows(210)
def test_every_kind_has_a_strength_and_a_model_s_own_word_has_none() -> None:
    """Protects the order of judges: target state first, a model last, self-report never."""
    assert {filled(form).strength for form in KINDS.values()} <= set(Strength)  # type: ignore[attr-defined]
    assert list(LEAST_STRENGTH) == list(RISK_ORDER)
    assert shortfall(Risk.LOW, []) is not None


def test_an_opinion_or_a_scan_is_no_report_of_tests() -> None:
    """Protects readers of evidence: what is called a test report was said by tests that ran."""
    results = [
        CheckResult(kind=kind, name="n", status=CheckStatus.PASS, evidence_ref=f"artifact:{kind}")
        for kind in KINDS
    ]
    reported = {ref.removeprefix("artifact:") for ref in reports_of_tests(results)}
    assert reported == {"command", "pytest", "junit"}


@pytest.mark.parametrize(
    "check",
    [
        {"sarif": {"argv": ["scan"], "report": "out.sarif"}},
        BY_STRENGTH[Strength.JUDGE],
        BY_STRENGTH[Strength.STATE],
    ],
)
def test_a_report_is_expected_only_where_tests_run(check: dict[str, Any]) -> None:
    """Protects: a task that could never hand in its test report is refused when it is read."""
    given = {"goal": "x", "success": [check], "artifacts": ["test_report"]}
    with pytest.raises(ValidationError, match="expects a test_report"):
        TaskContract.model_validate(given)
    tested = given | {"success": [check, BY_STRENGTH[Strength.TESTS]]}
    assert TaskContract.model_validate(tested).artifacts == ["test_report"]
