"""policy: what authors of rules run on a bundle folder."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from checkrein.entrypoints.cli import (
    policy_diff,
    policy_docs,
    policy_log,
    policy_parity,
    policy_why,
)
from checkrein.entrypoints.cli.console import error_json, fail, out, out_json, shown
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.entrypoints.cli.options import Json
from checkrein.entrypoints.cli.policy_words import condition_line, finding_lines
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.policy_rego.authoring import TestReport, TestResult

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Write, check, test and explain a policy bundle.",
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The bundle's folder.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit code 1 on a warning too.")]
Coverage = Annotated[
    bool, typer.Option("--coverage", help="List every file with the lines that no test reaches.")
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold", metavar="N", min=0, max=100, help="Fail below N percent of lines reached."
    ),
]


@app.command()
def check(folder: Folder, strict: Strict = False, json: Json = False) -> int:
    """Find what is wrong with a bundle, by place; exit code 1 on an error."""
    be_quiet()
    with Live("the policy engine"):
        from checkrein.policy_rego import authoring

        findings = asyncio.run(authoring.check(folder))
    wrong = any(strict or finding.level == "error" for finding in findings)
    if json:
        found = [finding.model_dump(mode="json") for finding in findings]
        out_json({"path": str(folder), "ok": not wrong, "findings": found})
    else:
        for finding in findings:
            for line in finding_lines(folder, finding):
                out(line)
        errors = sum(finding.level == "error" for finding in findings)
        out(f"{errors} error(s), {len(findings) - errors} warning(s) in {shown(folder)}")
    return Exit.WRONG if wrong else Exit.DONE


@app.command()
def test(
    folder: Folder,
    coverage: Coverage = False,
    threshold: Threshold = None,
    json: Json = False,
) -> int:
    """Run a bundle's tests; exit code 1 unless all pass and enough lines are reached."""
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
    reached = threshold is None or report.percent >= threshold
    ok = report.ok and reached
    if json:
        whole = report.model_dump(mode="json")
        percent = round(report.percent, 1)
        out_json(whole | {"ok": ok, "covered_percent": percent, "threshold": threshold})
    else:
        _print_tests(folder, report, coverage)
        if not reached:
            out(f"fewer lines are reached than the {threshold:g} % that are asked for")
    return Exit.DONE if ok else Exit.WRONG


@app.command()
def add(
    folder: Folder,
    names: Annotated[
        list[str], typer.Argument(metavar="RULE...", help="As docs/policy-rules.md names them.")
    ],
    json: Json = False,
) -> int:
    """Copy rules that ship with Checkrein into a bundle, with their tests and data."""
    from checkrein.policy_rego import authoring

    written = asyncio.run(authoring.add_to(folder, names))
    if json:
        out_json({"path": str(folder), "files": [str(path) for path in written]})
        return Exit.DONE
    for path in written:
        out(shown(path))
    out(f"next: set the data, then checkrein policy test {shown(folder)}")
    return Exit.DONE


@app.command()
def init(folder: Folder, json: Json = False) -> int:
    """Write a first bundle with tests into a new folder."""
    from checkrein.policy_rego import authoring

    written = asyncio.run(authoring.start(folder))
    if json:
        out_json({"path": str(folder), "files": [str(path) for path in written]})
        return Exit.DONE
    for path in written:
        out(shown(path))
    out(f"next: checkrein policy test {shown(folder)}")
    return Exit.DONE


@app.command()
def export(
    folder: Folder,
    out_folder: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder.")],
    json: Json = False,
) -> int:
    """Write a bundle as an OPA server takes it: with the entrypoint, and its hash as revision.

    A bundle that does not compile, or whose own tests do not all pass, is not written.
    """
    be_quiet()
    with Live("the bundle's tests"):
        from checkrein.policy_rego import authoring

        bundle = asyncio.run(authoring.published(folder, out_folder))
    if json:
        out_json({"path": str(out_folder), "version": bundle.version})
    else:
        out(f"{shown(out_folder)} holds {bundle.version}")
        out(f"next: opa build --bundle {shown(out_folder)}")
    return Exit.DONE


@app.command()
def version(folder: Folder, json: Json = False) -> int:
    """Print the content hash that decisions record: of rules and data, tests left out."""
    from checkrein.policy_rego import authoring

    bundle = authoring.load_bundle(folder)
    if json:
        out_json({"path": str(folder), "version": bundle.version})
    else:
        out(bundle.version)
    return Exit.DONE


app.command("eval")(policy_why.evaluate)
app.command()(policy_why.explain)
app.command()(policy_log.log)
app.command()(policy_diff.diff)
app.command()(policy_parity.parity)
app.command()(policy_docs.docs)


def _print_tests(folder: Path, report: "TestReport", coverage: bool) -> None:
    for result in report.results:
        for line in _result_lines(folder, result):
            out(line)
    for file in report.coverage:
        if not coverage and not file.missed:
            continue
        missed = ", ".join(map(str, file.missed))
        lines = f", not reached: {missed}" if missed else ""
        out(f"{file.percent:5.1f} % of {shown(file.path)}{lines}")
    if not report.results:
        out("There are no tests: no test_* rule in any *_test.rego file.")
    counts = ", ".join(f"{report.count(o)} {o}" for o in ("pass", "fail", "error", "skip"))
    out(f"{counts}; {report.percent:.1f} % of lines reached")


def _result_lines(folder: Path, result: "TestResult") -> list[str]:
    line = f"{result.outcome.upper():5} {shown(result.name)}"
    if result.outcome in {"pass", "skip"}:
        return [line]
    place = f"      {shown(folder / result.path)}:{result.line}: {shown(result.message)}"
    failed = [] if result.failed is None else [f"      {condition_line(result.failed, folder)}"]
    return [line, place, *failed]
