"""Tasks and their attempts: records of their own, which stand whatever becomes of the talk."""

import json

import psycopg
import pytest
from open_store import OpenStore
from payloads import ended, sealed, verified

from checkrein.contracts import ids
from checkrein.contracts.attempt import AttemptStatus, CommitOf
from checkrein.contracts.budget import BudgetLimits
from checkrein.contracts.event import AttemptStarted, CancelRequested, Payload, TaskCreated
from checkrein.contracts.task import Task, TaskStatus
from checkrein.contracts.verification import CheckStatus
from checkrein.errors import ConflictError, InputError
from checkrein.graph.commit import BUDGETS
from checkrein.testing.conformance.story import asked, contract_of, opening, replied

REQUIRED = {
    "tenant",
    "task_id",
    "contract_version",
    "input_refs",
    "risk",
    "budget",
    "requested_by",
    "status",
}


async def ended_as(store: OpenStore, attempt_id: str, status: AttemptStatus) -> None:
    """Lead an attempt to its end."""
    fence = await store.fence(attempt_id)
    before: list[Payload] = []
    if status is AttemptStatus.CANCELLED:
        before = [CancelRequested(by="bob", reason="enough")]
    elif status is AttemptStatus.CANDIDATE_VERIFIED:
        before = [*asked(), *replied(), *sealed(), verified()]
    await store.append(attempt_id, [*before, ended(status)], fence)


@pytest.mark.shows(1)
async def test_a_task_stands_when_all_messages_are_gone(own_store: OpenStore) -> None:
    store, contract = own_store, contract_of("acme", BudgetLimits(steps=3))
    attempt_id = await store.begun(contract)
    fence = await store.fence(attempt_id)
    raw = b'{"text": "hello"}'
    await store.events.append(attempt_id, [*asked(), *replied(1, raw)], fence=fence, blobs=[raw])
    task_id = (await store.records.position(attempt_id)).attempt.task_id
    before = await store.records.task(task_id)
    assert before == Task(
        task_id=task_id,
        tenant="acme",
        contract_version=contract.contract_version,
        risk=contract.risk,
        budget=contract.budgets,
        requested_by="local",
        status=TaskStatus.RUNNING,
    )
    await store.by_owner(
        "TRUNCATE checkrein.events, checkrein.blobs, checkrein.checkpoints, checkrein.turns CASCADE"
    )
    await store.by_owner("TRUNCATE langgraph.checkpoints, langgraph.checkpoint_blobs")
    assert await store.records.task(task_id) == before


@pytest.mark.shows(1)
async def test_a_task_has_every_field(store: OpenStore) -> None:
    rows = await store.rows(
        "SELECT attname::text AS name FROM pg_attribute"
        " WHERE attrelid = 'checkrein.tasks'::regclass AND attnum > 0 AND attnotnull"
    )
    assert {row["name"] for row in rows} >= REQUIRED
    for field in REQUIRED - {"status"}:  # which is not taken from the event
        event = opening(ids.new_attempt_id())[0].model_dump(mode="json")
        del event["task"][field]
        with pytest.raises(psycopg.errors.NotNullViolation, match=f'"{field}"'):
            await store.rows(
                "SELECT checkrein.start('{task_created}', ARRAY[%s])", json.dumps(event)
            )


@pytest.mark.shows(2)
@pytest.mark.parametrize(
    ("status", "of_task"),
    [
        (AttemptStatus.FAILED, "FAILED"),
        (AttemptStatus.MODEL_ERROR, "FAILED"),
        (AttemptStatus.CANCELLED, "CANCELLED"),
    ],
)
async def test_another_attempt_leaves_the_first_as_it_was(
    status: AttemptStatus, of_task: str, store: OpenStore
) -> None:
    first = await store.begun()
    await ended_as(store, first, status)
    task_id = (await store.records.position(first)).attempt.task_id
    assert (await store.records.task(task_id)).status == of_task
    before = await store.records.dossier(first), await store.events.read(first)
    second = await store.begun(task_id=task_id, number=2)
    assert (await store.records.task(task_id)).status == "RUNNING"
    fence = await store.fence(second)
    await store.append(second, [*asked(), *replied()], fence)
    after = await store.records.dossier(first), await store.events.read(first)
    assert after[1] == before[1]
    for part in ("attempt", "status", "actions", "effects", "usage", "head_seq", "head_hash"):
        assert after[0][part] == before[0][part]
    assert [a.attempt_id for a in await store.records.attempts(task_id)] == [second, first]
    position = await store.records.position(second)
    assert (position.attempt.task_id, position.attempt.number) == (task_id, 2)


async def test_what_a_person_must_decide_can_be_tried_again(store: OpenStore) -> None:
    """An escalated task is no dead end: the person may say, once more."""
    first = await store.begun()
    fence = await store.fence(first)
    failed = [*asked(), *replied(), *sealed(), verified(status=CheckStatus.FAIL)]
    end = ended(AttemptStatus.FAILED_VERIFICATION, escalate=True)
    await store.append(first, [*failed, end], fence)
    task_id = (await store.records.position(first)).attempt.task_id
    assert (await store.records.task(task_id)).status == "ESCALATED"
    await store.begun(task_id=task_id, number=2)
    assert (await store.records.task(task_id)).status == "RUNNING"


async def test_a_verified_task_has_no_further_attempt(store: OpenStore) -> None:
    first = await store.begun()
    await ended_as(store, first, AttemptStatus.CANDIDATE_VERIFIED)
    task_id = (await store.records.position(first)).attempt.task_id
    with pytest.raises(ConflictError, match="cannot take the event attempt_started"):
        await store.begun(task_id=task_id, number=2)
    assert len(await store.records.attempts(task_id)) == 1


async def test_attempts_of_a_task_are_numbered_once(store: OpenStore) -> None:
    first = await store.begun()
    task_id = (await store.records.position(first)).attempt.task_id
    with pytest.raises(ConflictError) as refused:
        await store.begun(task_id=task_id, number=1)
    assert refused.value.code == "exists"


async def test_attempts_are_found_by_the_beginning_of_their_id(store: OpenStore) -> None:
    attempt_id = await store.begun()
    assert await store.records.resolve(attempt_id) == attempt_id
    assert await store.records.resolve(attempt_id[:20]) == attempt_id
    for prefix, code in (
        (attempt_id + "0", "unknown_attempt"),
        ("%", "unknown_attempt"),
        ("", "ambiguous_attempt"),
    ):
        await store.begun()
        with pytest.raises(InputError) as unknown:
            await store.records.resolve(prefix)
        assert unknown.value.code == code


async def test_unknown_ids_are_told_apart(store: OpenStore) -> None:
    records, nobody = store.records, ids.new_attempt_id()
    for read, code in (
        (records.position(nobody), "unknown_attempt"),
        (records.dossier(nobody), "unknown_attempt"),
        (records.task(nobody), "unknown_task"),
        (records.approval("apr_none"), "unknown_approval"),
        (store.events.contract(nobody), "unknown_attempt"),
    ):
        with pytest.raises(InputError) as unknown:
            await read
        assert unknown.value.code == code
    assert await store.events.read(nobody) == []
    assert await records.effects(nobody) == []


async def test_unfinished_attempts_are_those_that_somebody_should_work_on(
    own_store: OpenStore,
) -> None:
    store = own_store
    running, cancelling, done = [await store.begun() for _ in range(3)]
    cancel = CancelRequested(by="bob", reason="enough")
    await store.events.append(cancelling, [cancel], fence=None)
    await ended_as(store, done, AttemptStatus.FAILED)
    found = await store.records.unfinished()
    assert [(a.attempt_id, a.status) for a in found] == [
        (running, "RUNNING"),
        (cancelling, "CANCELLING"),
    ]


async def test_a_commit_ends_verified_by_the_state_that_it_hands_over(store: OpenStore) -> None:
    """Protects: a look at another state completes no task, whatever it found there."""
    contract = contract_of().model_copy(update={"commit_authority": "bob"})
    attempt_id = ids.new_attempt_id()
    created, started = opening(attempt_id, contract=contract)
    assert isinstance(created, TaskCreated) and isinstance(started, AttemptStarted)
    task = created.task.model_copy(update={"commit_authority": "bob"})
    await store.events.start([created.model_copy(update={"task": task}), started])
    await ended_as(store, attempt_id, AttemptStatus.CANDIDATE_VERIFIED)
    commit = CommitOf(
        attempt_id=attempt_id,
        state_digest="sha256:w1",
        candidate_hash="sha256:c",
        by="bob",
        authenticated=True,
    )
    changed = {"attempt_id": "c1", "number": 2, "purpose": "commit", "commit": commit}
    attempt = started.attempt.model_copy(update=changed)
    begun = started.model_copy(update={"attempt": attempt, "budgets": BUDGETS})
    await store.events.start([begun])
    fence = await store.fence("c1")
    elsewhere = [*asked(), *replied(), *sealed(digest="sha256:w2"), verified(digest="sha256:w2")]
    done = ended(AttemptStatus.CANDIDATE_VERIFIED)
    with pytest.raises(ConflictError, match="nother state was looked at"):
        await store.append("c1", [*elsewhere, done], fence)
    await store.append("c1", [*asked(), *replied(), *sealed(), verified(), done], fence)
    assert (await store.records.task(task.task_id)).status is TaskStatus.COMPLETED
