"""The verifiers of this machine: which code judges which kind of check."""

from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.command_verifier import CommandVerifier
from checkrein.adapters.unchanged_verifier import UnchangedVerifier
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.verifier import Verifier


def verifiers(artifacts: ArtifactStore) -> tuple[Verifier, ...]:
    """One for each kind; `artifacts` keeps what they found, for people."""
    runner = LocalCommandRunner()
    return (
        CommandVerifier(runner, artifacts),
        UnchangedVerifier(),
    )
