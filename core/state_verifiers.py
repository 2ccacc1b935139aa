"""compose's part for verifiers: those of state, of output, and the model that judges."""

from checkrein.adapters.artifact_verifier import ArtifactVerifier
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.file_state_verifier import FileStateVerifier
from checkrein.adapters.http_client import HttpClient
from checkrein.adapters.http_state_verifier import HttpStateVerifier
from checkrein.adapters.json_schema_verifier import JsonSchemaVerifier
from checkrein.adapters.judged_apart import JudgedApart
from checkrein.adapters.sql_state_verifier import SqlStateVerifier
from checkrein.adapters.text_match_verifier import TextMatchVerifier
from checkrein.ports.verifier import Verifier


def state_and_output() -> tuple[Verifier, ...]:
    """The verifiers that look at files, databases and services."""
    apart = JudgedApart(LocalCommandRunner())
    return (
        ArtifactVerifier(apart),
        FileStateVerifier(),
        HttpStateVerifier(HttpClient()),
        JsonSchemaVerifier(apart),
        SqlStateVerifier(),
        TextMatchVerifier(apart),
    )
