"""The `file_state` check: what a file of the candidate must be at the end."""

from pathlib import Path

from checkrein.adapters.candidate_files import Unusable, content, is_there, size_and_hash
from checkrein.adapters.verdicts import about, not_mine, shown
from checkrein.contracts.check import Check, FileStateCheck, FileStateSpec
from checkrein.contracts.verification import CheckResult
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

_VERSION = "file_state/1"


class FileStateVerifier:
    """Implements checkrein.ports.verifier.Verifier for `file_state` checks."""

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `file_state` check."""
        return isinstance(check, FileStateCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Look at the file in the copy; PASS if all that is said of it holds.

        Raises:
            EnvironmentFault: the copy cannot be opened.
            InputError: the check is of another kind.
        """
        if not isinstance(check, FileStateCheck):
            not_mine(_VERSION, check)
        spec, root = check.file_state, examination.copy_root
        subject = about(check, spec.path)
        try:
            gap = await _gap(spec, root)
        except Unusable as error:
            return subject.failed(str(error))
        return subject.failed(gap) if gap else subject.passed()


async def _gap(spec: FileStateSpec, root: Path) -> str:
    """What is not as it must be; nothing, where all is."""
    if not spec.exists:
        there = await is_there(root, spec.path)
        return f"{spec.path} is there, and must not be. Remove it." if there else ""
    _, found = await size_and_hash(root, spec.path)
    if spec.sha256 is not None and found != spec.sha256:
        return f"{spec.path} has the SHA-256 {found}, and must have {spec.sha256}."
    if spec.equals is None and not spec.contains and not spec.lacks:
        return ""
    data = await content(root, spec.path)
    if spec.equals is not None and data != spec.equals.encode("utf-8", "surrogatepass"):
        return f"{spec.path} does not hold, byte for byte, the text that is asked for."
    missing = [word for word in spec.contains if word.encode() not in data]
    if missing:
        return f"{spec.path} does not contain {', '.join(map(shown, missing))}."
    present = [word for word in spec.lacks if word.encode() in data]
    return f"{spec.path} must not contain {', '.join(map(shown, present))}." if present else ""
