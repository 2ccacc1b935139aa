"""The `command` check: a program that must exit 0, run in a copy that the model cannot write to."""

import shlex
from pathlib import Path

from checkrein.adapters.command_output import without_host_paths
from checkrein.adapters.judged_command import end_of, ending, run_in_copy, told
from checkrein.contracts.check import Check, CommandCheck
from checkrein.contracts.codec import visible
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import InputError
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.command_runner import CommandResult, CommandRunner
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

_VERSION = "command/1"


class CommandVerifier:
    """Implements checkrein.ports.verifier.Verifier for `command` checks.

    The model's word counts for nothing here, and neither does the output: only the exit status.
    """

    def __init__(self, runner: CommandRunner, artifacts: ArtifactStore) -> None:
        """`artifacts` keeps the full output as evidence."""
        self._runner = runner
        self._artifacts = artifacts

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `command` check."""
        return isinstance(check, CommandCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Run the command in the copy; PASS if, and only if, it exits 0 within its time.

        Raises:
            EnvironmentFault: the machine lacks the program, or cannot run it offline.
            InputError: the check is of another kind.
        """
        if not isinstance(check, CommandCheck):
            raise InputError(
                f"{_VERSION} cannot judge a {type(check).__name__}.", op="command.verify"
            )
        spec, root = check.command, examination.copy_root
        name = shlex.join(spec.argv)
        result = await run_in_copy(self._runner, spec.argv, examination, spec.timeout_s)
        if isinstance(result, str):
            return CheckResult(kind="command", name=name, status=CheckStatus.FAIL, gap=result)
        kept = await self._artifacts.put(
            told(result), name="test_report", media_type="text/plain", producer=_VERSION
        )
        passed = result.exit_code == 0 and not result.timed_out
        return CheckResult(
            kind="command",
            name=name,
            status=CheckStatus.PASS if passed else CheckStatus.FAIL,
            gap="" if passed else _gap(result, root, spec.timeout_s),
            exit_code=result.exit_code,
            duration_s=round(result.duration_s, 3),
            evidence_ref=kept.uri,
        )


def _gap(result: CommandResult, root: Path, timeout_s: float) -> str:
    """The smallest useful diagnostic: how it ended, and the end of what it said."""
    head = f"{visible(shlex.join(result.argv))}: {ending(result, timeout_s)}"
    return without_host_paths(f"{head}\n{end_of(result)}", root).strip()
