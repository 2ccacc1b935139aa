"""What a forger does to an evidence folder: edits, sealed again, up to all of it made anew."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from checkrein.contracts.codec import canonical
from checkrein.contracts.event import GENESIS, Event, chain_hash
from checkrein.contracts.evidence import ChainHead, EvidencePackage, Handover, Stands
from checkrein.graph import evidence_files as files
from checkrein.graph.evidence_check import OWN
from checkrein.graph.evidence_derived import derived, diff_path
from checkrein.graph.evidence_package import CommitTrace, assembled
from checkrein.graph.facts import read_facts
from checkrein.graph.rebuilt import Rebuilt

Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
"""Takes the payloads of a trace, in order, and returns those of the forged one."""


def names(folder: Path) -> list[str]:
    """Every file of a folder, the manifest too."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def read_events(folder: Path, name: str = files.EVENTS) -> list[Event]:
    """A trace that a folder holds."""
    text = (folder / name).read_text(encoding="utf-8")
    return [Event.model_validate_json(line) for line in text.split("\n") if line]


def chained(payloads: Sequence[dict[str, Any]], like: Sequence[Event]) -> list[Event]:
    """A whole chain of payloads: ids, causes and hashes as an honest store would make them."""
    first = like[0]
    events: list[Event] = []
    for seq, payload in enumerate(payloads, start=1):
        event = Event(
            attempt_id=first.attempt_id,
            seq=seq,
            event_id=f"{first.attempt_id}/{seq}",
            cause_id=None if seq == 1 else f"{first.attempt_id}/{seq - 1}",
            type=str(payload.get("type")),
            at=like[min(seq, len(like)) - 1].at,
            payload=json.dumps(payload, ensure_ascii=False, separators=(",", ":")),
            prev_hash=events[-1].hash if events else GENESIS,
            hash="",
        )
        events.append(event.model_copy(update={"hash": chain_hash(event)}))
    return events


def changed(events: Sequence[Event], change: Change) -> list[Event]:
    """A trace with other payloads, and a chain that is whole again."""
    return chained(change([json.loads(event.payload) for event in events]), events)


def head_of(events: Sequence[Event]) -> ChainHead:
    """Where a chain ends."""
    return ChainHead(seq=len(events), hash=events[-1].hash)


def seal(folder: Path, head: ChainHead | None = None) -> None:
    """Make a manifest that fits whatever is there now; heads that are not given stay."""
    old = files.Manifest.model_validate_json((folder / files.MANIFEST).read_bytes())
    seals = {
        name: files.seal_of((folder / name).read_bytes())
        for name in names(folder)
        if name != files.MANIFEST
    }
    manifest = files.Manifest.of(seals, head or old.head, old.commit_head)
    (folder / files.MANIFEST).write_bytes(files.json_bytes(manifest))


def edit_json(folder: Path, name: str, change: Callable[[Any], None]) -> None:
    """Edit one JSON file as its writer would have written it, and seal the folder again."""
    value = json.loads((folder / name).read_bytes())
    change(value)
    (folder / name).write_bytes(canonical(value))
    seal(folder)


def remake(folder: Path, package: EvidencePackage, handover: Handover) -> None:
    """Make the files that are made of a package, as an exporter would."""
    path = diff_path(package)
    diff = None if path is None else (folder / path).read_bytes()
    for name, data in derived(package, handover, diff).items():
        (folder / name).write_bytes(data)


def forge(folder: Path, change: Change) -> None:
    """Change the trace, leave the commit out, and make everything else of the folder agree."""
    events = changed(read_events(folder), change)
    (folder / files.EVENTS).write_bytes(files.lines(events))
    (folder / files.COMMIT_EVENTS).unlink(missing_ok=True)
    agreed(folder)


def agreed(folder: Path) -> None:
    """Make everything of the folder agree with the traces that are there now."""
    events = read_events(folder)
    head, (facts, _) = head_of(events), read_facts(events)
    every, commit, commit_head = facts, None, None
    if (folder / files.COMMIT_EVENTS).exists():
        committed = read_events(folder, files.COMMIT_EVENTS)
        commit_head, (told, _) = head_of(committed), read_facts(committed)
        commit, every = CommitTrace(told, commit_head), [*facts, *told]
    sizes = {
        artifact.hash: (folder / files.artifact_path(artifact)).stat().st_size
        for artifact in files.artifacts_of(every, {})
    }
    package = assembled(facts, head, sizes, commit)
    named = {*files.blobs_of(every), *map(files.artifact_path, package.artifacts)}
    for name in set(names(folder)) - named - OWN - {files.COMMIT_EVENTS}:
        (folder / name).unlink()
    _without_empty(folder)
    handover = _standing(package)
    (folder / files.HANDOVER).write_bytes(files.json_bytes(handover))
    (folder / files.EVIDENCE).write_bytes(files.json_bytes(package))
    checkpoint = files.checkpoint_of(Rebuilt.of(facts), head)
    (folder / files.CHECKPOINT).write_bytes(files.json_bytes(checkpoint))
    remake(folder, package, handover)
    manifest = files.Manifest.of({}, head, commit_head)
    (folder / files.MANIFEST).write_bytes(files.json_bytes(manifest))
    seal(folder)


def _without_empty(folder: Path) -> None:
    for below in folder.iterdir():
        if below.is_dir() and not any(below.iterdir()):
            below.rmdir()


def _standing(package: EvidencePackage) -> Handover:
    """What an exporter would say who found the verified state."""
    accepted = package.finishes.task_accepted is not None and package.candidate is not None
    digest = package.candidate.state_digest if accepted and package.candidate else None
    return Handover(
        state=Stands.STANDS if digest else Stands.UNVERIFIED,
        verified=digest,
        found=digest,
        checked_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
