"""The evidence folder: which files it holds, and the manifest that seals them.

What an attempt's events name decides what is in the folder, so that a file can neither be left
out nor be added.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from checkrein.contracts import event as e
from checkrein.contracts.artifact import Artifact
from checkrein.contracts.attempt import Checkpoint
from checkrein.contracts.codec import Frozen, canonical, digest, digest_of
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.event import Event
from checkrein.contracts.evidence import ChainHead
from checkrein.contracts.verification import CheckResult, VerificationResult
from checkrein.errors import IntegrityError
from checkrein.graph.facts import Fact
from checkrein.graph.rebuilt import Rebuilt

MANIFEST = "manifest.json"
EVIDENCE = "evidence.json"
EVENTS = "events.jsonl"
CHECKPOINT = "checkpoint.json"
COMMIT_EVENTS = "commit/events.jsonl"
HANDOVER = "handover.json"
ATTESTATION = "attestation.intoto.json"
REPORT = "report.html"
DIFF = "changes.diff"
"""The name of the artifact that shows what a candidate changed."""

_REF = re.compile(r"(?:artifact:)?(sha256:[0-9a-f]{64})")
_PENDING = frozenset({EffectStatus.INTENT, EffectStatus.EXECUTING, EffectStatus.UNKNOWN_EFFECT})

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class FileSeal(Frozen):
    """What one file must be. `size` in bytes."""

    sha256: Digest
    size: int = Field(ge=0)


class Manifest(Frozen):
    """Every other file of the folder. `root` is the digest of `files` in canonical JSON.

    Attributes:
        head: the end of the attempt's chain of events.
        commit_head: that of the commit attempt's own chain; None where nothing was handed over.
    """

    schema_version: Literal[1] = 1
    files: dict[str, FileSeal]
    head: ChainHead
    commit_head: ChainHead | None = None
    root: Digest

    @classmethod
    def of(
        cls, files: Mapping[str, FileSeal], head: ChainHead, commit_head: ChainHead | None
    ) -> "Manifest":
        """Seal files."""
        return cls(files=dict(files), head=head, commit_head=commit_head, root=root_of(files))

    @property
    def heads(self) -> dict[str, ChainHead]:
        """The end of each chain in the folder, by the file that holds it."""
        committed = {} if self.commit_head is None else {COMMIT_EVENTS: self.commit_head}
        return {EVENTS: self.head, **committed}


def root_of(files: Mapping[str, FileSeal]) -> str:
    """The one digest that stands for all files."""
    return digest_of({path: seal.model_dump(mode="json") for path, seal in files.items()})


def json_bytes(model: Frozen) -> bytes:
    """The one form in which a noun stands in the folder."""
    return canonical(model.model_dump(mode="json"))


def lines(events: Iterable[Event]) -> bytes:
    """events.jsonl: each event with its exact payload text and hashes, one a line."""
    return b"".join(json_bytes(event) + b"\n" for event in events)


def bare(ref: str) -> str:
    """The digest in a reference.

    Raises:
        IntegrityError: it is no reference, for example because somebody made it a path.
    """
    match = _REF.fullmatch(ref)
    if match is None:
        raise IntegrityError(
            f"An event names {ref[:100]!r}, which is no digest. The trace was not written by "
            "Checkrein.",
            op="evidence.files",
            code="bad_ref",
        )
    return match[1]


def blobs_of(facts: Iterable[Fact]) -> dict[str, str]:
    """Paths of the event store's blobs that the events name, with their digests."""
    found: dict[str, str] = {}
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.ContextCompiled):
            found[context_path(p.manifest_ref)] = bare(p.manifest_ref)
        elif isinstance(p, e.ModelResponded):
            found[f"model_outputs/{_hex(p.raw_ref)}.json"] = bare(p.raw_ref)
        elif isinstance(p, e.PolicyDecided):
            ref = p.decision.input_ref
            found[f"decision_inputs/{_hex(ref)}.json"] = bare(ref)
        elif isinstance(p, e.Observed) and p.observation.original_ref is not None:
            ref = p.observation.original_ref
            found[f"originals/{_hex(ref)}"] = bare(ref)
    return found


def context_path(manifest_ref: str) -> str:
    """Where the manifest of a turn's context lies."""
    return f"contexts/{_hex(manifest_ref)}.json"


def described(facts: Iterable[Fact]) -> dict[str, Artifact]:
    """The artifacts that events describe, by digest. One content is one artifact."""
    return {a.hash: a for fact in facts for a in _artifacts(fact)}


def reported(facts: Iterable[Fact]) -> dict[str, tuple[CheckResult, VerificationResult]]:
    """The outputs that checks refer to, by digest, with the check that made each."""
    return {
        bare(check.evidence_ref): (check, p.result)
        for fact in facts
        if isinstance(p := fact.payload, e.VerificationFinished)
        for check in p.result.checks
        if check.evidence_ref is not None
    }


def artifacts_of(facts: Sequence[Fact], sizes: Mapping[str, int]) -> list[Artifact]:
    """Every artifact of the attempt. `sizes`: bytes of those that only a check refers to."""
    found = described(facts)
    for ref, (check, result) in reported(facts).items():
        found.setdefault(
            ref,
            Artifact(
                uri=f"artifact:{ref}",
                hash=ref,
                size=sizes.get(ref, 0),
                name="test_report.txt" if check.kind == "command" else f"{check.kind}.txt",
                media_type="text/plain",
                producer=result.verifier_version,
                input_refs=[result.state_digest],
            ),
        )
    return list(found.values())


def artifact_path(artifact: Artifact) -> str:
    """Where an artifact lies: its name for people, made unique by the head of its digest."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", artifact.name)[:80]
    return f"artifacts/{_hex(artifact.hash)[:12]}-{name}"


def checkpoint_of(rebuilt: Rebuilt, head: ChainHead) -> Checkpoint:
    """The safe point of an attempt that has ended: its end."""
    assert rebuilt.attempt is not None
    turns = sorted(rebuilt.manifests)
    return Checkpoint(
        attempt_id=rebuilt.attempt.attempt_id,
        state_version=rebuilt.safe_points,
        event_offset=rebuilt.end or head.seq,
        workspace_ref=rebuilt.attempt.workspace_ref.root,
        pending_effect_ids=[i for i, x in rebuilt.effects.items() if x.status in _PENDING],
        context_projection_ref=rebuilt.manifests[turns[-1]] if turns else None,
    )


def seal_of(data: bytes) -> FileSeal:
    """What a file with these bytes is."""
    return FileSeal(sha256=digest(data), size=len(data))


def _artifacts(fact: Fact) -> Iterator[Artifact]:
    p = fact.payload
    if isinstance(p, e.CandidateSealed | e.VerificationFinished):
        for artifact in p.artifacts:
            bare(artifact.hash)
            yield artifact


def _hex(ref: str) -> str:
    return bare(ref).removeprefix("sha256:")
