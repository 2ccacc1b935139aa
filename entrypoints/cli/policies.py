"""policy: what authors of rules run on a bundle folder."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from checkrein.entrypoints.cli.console import error_json, fail, out, out_json, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.policy_rego.authoring import TestReport, TestResult
    from checkrein.policy_rego.findings import Finding

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Check and test a policy bundle."
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The bundle's folder.")]


@app.command()
def check(folder: Folder, json: Json = False) -> int:
    """Check that a bundle compiles; exit code 1 on an error."""
    be_quiet()
    with Live("the policy engine"):
        from checkrein.policy_rego import authoring

        findings = asyncio.run(authoring.check(folder))
    wrong = any(finding.level == "error" for finding in findings)
    if json:
        found = [finding.model_dump(mode="json") for finding in findings]
        out_json({"path": str(folder), "ok": not wrong, "findings": found})
    else:
        for finding in findings:
            out(_finding_line(folder, finding))
        errors = sum(finding.level == "error" for finding in findings)
        out(f"{errors} error(s), {len(findings) - errors} warning(s) in {shown(folder)}")
    return Exit.WRONG if wrong else Exit.DONE


@app.command()
def test(folder: Folder, json: Json = False) -> int:
    """Run a bundle's tests; exit code 1 unless all pass."""
    be_quiet()
    try:
        with Live("the bundle's tests"):
            from checkrein.policy_rego import authoring

            report = asyncio.run(authoring.test(folder))
    except InputError as error:
        if error.code != "policy_invalid":
            raise
        # The bundle was found and read, and found wrong: that is what this command is asked.
        fail(error_json(error), as_json=json)
        return Exit.WRONG
    if json:
        whole = report.model_dump(mode="json")
        out_json(whole | {"ok": report.ok, "covered_percent": round(report.percent, 1)})
    else:
        _print_tests(folder, report)
    return Exit.DONE if report.ok else Exit.WRONG


def _print_tests(folder: Path, report: "TestReport") -> None:
    for result in report.results:
        out(_result_line(folder, result))
    for file in report.coverage:
        missed = ", ".join(map(str, file.missed))
        lines = f", not reached: {missed}" if missed else ""
        out(f"{file.percent:5.1f} % of {shown(file.path)}{lines}")
    if not report.results:
        out("There are no tests: no test_* rule in any *_test.rego file.")
    counts = ", ".join(f"{report.count(o)} {o}" for o in ("pass", "fail", "error", "skip"))
    out(f"{counts}; {report.percent:.1f} % of lines reached")


def _result_line(folder: Path, result: "TestResult") -> str:
    line = f"{result.outcome.upper():5} {shown(result.name)}"
    if result.outcome in {"pass", "skip"}:
        return line
    return f"{line}\n      {shown(folder / result.path)}:{result.line}: {shown(result.message)}"


def _finding_line(folder: Path, finding: "Finding") -> str:
    if finding.rule == "bundle":
        return f"{finding.level}: {shown(finding.message)}"
    place = f"{shown(folder / finding.path)}:{finding.line}:{finding.column}"
    text = f"{finding.message} {finding.advice}".rstrip()
    return f"{place}: {finding.level}: {shown(text)} [{finding.rule}]"
