"""Verification: what independent code found when it looked at the sealed candidate."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from checkrein.contracts.check import Strength
from checkrein.contracts.codec import Frozen, digest_of

PUBLISHED = "published"
"""The kind of check by which a final commit is verified: the target is at the verified state."""

PUBLISHABLE = "publishable"
"""The kind of check that a final commit could apply all that was changed."""


class CheckStatus(StrEnum):
    """ERROR: the check itself could not run, which proves nothing either way."""

    PASS = "PASS"
    FAIL = "FAIL"
    ERROR = "ERROR"


class CheckResult(Frozen):
    """One check.

    Attributes:
        gap: the smallest useful diagnostic, safe to show to the model.
        check_id: which check of the contract this answers, see `check_id`; None for what is
            always looked at besides.
        strength: how much its kind proves.
        repairable: whether another round by the model could mend it.
        evidence_ref: the whole output of the check, for people.
        measured: what was counted, in the kind's own words, for example `passed` and `failed`.
    """

    kind: str
    name: str
    check_id: str | None = None
    status: CheckStatus
    gap: str = ""
    exit_code: int | None = None
    duration_s: float = 0.0
    evidence_ref: str | None = None
    strength: Strength | None = None
    repairable: bool = True
    measured: dict[str, int] = Field(default_factory=dict[str, int])


def check_id(check: Frozen) -> str:
    """The digest of one check of a contract, by which its result is known again."""
    return digest_of(check.model_dump(mode="json"))


class VerificationResult(Frozen):
    """The verdict on one state of the world. It says nothing about any other state.

    Attributes:
        verifier_version: name and version of each verifier that judged.
        status: ERROR where a check could not run, whatever the others found.
        state_digest: digest of the workspace that was verified.
        repairable: whether another round by the model could mend it.
        environment_ref: what the checks ran in.
    """

    schema_version: Literal[1] = 1
    contract_version: str
    verifier_version: str
    checks: list[CheckResult]
    status: CheckStatus
    state_digest: str
    evidence_refs: list[str] = Field(default_factory=list[str])
    environment_ref: str
    repairable: bool
    gaps: list[str] = Field(default_factory=list[str])

    @property
    def accepted(self) -> bool:
        """Whether every check passed."""
        return self.status is CheckStatus.PASS

    @property
    def undecided(self) -> bool:
        """Whether a check could not run, so that nobody knows."""
        return self.status is CheckStatus.ERROR
