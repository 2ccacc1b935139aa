"""The `text_match` check: what a text file of the candidate must say, exactly or normalised."""

from checkrein.adapters.candidate_files import Unusable, text
from checkrein.adapters.judged_apart import JudgedApart, Undecided
from checkrein.adapters.verdicts import about, not_mine, shown
from checkrein.contracts.check import Check, Normal, TextMatchCheck, TextMatchSpec
from checkrein.contracts.verification import CheckResult
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

_VERSION = "text_match/1"


class TextMatchVerifier:
    """Implements checkrein.ports.verifier.Verifier for `text_match` checks."""

    def __init__(self, apart: JudgedApart) -> None:
        """`apart` runs regular expressions, which may take for ever on a hostile text."""
        self._apart = apart

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is a `text_match` check."""
        return isinstance(check, TextMatchCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Compare the file in the copy; a pattern that finds no end in time is ERROR.

        Raises:
            EnvironmentFault: the copy cannot be opened, or no process can be started.
            InputError: the check is of another kind.
        """
        if not isinstance(check, TextMatchCheck):
            not_mine(_VERSION, check)
        spec = check.text_match
        subject = about(check, spec.file)
        try:
            found = await text(examination.copy_root, spec.file)
            gap = await self._gap(spec, found)
        except Unusable as error:
            return subject.failed(str(error))
        except Undecided as error:
            return subject.error(f"{spec.file}: {error}.")
        return subject.failed(gap) if gap else subject.passed()

    async def _gap(self, spec: TextMatchSpec, found: str) -> str:
        fold = Normal.CASE in spec.ignoring
        cases = ", in whatever case" if fold else ""
        if spec.matches is not None:
            read = _spaced(found) if Normal.SPACE in spec.ignoring else found
            problems = await self._apart.problems(
                "matches", read, pattern=spec.matches, fold_case=fold
            )
            return f"{spec.file}: nothing in it matches {shown(spec.matches)}." if problems else ""
        read = _normal(found, spec.ignoring)
        if spec.contains is not None:
            if _normal(spec.contains, spec.ignoring) in read:
                return ""
            return f"{spec.file} does not contain {shown(spec.contains)}{cases}."
        if read == _normal(spec.equals or "", spec.ignoring):
            return ""
        return f"{spec.file} does not say exactly what is asked for{cases}."


def _normal(words: str, ignoring: list[Normal]) -> str:
    words = _spaced(words) if Normal.SPACE in ignoring else words
    return words.casefold() if Normal.CASE in ignoring else words


def _spaced(words: str) -> str:
    return " ".join(words.split())
