"""The verifiers of this machine: which code judges which kind of check."""

from checkrein.adapters.artifact_verifier import ArtifactVerifier
from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.command_verifier import CommandVerifier
from checkrein.adapters.diff_verifier import DiffWithinVerifier
from checkrein.adapters.file_state_verifier import FileStateVerifier
from checkrein.adapters.http_client import HttpClient
from checkrein.adapters.http_state_verifier import HttpStateVerifier
from checkrein.adapters.json_schema_verifier import JsonSchemaVerifier
from checkrein.adapters.judged_apart import JudgedApart
from checkrein.adapters.junit_verifier import JunitVerifier
from checkrein.adapters.model_judge import judges
from checkrein.adapters.model_judge_verifier import ModelJudgeVerifier
from checkrein.adapters.pytest_verifier import PytestVerifier
from checkrein.adapters.sarif_verifier import SarifVerifier
from checkrein.adapters.sql_state_verifier import SqlStateVerifier
from checkrein.adapters.text_match_verifier import TextMatchVerifier
from checkrein.adapters.unchanged_verifier import UnchangedVerifier
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.verifier import Verifier
from checkrein.testing.scripted_model import ScriptedChatModel


def verifiers(door: CommandDoor, artifacts: ArtifactStore) -> tuple[Verifier, ...]:
    """One for each kind. Commands run by `door`; `artifacts` keeps what they found, for people."""
    apart = JudgedApart(LocalCommandRunner())
    return (
        UnchangedVerifier(),
        DiffWithinVerifier(),
        CommandVerifier(door, artifacts),
        PytestVerifier(door, artifacts),
        JunitVerifier(door, artifacts),
        SarifVerifier(door, artifacts),
        FileStateVerifier(),
        TextMatchVerifier(apart),
        JsonSchemaVerifier(apart),
        ArtifactVerifier(apart),
        SqlStateVerifier(),
        HttpStateVerifier(HttpClient()),
        ModelJudgeVerifier(judges(ScriptedChatModel.load), artifacts),
    )
