"""Evidence packages: who asked, who approved what exactly, what was done, and what proves it.

Events are the source; the tables are compared with what the events amount to, so that no package
is made of rows that somebody edited.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
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
    Handover,
    Stands,
)
from checkrein.contracts.verification import VerificationResult
from checkrein.errors import InputError, IntegrityError
from checkrein.graph import evidence_files as files
from checkrein.graph.evidence_derived import derived, diff_path
from checkrein.graph.evidence_package import CommitTrace, assembled
from checkrein.graph.evidence_writing import NewFolder, free_place
from checkrein.graph.facts import Fact, read_facts
from checkrein.graph.opening import Opener
from checkrein.graph.rebuilt import Rebuilt
from checkrein.graph.verified_state import handover, state_moved
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


@dataclass(frozen=True)
class Stores:
    """Where evidence comes from."""

    records: Records
    events: EventStore
    artifacts: ArtifactStore


async def package(
    records: Records, events: EventStore, artifacts: ArtifactStore, attempt_id: str
) -> EvidencePackage:
    """Make the evidence package of an attempt that has ended.

    Raises:
        InputError: no such attempt, or it has not ended.
        IntegrityError: the event chain is broken, or the tables do not agree with it.
    """
    stores = Stores(records, events, artifacts)
    dossier = await _dossier(stores, attempt_id)
    return await _packed(stores, dossier, await _commit_of(stores, dossier))


async def export(
    records: Records,
    events: EventStore,
    artifacts: ArtifactStore,
    task_id: str,
    out: Path,
    *,
    opener: Opener | None = None,
    although_moved: bool = False,
) -> Path:
    """Write the evidence of a task's last ended attempt to the folder `out`, whole or not at all.

    Args:
        opener: looks at the workspace; without it the folder says that nobody could.
        although_moved: hand out what was verified although it does not stand any more; the folder
            says so. A task that is COMPLETED was handed over already, and may move on.

    Raises:
        InputError: no such task, no attempt of it has ended, or `out` holds something already.
        ConflictError: the state moved after it was verified (state_moved).
        IntegrityError: what is stored was changed.
        EnvironmentFault: the disk refuses.
    """
    stores = Stores(records, events, artifacts)
    attempt_id = await _last_ended(records, task_id)
    out = await asyncio.to_thread(free_place, out)
    dossier = await _dossier(stores, attempt_id)
    commit = await _commit_of(stores, dossier)
    packed = await _packed(stores, dossier, commit)
    found = await _handed_over(opener, packed)
    if found.state is Stands.MOVED and commit is None and not although_moved:
        raise state_moved(found, packed.attempt, op="evidence.export")
    folder = NewFolder(out)
    try:
        await _fill(folder, stores, (dossier, commit), packed, found)
        await folder.publish(dossier.head, None if commit is None else commit.head)
    except BaseException:
        await folder.discard()
        raise
    return out


async def _fill(
    folder: NewFolder,
    stores: Stores,
    traces: tuple[_Dossier, _Dossier | None],
    packed: EvidencePackage,
    handover: Handover,
) -> None:
    dossier, commit = traces
    await folder.put(files.EVIDENCE, files.json_bytes(packed))
    await folder.put(files.EVENTS, files.lines(dossier.events))
    checkpoint = files.checkpoint_of(Rebuilt.of(dossier.facts), dossier.head)
    await folder.put(files.CHECKPOINT, files.json_bytes(checkpoint))
    await folder.put(files.HANDOVER, files.json_bytes(handover))
    facts = list(dossier.facts)
    if commit is not None:
        await folder.put(files.COMMIT_EVENTS, files.lines(commit.events))
        facts += commit.facts
    for path, ref in files.blobs_of(facts).items():
        await folder.put(path, await stores.events.blob(ref))
    named = diff_path(packed)
    diff: bytes | None = None
    for path, ref in {files.artifact_path(a): a.hash for a in packed.artifacts}.items():
        data = await stores.artifacts.get(ref)
        diff = data if path == named else diff
        await folder.put(path, data)
    for path, data in derived(packed, handover, diff).items():
        await folder.put(path, data)


async def _handed_over(opener: Opener | None, packed: EvidencePackage) -> Handover:
    """Whether what was verified stands now."""
    accepted = packed.finishes.task_accepted is not None and packed.candidate is not None
    digest = packed.candidate.state_digest if accepted and packed.candidate else None
    if opener is not None:
        return await handover(opener, packed.attempt, digest)
    state = Stands.UNVERIFIED if digest is None else Stands.UNREACHABLE
    return Handover(state=state, verified=digest, found=None, checked_at=datetime.now(UTC))


async def _last_ended(records: Records, task_id: str) -> str:
    await records.task(task_id)
    attempts = await records.attempts(task_id, limit=1_000)
    for attempt in attempts:
        if attempt.purpose == "work" and AttemptStatus(attempt.status).is_terminal:
            return attempt.attempt_id
    stand = ", ".join(f"{a.attempt_id} is {a.status}" for a in attempts[:3])
    raise InputError(
        f"No attempt of task {task_id} has ended, so there is nothing to prove yet: {stand}. "
        "Resume, recover or cancel it first.",
        op="evidence.export",
        code="attempt_not_ended",
        context={"task_id": task_id},
    )


async def _dossier(stores: Stores, attempt_id: str) -> _Dossier:
    tables = await stores.records.dossier(attempt_id)
    if not AttemptStatus(tables["status"]).is_terminal:
        raise InputError(
            f"Attempt {attempt_id} is {tables['status']}; evidence is made once it has ended.",
            op="evidence.package",
            code="attempt_not_ended",
        )
    trace: list[Event] = []
    while page := await stores.events.read(attempt_id, after=len(trace), limit=PAGE):
        trace += page
    head = ChainHead(seq=tables["head_seq"], hash=tables["head_hash"])
    broken = check_chain(trace, head.seq, head.hash)
    facts, unread = read_facts(trace)
    wrong = [f"event {fault.seq}: {fault.problem}" for fault in broken]
    wrong += [f"event {fault.seq}: {fault.problem}" for fault in unread]
    if wrong:
        raise _changed(attempt_id, wrong)
    return _Dossier(trace, facts, head, tables)


async def _commit_of(stores: Stores, work: _Dossier) -> _Dossier | None:
    """The trace of the commit attempt that handed the work over, where one did."""
    attempt = Rebuilt.of(work.facts).attempt
    assert attempt is not None, "a dossier begins with its attempt"
    for one in await stores.records.attempts(attempt.task_id, limit=1_000):
        if one.purpose == "commit" and one.status == AttemptStatus.CANDIDATE_VERIFIED:
            found = await _dossier(stores, one.attempt_id)
            made = Rebuilt.of(found.facts).attempt
            if made is not None and made.commit and made.commit.attempt_id == attempt.attempt_id:
                return found
    return None


async def _packed(
    stores: Stores, dossier: _Dossier, commit: _Dossier | None = None
) -> EvidencePackage:
    facts = [*dossier.facts, *(commit.facts if commit else ())]
    known = files.described(facts)
    sizes = {
        ref: len(await stores.artifacts.get(ref))
        for ref in files.reported(facts)
        if ref not in known
    }
    handed_over = None
    if commit is not None:
        await _packed(stores, commit)  # the tables must agree with this trace too
        handed_over = CommitTrace(commit.facts, commit.head)
    packed = assembled(dossier.facts, dossier.head, sizes, handed_over)
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
        "who accepted it": [
            one.model_dump(mode="json", exclude={"at"})
            for one in sorted(packed.finishes.user_accepted, key=lambda one: one.by)
        ],
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
        "who accepted it": sorted(
            ({"note": "", **one} for one in tables["acceptances"]), key=lambda one: one["by"]
        ),
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
