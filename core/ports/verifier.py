"""Verifiers: independent code that looks at the world, not at the model's words."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import Field, SecretStr

from checkrein.contracts.check import Check
from checkrein.contracts.codec import Frozen
from checkrein.contracts.proposal import Usage
from checkrein.contracts.task import TaskContract
from checkrein.contracts.verification import CheckResult
from checkrein.ports.workspace import Workspace


class Examination(Frozen):
    """What a verifier gets: the contract, and a copy of the candidate that is its own.

    Attributes:
        secrets: the values of the secrets that the check names, lent for this check alone. Its
            result is masked afterwards.
    """

    attempt_id: str
    contract: TaskContract
    copy_root: Path
    state_digest: str
    secrets: dict[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr], exclude=True, repr=False
    )


class Verifier(Protocol):
    """Judges one kind of check."""

    @property
    def version(self) -> str:
        """Name and version, recorded with each result."""
        ...

    def judges(self, check: Check) -> bool:
        """Whether this verifier handles the check."""
        ...

    async def verify(
        self, check: Check, examination: Examination, workspace: Workspace
    ) -> CheckResult:
        """Run the check. A check that cannot run is ERROR, never PASS.

        Raises:
            EnvironmentFault: the machine lacks what the check needs.
        """
        ...


class Bill(Frozen):
    """What verifying one check may cost: which model is asked, and the worst case of it."""

    model: str
    most: Usage


@runtime_checkable
class PaidVerifier(Protocol):
    """A verifier that asks a model, whose call is reserved before it and booked after it."""

    async def bill(self, check: Check, examination: Examination) -> Bill | None:
        """The worst case of `verify`; None where nobody would be asked. Asks nobody itself.

        What the call came to is said by `input_tokens` and `output_tokens` of the result's
        `measured`; where these are missing nobody knows, and the worst case is booked.

        Raises:
            EnvironmentFault: the copy cannot be read.
        """
        ...
