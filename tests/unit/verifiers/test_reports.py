"""Reports of runners and scanners: files that a hostile process may have written."""

import json
from typing import Any

import pytest
from judged import MENDED, Files, Judging, written

from checkrein.adapters.junit_report import MAX_REPORT, read_report
from checkrein.contracts.verification import CheckStatus
from checkrein.errors import EnvironmentFault, InputError

BOMB = (
    '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    '<testsuite><testcase name="x">&b;</testcase></testsuite>'
)
OUTSIDE = (
    '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    '<testsuite><testcase name="x"><failure>&a;</failure></testcase></testsuite>'
)
BAD = {
    "entities that grow": BOMB,
    "an entity from outside": OUTSIDE,
    "a document type alone": "<!DOCTYPE testsuite><testsuite/>",
    "cut off": '<testsuite><testcase name="x">',
    "another root": "<html/>",
    "no XML": "all passed",
    "nothing": "",
    "a case in a case": '<testsuite><testcase name="x"><testcase name="y"/></testcase></testsuite>',
    "a case without a name": "<testsuite><testcase/></testsuite>",
    "an encoding that there is not": '<?xml version="1.0" encoding="foo"?><testsuite/>',
    "an encoding of many bytes": '<?xml version="1.0" encoding="shift_jis"?><testsuite/>',
}
ONE = '<testsuite><testcase classname="a.B" name="t"/></testsuite>'


def runs(report: str, code: int = 0, **spec: Any) -> dict[str, Any]:
    """A check of a runner that writes this report."""
    show = f"import sys; open('out.xml', 'w').write({report!r}); sys.exit({code})"
    return {"junit": {"argv": ["python", "-c", show], "report": "out.xml", **spec}}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_no_plain_report_is_refused(text: str) -> None:
    """Protects the harness: nothing grows, nothing is fetched, nothing is guessed."""
    with pytest.raises(InputError, match="The test report cannot be read"):
        read_report(text.encode())


def test_size_and_depth_are_bounded() -> None:
    """Protects memory and stack."""
    with pytest.raises(InputError, match="larger than"):
        read_report(b" " * (MAX_REPORT + 1))
    deep = "<testsuite>" + "<properties>" * 100_000 + "</properties>" * 100_000 + "</testsuite>"
    assert not read_report(deep.encode()).cases


def test_the_worst_end_of_a_test_counts() -> None:
    """Protects against a failure that is reported a second time as a pass."""
    twice = '<testcase name="x"><error message="e"/></testcase><testcase name="x"/>'
    assert read_report(f"<testsuite>{twice}</testsuite>".encode()).counts() == {"errors": 1}


@pytest.mark.shows(210)
async def test_a_report_that_all_passed_is_a_pass(judging: Judging) -> None:
    """Protects honest work: named by class and name, and the exit status is 0."""
    result = await judging.result(runs(ONE, fail_to_pass=["a.B.t"]))
    assert (result.status, result.exit_code, result.measured) == (
        CheckStatus.PASS,
        0,
        {"passed": 1},
    )


UNPROVEN: dict[str, tuple[dict[str, Any], str]] = {
    "the exit status disagrees": (runs(ONE, 3), "the exit status must be 0 as well"),
    "a named test is missing": (runs(ONE, pass_to_pass=["a.B.u"]), "a.B.u: was not run"),
    "nothing ran": (runs("<testsuites/>"), "No test ran"),
    "the report is a bomb": (runs(BOMB), "declares a document type"),
    "no report": ({"junit": {"argv": ["true"], "report": "out.xml"}}, "There is no report"),
    "one failed": (
        runs('<testsuite><testcase name="t"><failure message="1 != 2"/></testcase></testsuite>', 1),
        "- t: failed\n    1 != 2",
    ),
    "its own runner is gone": (
        {"junit": {"argv": ["./run.sh"], "report": "out.xml"}},
        "not in the workspace",
    ),
}


@pytest.mark.shows(205)
@pytest.mark.parametrize("case", UNPROVEN)
async def test_what_the_report_does_not_prove_fails(judging: Judging, case: str) -> None:
    """Protects verdicts: report, names and exit status must all agree."""
    check, said = UNPROVEN[case]
    result = await judging.result(check)
    assert result.status is CheckStatus.FAIL
    assert said in result.gap


async def test_a_report_of_before_does_not_count(judging: Judging) -> None:
    """Protects against a report that the candidate left in the place of the run's own."""
    stale = {"junit": {"argv": ["true"], "report": "out/report.xml"}}
    result = await judging.result(stale, {"out/report.xml": ONE})
    assert (result.status, "There is no report" in result.gap) == (CheckStatus.FAIL, True)


async def test_a_report_through_a_link_does_not_count(judging: Judging) -> None:
    """Protects files elsewhere: no link is followed, to write or to read."""
    elsewhere = written(judging.folder / "elsewhere", {"report.xml": ONE})
    (judging.project / "out").symlink_to(elsewhere)
    result = await judging.result({"junit": {"argv": ["true"], "report": "out/report.xml"}})
    assert result.status is CheckStatus.FAIL
    assert (elsewhere / "report.xml").read_text() == ONE


def log(*results: dict[str, Any], **run: Any) -> str:
    """A log of one run."""
    tool = {
        "driver": {
            "name": "scan",
            "rules": [{"id": "soft", "defaultConfiguration": {"level": "note"}}],
        }
    }
    return json.dumps(
        {"version": "2.1.0", "runs": [{"tool": tool, "results": list(results), **run}]}
    )


def finding(rule: str = "hard", **more: Any) -> dict[str, Any]:
    """One finding."""
    place = {"artifactLocation": {"uri": "shop.py"}, "region": {"startLine": 7}}
    return {
        "ruleId": rule,
        "message": {"text": "a hole"},
        "locations": [{"physicalLocation": place}],
        **more,
    }


def scans(text: str, code: int = 0, **spec: Any) -> dict[str, Any]:
    """A check of a scanner that writes this log."""
    show = f"import sys; open('out.sarif', 'w').write({text!r}); sys.exit({code})"
    return {"sarif": {"argv": ["python", "-c", show], "report": "out.sarif", **spec}}


CLEAN: dict[str, dict[str, Any]] = {
    "nothing found": scans(log()),
    "the status of a scanner that found something": scans(log(finding("soft")), 1),
    "a note by its rule": scans(log(finding("soft"))),
    "allowed by a person": scans(log(finding()), allow=["hard"]),
    "below the worst that may be": scans(log(finding(level="warning")), worst="warning"),
    "mended since the baseline": scans(log(finding(baselineState="absent"))),
    "says that all is well": scans(log(finding(kind="pass"))),
    "suppressed, and that may be": scans(
        log(finding(suppressions=[{"kind": "inSource"}])), count_suppressed=False
    ),
}
FOUND: dict[str, tuple[dict[str, Any], str]] = {
    "no level means warning": (scans(log(finding())), "- shop.py:7: hard (warning) a hole"),
    "a level that is none": (scans(log(finding(level="fine"))), "(error)"),
    "suppressed in the code": (
        scans(log(finding(suppressions=[{"kind": "inSource"}]))),
        "hard (warning)",
    ),
    "suppression still looked at": (
        scans(
            log(finding(suppressions=[{"kind": "external", "status": "underReview"}])),
            count_suppressed=False,
        ),
        "hard (warning)",
    ),
    "no run": (scans('{"version": "2.1.0", "runs": []}'), "nothing was looked at"),
    "no results": (scans(log().replace('"results": []', '"results": null')), "did not look"),
    "another version": (scans(log().replace("2.1.0", "2.0.0")), "version is not 2.1.0"),
    "it did not end well": (
        scans(log(invocations=[{"executionSuccessful": False}])),
        "did not end well",
    ),
    "no JSON": (scans("clean"), "is no JSON"),
    "deep JSON": (scans("[" * 3_000), "is no JSON"),
    "no log": ({"sarif": {"argv": ["true"], "report": "out.sarif"}}, "There is no log"),
}


@pytest.mark.shows(210)
@pytest.mark.parametrize("case", CLEAN)
async def test_a_clean_scan_passes(judging: Judging, case: str) -> None:
    """Protects honest work: what does not count is no fault."""
    result = await judging.result(CLEAN[case])
    assert (result.status, result.gap) == (CheckStatus.PASS, "")


@pytest.mark.parametrize("case", FOUND)
async def test_a_finding_or_a_scan_that_proves_nothing_fails(judging: Judging, case: str) -> None:
    """Protects releases: silence is no proof, and nobody excuses their own code."""
    check, said = FOUND[case]
    result = await judging.result(check)
    assert result.status is CheckStatus.FAIL
    assert said in result.gap


BOUNDS: dict[str, tuple[dict[str, Any], Files, str]] = {
    "within": ({"paths": ["shop.py"], "files": 1, "lines": 2}, MENDED, ""),
    "a new folder counts by its files": ({"paths": ["new/deep/*"]}, {"new/deep/x.py": "1\n"}, ""),
    "outside": ({"paths": ["tests/**"]}, MENDED, "- shop.py"),
    "too many files": ({"paths": ["**"], "files": 1}, {**MENDED, "b.py": "1\n"}, "2 files changed"),
    "too many lines": ({"paths": ["**"], "lines": 1}, MENDED, "2 lines were added or removed"),
    "lines that look like a diff's": (
        {"paths": ["**"], "lines": 3},
        {"b.txt": "--- a\n+++ b\n@@ -1,9 +1,9 @@\n-x\n"},
        "4 lines were added",
    ),
}


@pytest.mark.shows(205)
@pytest.mark.parametrize("case", BOUNDS)
async def test_changes_stay_within_their_bounds(judging: Judging, case: str) -> None:
    """Protects everything else: a change outside, or too large a one, is named and refused."""
    spec, changed, said = BOUNDS[case]
    result = await judging.result({"diff_within": spec}, changed)
    assert (result.status is CheckStatus.PASS) == (not said)
    assert said in result.gap


async def test_a_removed_link_and_a_file_that_became_a_folder_are_changes(judging: Judging) -> None:
    """Protects against changes that only look like folders."""
    (judging.project / "link").symlink_to("shop.py")
    (judging.project / "plain").write_text("x")
    check = {"diff_within": {"paths": ["plain/*"]}}

    def change() -> None:
        (judging.project / "link").unlink()
        (judging.project / "plain").unlink()
        written(judging.project, {"plain/x.py": "1\n"})

    result = await judging.result(check, change=change)
    assert result.gap.splitlines()[1:] == ["- link", "- plain"]


SECRET = "canary_4711"
HIDDEN: Files = {
    f"tests/test_{SECRET}.py": (
        f"from shop import price\n\n\ndef test_{SECRET}_good():\n    assert True\n\n\n"
        f"def test_{SECRET}_bad():\n    print('{SECRET}')\n    assert price() == 2, '{SECRET}'\n"
    )
}


@pytest.mark.shows(211)
@pytest.mark.parametrize("kind", ["pytest", "junit"])
async def test_hidden_tests_tell_only_how_many_failed(judging: Judging, kind: str) -> None:
    """Protects hidden tests: no name, file, message or output in what a model may see."""
    hidden = str(written(judging.folder / "hidden", HIDDEN))
    named = [f"tests/test_{SECRET}.py::test_{SECRET}_{end}" for end in ("good", "bad")]
    spec: dict[str, Any] = {"hidden": hidden, "fail_to_pass": named}
    if kind == "junit":
        argv = ["python", "-m", "pytest", "--junit-xml=out.xml", "tests"]
        spec |= {"argv": argv, "report": "out.xml"}
    result = await judging.result({kind: spec})
    assert result.gap == "1 of 2 hidden tests failed."
    assert SECRET not in result.model_dump_json()
    assert SECRET in await judging.evidence(result)
    assert not list(judging.project.rglob(f"*{SECRET}*"))


@pytest.mark.shows(211)
@pytest.mark.parametrize(
    "code", ["import os\nos._exit(0)\n", "import os\nos._exit(1)\n", "def price(:\n"]
)
async def test_a_run_that_breaks_tells_nothing_of_hidden_tests(judging: Judging, code: str) -> None:
    """Protects hidden tests where the run is cut off, or nothing can be imported."""
    hidden = str(written(judging.folder / "hidden", HIDDEN))
    result = await judging.result({"pytest": {"hidden": hidden}}, {"shop.py": code})
    assert result.status is CheckStatus.FAIL
    assert SECRET not in result.model_dump_json()


async def test_hidden_tests_are_laid_over_what_the_candidate_left(judging: Judging) -> None:
    """Protects files elsewhere, and the tests: a link in their place is replaced, not followed."""
    hidden = str(written(judging.folder / "hidden", HIDDEN))
    outside = written(judging.folder / "outside", {"x.py": "mine\n"})
    (judging.project / "tests" / f"test_{SECRET}.py").symlink_to(outside / "x.py")
    result = await judging.result({"pytest": {"hidden": hidden}}, MENDED)
    assert result.status is CheckStatus.PASS
    assert (outside / "x.py").read_text() == "mine\n"


async def test_hidden_tests_within_reach_of_the_model_are_refused(judging: Judging) -> None:
    """Protects hidden tests also where a contract came by no task file."""
    hidden = str(written(judging.project / "hidden", HIDDEN))
    with pytest.raises(EnvironmentFault, match="lie one in the other"):
        await judging.result({"pytest": {"hidden": hidden}}, MENDED)
