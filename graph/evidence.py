"""Evidence packages: who asked, who approved what exactly, what was done, and what proves it.

Events are the source; the tables are compared with what the events amount to, so that no package
is made of rows that somebody edited.
"""

import asyncio
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import Effect
from checkrein.contracts.event import Event, check_chain
from checkrein.contracts.evidence import (
    ActionRecord,
    ApprovalRecord,
    Candidate,
    ChainHead,
    EvidencePackage,
)
from checkrein.contracts.verification import VerificationResult
from checkrein.errors import EnvironmentFault, InputError, IntegrityError
from checkrein.graph import evidence_files as files
from checkrein.graph.evidence_package import assembled
from checkrein.graph.facts import Fact, read_facts
from checkrein.graph.rebuilt import Rebuilt
from checkrein.ports.artifact_store import ArtifactStore
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records

PAGE = 10_000
"""Events that are read at once."""


@dataclass(frozen=True)
class _Dossier:
    """An attempt's trace, read and found whole, with what the tables say of it."""

    events: list[Event]
    facts: list[Fact]
    head: ChainHead
    tables: dict[str, Any]


async def package(
    records: Records, events: EventStore, artifacts: ArtifactStore, attempt_id: str
) -> EvidencePackage:
    """Make the evidence package of an attempt that has ended.

    Raises:
        InputError: no such attempt, or it has not ended.
        IntegrityError: the event chain is broken, or the tables do not agree with it.
    """
    return await _packed(await _dossier(records, events, attempt_id), artifacts)


async def export(
    records: Records, events: EventStore, artifacts: ArtifactStore, task_id: str, out: Path
) -> Path:
    """Write the evidence of a task's last ended attempt to the folder `out`, whole or not at all.

    Raises:
        InputError: no such task, no attempt of it has ended, or `out` holds something already.
        IntegrityError: what is stored was changed.
        EnvironmentFault: the disk refuses.
    """
    attempt_id = await _last_ended(records, task_id)
    out = await asyncio.to_thread(_free, out)
    dossier = await _dossier(records, events, attempt_id)
    packed = await _packed(dossier, artifacts)
    folder = _Folder(out)
    try:
        await folder.put(files.EVIDENCE, files.json_bytes(packed))
        await folder.put(files.EVENTS, files.lines(dossier.events))
        checkpoint = files.checkpoint_of(Rebuilt.of(dossier.facts), dossier.head)
        await folder.put(files.CHECKPOINT, files.json_bytes(checkpoint))
        for path, ref in files.blobs_of(dossier.facts).items():
            await folder.put(path, await events.blob(ref))
        for artifact in packed.artifacts:
            await folder.put(files.artifact_path(artifact), await artifacts.get(artifact.hash))
        await folder.publish(dossier.head)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, folder.draft, ignore_errors=True)
        raise
    return out


async def _last_ended(records: Records, task_id: str) -> str:
    await records.task(task_id)
    attempts = await records.attempts(task_id, limit=1_000)
    for attempt in attempts:
        if AttemptStatus(attempt.status).is_terminal:
            return attempt.attempt_id
    stand = ", ".join(f"{a.attempt_id} is {a.status}" for a in attempts[:3])
    raise InputError(
        f"No attempt of task {task_id} has ended, so there is nothing to prove yet: {stand}. "
        "Resume, recover or cancel it first.",
        op="evidence.export",
        code="attempt_not_ended",
        context={"task_id": task_id},
    )


async def _dossier(records: Records, events: EventStore, attempt_id: str) -> _Dossier:
    tables = await records.dossier(attempt_id)
    if not AttemptStatus(tables["status"]).is_terminal:
        raise InputError(
            f"Attempt {attempt_id} is {tables['status']}; evidence is made once it has ended.",
            op="evidence.package",
            code="attempt_not_ended",
        )
    trace: list[Event] = []
    while page := await events.read(attempt_id, after=len(trace), limit=PAGE):
        trace += page
    head = ChainHead(seq=tables["head_seq"], hash=tables["head_hash"])
    broken = check_chain(trace, head.seq, head.hash)
    facts, unread = read_facts(trace)
    wrong = [f"event {fault.seq}: {fault.problem}" for fault in broken]
    wrong += [f"event {fault.seq}: {fault.problem}" for fault in unread]
    if wrong:
        raise _changed(attempt_id, wrong)
    return _Dossier(trace, facts, head, tables)


async def _packed(dossier: _Dossier, artifacts: ArtifactStore) -> EvidencePackage:
    known = files.described(dossier.facts)
    sizes = {
        ref: len(await artifacts.get(ref))
        for ref in files.reported(dossier.facts)
        if ref not in known
    }
    packed = assembled(dossier.facts, dossier.head, sizes)
    wrong = differences(dossier.tables, packed)
    if wrong:
        raise _changed(packed.attempt.attempt_id, wrong)
    return packed


def differences(tables: dict[str, Any], packed: EvidencePackage) -> list[str]:
    """Where the tables (Records.dossier) say something else than the events do."""
    try:
        stored = _stored(tables)
    except ValidationError as error:
        return [f"a row cannot be read ({error.title}, {error.error_count()} faults)"]
    told = _told(packed)
    return [f"{n} differs" for n in sorted({*told, *stored}) if told.get(n) != stored.get(n)]


def _told(packed: EvidencePackage) -> dict[str, object]:
    """What the events say, row by row. Deadlines and times of answers are the database's own."""
    return {
        "the status": packed.attempt.status,
        "the contract": packed.contract,
        "the candidate": packed.candidate,
        "the verification": packed.verification,
        "what was spent": {name: amount for name, amount in packed.usage.items() if amount},
        "what is reserved": {},
        **{f"action {x.action.action_id}": x for x in packed.actions},
        **{f"approval {x.request.approval_id}": _timeless(x) for x in packed.approvals},
        **{f"effect {x.effect_id}": x for x in packed.effects},
    }


def _stored(tables: dict[str, Any]) -> dict[str, object]:
    """What the tables say, in the same form."""
    actions = [
        ActionRecord.model_validate(
            {"action": x["action"] | {"status": x["status"]}, "decisions": x["decisions"] or []}
        )
        for x in tables["actions"]
    ]
    approvals = [ApprovalRecord.model_validate(x) for x in tables["approvals"]]
    effects = [Effect.model_validate(x) for x in tables["effects"]]
    candidate, verdict = tables["candidate"], tables["verification"]
    return {
        "the status": AttemptStatus(tables["status"]),
        "the contract": tables["contract"],
        "the candidate": candidate and Candidate.model_validate(candidate),
        "the verification": verdict and VerificationResult.model_validate(verdict),
        "what was spent": _booked(tables, "spent"),
        "what is reserved": _booked(tables, "reserved"),
        **{f"action {x.action.action_id}": x for x in actions},
        **{f"approval {x.request.approval_id}": _timeless(x) for x in approvals},
        **{f"effect {x.effect_id}": x for x in effects},
    }


def _booked(tables: dict[str, Any], column: str) -> dict[str, int]:
    """One column of the attempt's own books."""
    return {name: line[column] for name, line in tables["usage"].items() if line[column]}


def _timeless(record: ApprovalRecord) -> ApprovalRecord:
    return ApprovalRecord(
        request=record.request.model_copy(update={"expires_at": None}),
        grants=[grant.model_copy(update={"decided_at": None}) for grant in record.grants],
    )


def _changed(attempt_id: str, wrong: list[str]) -> IntegrityError:
    more = f", and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    return IntegrityError(
        f"What is stored about attempt {attempt_id} was changed: {'; '.join(wrong[:5])}{more}. "
        f"`checkrein trace verify {attempt_id}` shows where the chain breaks; restore the database "
        "from a backup before you rely on it.",
        op="evidence.package",
        code="records_changed",
        context={"attempt_id": attempt_id},
    )


class _Folder:
    """A folder in the making, beside its final place."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.draft = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}")
        self._seals: dict[str, files.FileSeal] = {}

    async def put(self, path: str, data: bytes) -> None:
        """Write one file and seal it."""
        self._seals[path] = files.seal_of(data)
        await self._written(path, data)

    async def publish(self, head: ChainHead) -> None:
        """Seal the folder, and give it its name."""
        manifest = files.Manifest.of(self._seals, head)
        await self._written(files.MANIFEST, files.json_bytes(manifest))
        try:
            await asyncio.to_thread(self.draft.rename, self.out)
        except OSError as error:
            raise _refused(self.out, error) from error

    async def _written(self, path: str, data: bytes) -> None:
        try:
            await asyncio.to_thread(_write, self.draft / path, data)
        except OSError as error:
            raise _refused(self.draft, error) from error


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as stream:
        stream.write(data)


def _free(out: Path) -> Path:
    """The place to write to, absolute; nothing may be there but an empty folder."""
    out = out.expanduser().absolute()
    try:
        taken = out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir())))
    except OSError as error:
        raise _refused(out, error) from error
    if taken:
        raise InputError(
            f"{out} is there already. Evidence is never written over anything: name a new folder.",
            op="evidence.export",
            code="out_not_empty",
            context={"path": str(out)},
        )
    return out


def _refused(where: Path, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"The evidence cannot be written to {where}: {error.strerror}. Nothing was left there; "
        "name a folder on a disk that has room and lets you write.",
        op="evidence.export",
        code="evidence_not_written",
        context={"path": str(where), "errno": error.errno},
    )
