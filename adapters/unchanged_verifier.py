"""The `unchanged` check: paths that must be, byte for byte, what they were at the start."""

from checkrein.contracts.check import Check, UnchangedCheck
from checkrein.contracts.codec import visible
from checkrein.contracts.verification import CheckResult, CheckStatus
from checkrein.errors import InputError, IntegrityError
from checkrein.ports.verifier import Examination
from checkrein.ports.workspace import Workspace

MAX_NAMED = 20
"""Most paths that a diagnostic names."""

_VERSION = "unchanged/1"


class UnchangedVerifier:
    """Implements checkrein.ports.verifier.Verifier for `unchanged` checks."""

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        return _VERSION

    def judges(self, check: Check) -> bool:
        """Whether this is an `unchanged` check."""
        return isinstance(check, UnchangedCheck)

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Compare the workspace with its baseline; PASS if no path that matches differs.

        A baseline that has been tampered with proves nothing: ERROR.

        Raises:
            EnvironmentFault: the workspace cannot be read.
            InputError: the check is of another kind.
        """
        if not isinstance(check, UnchangedCheck):
            raise InputError(
                f"{_VERSION} cannot judge a {type(check).__name__}.", op="unchanged.verify"
            )
        name = ", ".join(check.unchanged)
        try:
            changed = await workspace.changed(check.unchanged)
        except IntegrityError:
            # The message names folders of this machine, which are none of the model's business.
            gap = "The record of the files as they were has been altered; nothing can be said."
            return CheckResult(kind="unchanged", name=name, status=CheckStatus.ERROR, gap=gap)
        if not changed:
            return CheckResult(kind="unchanged", name=name, status=CheckStatus.PASS)
        return CheckResult(kind="unchanged", name=name, status=CheckStatus.FAIL, gap=_gap(changed))


def _gap(changed: list[str]) -> str:
    named = "\n".join(f"- {visible(path)}" for path in changed[:MAX_NAMED])
    more = len(changed) - MAX_NAMED
    rest = f"\nand {more} more" if more > 0 else ""
    return f"These paths must stay as they were, and were changed:\n{named}{rest}\nPut them back."
