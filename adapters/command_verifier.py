"""The `command` check: a program that must exit 0, run in a copy that the model cannot write to."""

import asyncio
import shlex
from pathlib import Path

from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.command_output import without_host_paths
from checkrein.adapters.throw_away import throw_away_folder
from checkrein.contracts.check import Check, CommandCheck, CommandSpec
from checkrein.contracts.codec import visible
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import EnvironmentFault, InputError
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.command_runner import CommandResult, Ending
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

MAX_GAP = 4000
"""Longest diagnostic that the model is shown, in characters; the end of the output."""

_VERSION = "command/1"


class CommandVerifier:
    """Implements checkrein.ports.verifier.Verifier for `command` checks.

    The model's word counts for nothing here, and neither does the output: only the exit status.
    """

    def __init__(self, door: CommandDoor, artifacts: ArtifactStore) -> None:
        """`artifacts` keeps the full output as evidence."""
        self._door = door
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
        try:
            result, report = await self._run(spec, examination)
        except EnvironmentFault as error:
            if error.code != "program_missing" or not _of_candidate(spec.argv[0]):
                raise
            # The program is part of the candidate, and so is its absence.
            gap = f"The program {visible(spec.argv[0])} is not in the workspace or not executable."
            return CheckResult(
                kind="command", name=shlex.join(spec.argv), status=CheckStatus.FAIL, gap=gap
            )
        kept = await self._artifacts.put(
            report, name="test_report", media_type="text/plain", producer=_VERSION
        )
        passed = result.passed
        return CheckResult(
            kind="command",
            name=shlex.join(spec.argv),
            status=CheckStatus.PASS if passed else CheckStatus.FAIL,
            gap="" if passed else _gap(result, root, self._door.time_for(spec.timeout_s)),
            exit_code=result.exit_code,
            duration_s=round(result.duration_s, 3),
            evidence_ref=kept.uri,
        )

    async def _run(
        self, spec: CommandSpec, examination: Examination
    ) -> tuple[CommandResult, bytes]:
        """How the command did, and the report of it for people."""
        async with throw_away_folder("checkrein-output-") as keep:
            result = await self._door.run(
                spec.argv,
                root=examination.copy_root,
                cwd=examination.copy_root,
                timeout_s=spec.timeout_s,
                offline=examination.contract.offline,
                keep=keep,
            )
            return result, await asyncio.to_thread(_report, result, keep)


def _of_candidate(program: str) -> bool:
    return "/" in program and not program.startswith("/")


def _ending(result: CommandResult, timeout_s: float | None) -> str:
    if result.timed_out:
        return "no end within its time" + (f" of {timeout_s:g} s" if timeout_s else "")
    if result.ended_by not in {Ending.EXIT, Ending.SIGNAL}:
        return f"ended by its {result.ended_by.replace('_', ' ')}"
    code = result.exit_code
    if code is not None and code < 0:
        return f"ended by signal {-code}"
    return f"exit status {code}"


def _report(result: CommandResult, keep: Path) -> bytes:
    """The whole outcome as text, for people and for evidence."""
    held = ", ".join(result.isolated) or "nothing"
    head = (
        f"command: {visible(shlex.join(result.argv))}\n"
        f"outcome: {_ending(result, None)}\nseconds: {result.duration_s:.3f}\n"
        f"run by: {result.backend}, which isolated {held}\n"
    )
    stdout, stderr = (keep / "stdout").read_bytes(), (keep / "stderr").read_bytes()
    return head.encode() + b"--- stdout ---\n" + stdout + b"\n--- stderr ---\n" + stderr


def _gap(result: CommandResult, root: Path, timeout_s: float) -> str:
    """The smallest useful diagnostic: how it ended, and the end of what it said."""
    said = result.stdout + (b"\n" + result.stderr if result.stderr.strip() else b"")
    text = visible(said.decode("utf-8", "replace")).strip()
    cut = f"[...]\n{text[-MAX_GAP:]}" if len(text) > MAX_GAP else text
    head = f"{visible(shlex.join(result.argv))}: {_ending(result, timeout_s)}"
    return without_host_paths(f"{head}\n{cut}", root, result.root).strip()
