"""The files of an evidence folder that are made of the package; made again, they are the same."""

from checkrein.contracts.evidence import EvidencePackage, Handover
from checkrein.graph.evidence_attestation import attestation
from checkrein.graph.evidence_files import ATTESTATION, DIFF, REPORT, artifact_path
from checkrein.graph.evidence_report import page


def derived(package: EvidencePackage, handover: Handover, diff: bytes | None) -> dict[str, bytes]:
    """Path to bytes. `diff`: the bytes of the artifact that diff_path names."""
    found = {REPORT: page(package, handover, diff)}
    statement = attestation(package)
    if statement is not None:
        found[ATTESTATION] = statement
    return found


def diff_path(package: EvidencePackage) -> str | None:
    """Where the diff of the candidate lies in the folder, if the contract wanted one."""
    named = [artifact for artifact in package.artifacts if artifact.name == DIFF]
    return artifact_path(named[0]) if named else None
