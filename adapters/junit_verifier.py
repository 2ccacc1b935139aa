"""The `junit` check: any runner that writes a JUnit report, judged by report and exit status."""

import asyncio

from checkrein.adapters.blocking import to_end
from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.command_output import without_host_paths
from checkrein.adapters.hidden_tests import lay_over
from checkrein.adapters.judged_command import (
    drop_report,
    end_of,
    ending,
    report_of,
    run_in_copy,
)
from checkrein.adapters.junit_report import MAX_REPORT, Report, read_report
from checkrein.adapters.tests_wanted import Verdict, gap, hidden_gap, verdict
from checkrein.contracts.check import Check, JunitCheck, JunitSpec
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.command_runner import CommandResult
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

_VERSION = "junit/1"


class JunitVerifier:
    """Implements checkrein.ports.verifier.Verifier for `junit` checks.

    A report that lay there before is removed, so that the run alone can have written it. What the
    runner loads of the candidate can still write it: the exit status must be 0 as well, a named
    test must be in it, and protected or hidden tests are what the report is worth.
    """

    def __init__(self, door: CommandDoor, artifacts: ArtifactStore) -> None:
        """`artifacts` keeps output and report as evidence."""
        self._door = door
        self._artifacts = artifacts

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `junit` check."""
        return isinstance(check, JunitCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Run the command; PASS only where it exits 0 and all tests that count passed.

        Raises:
            EnvironmentFault: the program or the folder of hidden tests is not there.
            InputError: the check is of another kind.
        """
        if not isinstance(check, JunitCheck):
            raise InputError(f"{_VERSION} cannot judge a {type(check).__name__}.", op="junit")
        spec, copy = check.junit, examination.copy_root
        hidden = spec.hidden
        laid: frozenset[str] = frozenset()
        if hidden is not None:
            laid = await to_end(lambda: lay_over(hidden, copy, workspace.ref))
        try:
            await drop_report(copy, spec.report)
        except CapabilityError as error:
            return _result(spec, CheckStatus.FAIL, f"The report cannot be written there: {error}")
        done = await run_in_copy(self._door, spec.argv, examination, spec.timeout_s)
        if isinstance(done, str):
            return _result(spec, CheckStatus.FAIL, done)
        ran, told = done
        raw, report, problem = await self._report(spec, examination)
        kept = await self._artifacts.put(
            told + b"\n--- report ---\n" + raw,
            name="hidden_test_report" if hidden else "test_report",
            media_type="text/plain",
            producer=_VERSION,
        )
        outcome = verdict(report, spec, laid)
        passed = ran.exit_code == 0 and problem is None and outcome.passed
        why = "" if passed else _why(spec, ran, problem, outcome)
        status = CheckStatus.PASS if passed else CheckStatus.FAIL
        return _result(spec, status, without_host_paths(why, copy)).model_copy(
            update={
                "exit_code": ran.exit_code,
                "duration_s": round(ran.duration_s, 3),
                "evidence_ref": kept.uri,
                "measured": dict(report.counts()),
            }
        )

    async def _report(
        self, spec: JunitSpec, examination: Examination
    ) -> tuple[bytes, Report, str | None]:
        """The report's bytes, what it says, and why it does not count."""
        try:
            raw = await report_of(examination.copy_root, spec.report, MAX_REPORT)
        except CapabilityError as error:
            return b"", Report(), f"There is no report: {error}"
        try:
            return raw, await asyncio.to_thread(read_report, raw), None
        except InputError as error:
            return raw, Report(), str(error)


def _why(spec: JunitSpec, ran: CommandResult, problem: str | None, outcome: Verdict) -> str:
    """The smallest useful diagnostic; of a run with hidden tests, none of its words."""
    ended = f"The tests: {ending(ran, spec.timeout_s)}."
    if problem is not None:
        # What is wrong with the report may quote the run's own words.
        return f"{ended} Their report cannot be gone by." if spec.hidden else f"{ended} {problem}"
    if not outcome.passed:
        return hidden_gap(outcome) if spec.hidden else gap(outcome)
    said = "" if spec.hidden else f"\n{end_of(ran)}"
    return f"{ended} The tests that count passed, and the exit status must be 0 as well.{said}"


def _result(spec: JunitSpec, status: CheckStatus, why: str) -> CheckResult:
    what = ["junit", spec.argv[0], *(["with hidden tests"] if spec.hidden else [])]
    return CheckResult(kind="junit", name=" ".join(what), status=status, gap=why)
