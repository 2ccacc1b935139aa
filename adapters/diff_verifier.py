"""The `diff_within` check: every change lies within these paths, and there are not too many."""

import asyncio
from pathlib import Path

from checkrein.adapters.workspace_diff import matching
from checkrein.contracts.check import Check, DiffWithinCheck, DiffWithinSpec
from checkrein.contracts.codec import visible
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import InputError, IntegrityError
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

MAX_NAMED = 20
"""Most paths that a diagnostic names."""

_VERSION = "diff_within/1"


class DiffWithinVerifier:
    """Implements checkrein.ports.verifier.Verifier for `diff_within` checks.

    Folders count only by what is in them. Lines are those of text files; a binary file, or one
    that is too large for a diff, counts as a file alone.
    """

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `diff_within` check."""
        return isinstance(check, DiffWithinCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Compare the workspace with its baseline, and the difference with the bounds.

        Raises:
            EnvironmentFault: the workspace cannot be read.
            InputError: the check is of another kind.
        """
        if not isinstance(check, DiffWithinCheck):
            raise InputError(f"{_VERSION} cannot judge a {type(check).__name__}.", op="diff_within")
        spec = check.diff_within
        try:
            changed = await _files(workspace, examination.copy_root)
            lines = _lines(await workspace.diff()) if spec.lines is not None else 0
        except IntegrityError:
            why = "The record of the files as they were has been altered; nothing can be said."
            return _result(spec, CheckStatus.ERROR, why, {})
        problems = _problems(spec, changed, lines)
        measured = {"files": len(changed), "lines": lines}
        status = CheckStatus.FAIL if problems else CheckStatus.PASS
        return _result(spec, status, "\n".join(problems), measured)


async def _files(workspace: Workspace, copy: Path) -> list[str]:
    """The changed paths that are no mere folders, on either side."""
    changed = await workspace.changed(["**"])

    def is_file(path: str) -> bool:
        return (copy / path).is_symlink() or (copy / path).is_file()

    now = await asyncio.to_thread(lambda: {path for path in changed if is_file(path)})
    return [p for p in changed if p in now or await workspace.original(p) is not None]


def _lines(diff: str) -> int:
    """Lines added and removed. The hunks' own headers say how long each is, so that no line of a
    file can be taken for one of the diff's."""
    counted = old = new = 0
    for line in diff.split("\n"):
        if old <= 0 and new <= 0:
            if line.startswith("@@ -"):
                ranges = line.split(" ")[1:3]
                old, new = (_length(each) for each in ranges)
            continue
        if line.startswith("\\"):
            continue
        old -= not line.startswith("+")
        new -= not line.startswith("-")
        counted += line[:1] in {"+", "-"}
    return counted


def _length(span: str) -> int:
    _, comma, length = span.partition(",")
    return int(length) if comma else 1


def _problems(spec: DiffWithinSpec, changed: list[str], lines: int) -> list[str]:
    allowed = set(matching(changed, spec.paths))
    outside = [path for path in changed if path not in allowed]
    found: list[str] = []
    if outside:
        found.append(f"These changes lie outside of {', '.join(spec.paths)}; put them back:")
        found += [f"- {visible(path)}" for path in outside[:MAX_NAMED]]
        if len(outside) > MAX_NAMED:
            found.append(f"and {len(outside) - MAX_NAMED} more")
    if spec.files is not None and len(changed) > spec.files:
        found.append(f"{len(changed)} files changed; at most {spec.files} may.")
    if spec.lines is not None and lines > spec.lines:
        found.append(f"{lines} lines were added or removed; at most {spec.lines} may be.")
    return found


def _result(
    spec: DiffWithinSpec, status: CheckStatus, why: str, measured: dict[str, int]
) -> CheckResult:
    name = f"changes within {', '.join(spec.paths)}"
    return CheckResult(kind="diff_within", name=name, status=status, gap=why, measured=measured)
