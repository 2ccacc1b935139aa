"""The `sarif` check: a scan whose findings above a level fail."""

import asyncio

from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.command_output import without_host_paths
from checkrein.adapters.judged_command import (
    drop_report,
    end_of,
    ending,
    report_of,
    run_in_copy,
)
from checkrein.adapters.sarif_report import MAX_LOG, Finding, counted, findings
from checkrein.contracts.check import Check, SarifCheck, SarifSpec
from checkrein.contracts.codec import visible
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.command_runner import CommandResult
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

MAX_SHOWN = 10
"""Most findings that a diagnostic names."""

_VERSION = "sarif/1"


class SarifVerifier:
    """Implements checkrein.ports.verifier.Verifier for `sarif` checks.

    The exit status decides nothing, since scanners end otherwise once they find anything; a scan
    that was ended by a signal or by its time limit proves nothing.
    """

    def __init__(self, door: CommandDoor, artifacts: ArtifactStore) -> None:
        """`artifacts` keeps output and log as evidence."""
        self._door = door
        self._artifacts = artifacts

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `sarif` check."""
        return isinstance(check, SarifCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Run the scan; PASS only where its log says that it looked, and nothing that counts.

        Raises:
            EnvironmentFault: the program is not there.
            InputError: the check is of another kind.
        """
        if not isinstance(check, SarifCheck):
            raise InputError(f"{_VERSION} cannot judge a {type(check).__name__}.", op="sarif")
        spec, copy = check.sarif, examination.copy_root
        try:
            await drop_report(copy, spec.report)
        except CapabilityError as error:
            return _result(spec, CheckStatus.FAIL, f"The log cannot be written there: {error}")
        done = await run_in_copy(self._door, spec.argv, examination, spec.timeout_s)
        if isinstance(done, str):
            return _result(spec, CheckStatus.FAIL, done)
        ran, told = done
        raw, found, problem = await self._log(spec, examination)
        if ran.exit_code is None or ran.exit_code < 0:
            problem = "It proves nothing."
        kept = await self._artifacts.put(
            told + b"\n--- log ---\n" + raw,
            name="scan_report",
            media_type="text/plain",
            producer=_VERSION,
        )
        counting = counted(found, spec)
        passed = problem is None and not counting
        why = "" if passed else _why(spec, ran, problem, counting)
        status = CheckStatus.PASS if passed else CheckStatus.FAIL
        return _result(spec, status, without_host_paths(why, copy)).model_copy(
            update={
                "exit_code": ran.exit_code,
                "duration_s": round(ran.duration_s, 3),
                "evidence_ref": kept.uri,
                "measured": {"findings": len(found), "counted": len(counting)},
            }
        )

    async def _log(
        self, spec: SarifSpec, examination: Examination
    ) -> tuple[bytes, list[Finding], str | None]:
        """The log's bytes, what it found, and why it does not count."""
        try:
            raw = await report_of(examination.copy_root, spec.report, MAX_LOG)
        except CapabilityError as error:
            return b"", [], f"There is no log: {error}"
        try:
            return raw, await asyncio.to_thread(findings, raw), None
        except InputError as error:
            return raw, [], str(error)


def _why(spec: SarifSpec, ran: CommandResult, problem: str | None, counting: list[Finding]) -> str:
    if problem is not None:
        return f"The scan: {ending(ran, spec.timeout_s)}. {problem}\n{end_of(ran)}"
    lines = [f"{len(counting)} findings above {spec.worst}:"]
    lines += [
        f"- {finding.place}: {visible(finding.rule)} ({finding.level}) {finding.text}"
        for finding in counting[:MAX_SHOWN]
    ]
    if len(counting) > MAX_SHOWN:
        lines.append(f"and {len(counting) - MAX_SHOWN} more")
    return "\n".join(lines)


def _result(spec: SarifSpec, status: CheckStatus, why: str) -> CheckResult:
    name = f"{spec.argv[0]} finds nothing above {spec.worst}"
    return CheckResult(kind="sarif", name=name, status=status, gap=why)
