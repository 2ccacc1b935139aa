"""The verifiers of this machine: which code judges which kind of check."""

from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.command_verifier import CommandVerifier
from checkrein.adapters.diff_verifier import DiffWithinVerifier
from checkrein.adapters.junit_verifier import JunitVerifier
from checkrein.adapters.pytest_verifier import PytestVerifier
from checkrein.adapters.sarif_verifier import SarifVerifier
from checkrein.adapters.unchanged_verifier import UnchangedVerifier
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.verifier import Verifier


def verifiers(artifacts: ArtifactStore) -> tuple[Verifier, ...]:
    """One for each kind; `artifacts` keeps what they found, for people."""
    runner = LocalCommandRunner()
    return (
        UnchangedVerifier(),
        DiffWithinVerifier(),
        CommandVerifier(runner, artifacts),
        PytestVerifier(runner, artifacts),
        JunitVerifier(runner, artifacts),
        SarifVerifier(runner, artifacts),
    )
