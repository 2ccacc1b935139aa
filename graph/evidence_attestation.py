"""The evidence as an in-toto Statement v1, for tools that know nothing of Checkrein.

It is not signed: its subjects and its predicate are bound by the manifest of the folder, and the
events say the same. Whoever signs statements signs this one as it is.
"""

from typing import Any

from checkrein.contracts.codec import canonical, digest
from checkrein.contracts.evidence import EvidencePackage
from checkrein.graph.evidence_files import json_bytes

STATEMENT = "https://in-toto.io/Statement/v1"

PREDICATE = "urn:x-checkrein:attestation:completion:v1"
"""What our predicate is called; a name of ours, that nobody has to be asked for on a network."""

TREE = "checkrein_tree_v1"
"""The digest of a whole workspace, as docs/evidence.md says it is computed."""


def attestation(package: EvidencePackage) -> bytes | None:
    """The statement about a verified candidate; None where nothing was verified."""
    candidate, verdict = package.candidate, package.verification
    if candidate is None or verdict is None or package.finishes.task_accepted is None:
        return None
    subjects: list[dict[str, Any]] = [
        {"name": file.path, "digest": {"sha256": _hex(file.after)}}
        for file in package.changed
        if file.after is not None
    ]
    subjects.append({"name": "workspace", "digest": {TREE: _hex(candidate.state_digest)}})
    return canonical(
        {
            "_type": STATEMENT,
            "subject": subjects,
            "predicateType": PREDICATE,
            "predicate": _predicate(package),
        }
    )


def _predicate(package: EvidencePackage) -> dict[str, Any]:
    candidate, verdict = package.candidate, package.verification
    assert candidate is not None and verdict is not None, "only what was verified is attested"
    told = package.model_dump(mode="json")
    return {
        "task": {
            "id": package.task.task_id,
            "tenant": package.task.tenant,
            "requestedBy": package.task.requested_by,
            "contractVersion": package.task.contract_version,
            "status": str(package.task.status),
        },
        "attempt": package.attempt.attempt_id,
        "candidate": {"hash": candidate.candidate_hash, "stateDigest": candidate.state_digest},
        "removed": [file.path for file in package.changed if file.after is None],
        "policyVersions": package.policies,
        "verification": {
            "status": str(verdict.status),
            "verifier": verdict.verifier_version,
            "checks": [
                {"kind": check.kind, "name": check.name, "status": str(check.status)}
                for check in verdict.checks
            ],
        },
        "approvals": [
            {
                "id": record.request.approval_id,
                "capability": record.request.capability,
                "resource": record.request.resource,
                "operationHash": record.request.operation_hash,
                "status": str(record.request.status),
                "answers": [
                    {
                        "by": grant.approver,
                        "answer": str(grant.answer),
                        "authenticated": grant.authenticated,
                    }
                    for grant in record.grants
                ],
            }
            for record in package.approvals
        ],
        "finishes": told["finishes"],
        "finalCommit": None
        if package.final_commit is None
        else {
            "attempt": package.final_commit.attempt.attempt_id,
            "at": told["final_commit"]["committed_at"],
            "head": package.final_commit.head.hash,
        },
        "evidence": {"package": digest(json_bytes(package)), "head": package.head.hash},
    }


def _hex(ref: str) -> str:
    return ref.removeprefix("sha256:")
