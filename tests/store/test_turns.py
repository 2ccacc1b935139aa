"""Turns and the gate: what closes a turn, what counts as idle or denied, what an end needs."""

import pytest
from open_store import OpenStore
from payloads import ended, observed, sealed, unusable, verified

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.decision import Verdict
from checkrein.contracts.event import (
    ActionProposed,
    CancelRequested,
    CheckpointSaved,
    ContextCompiled,
    ModelRequested,
    Payload,
    QuestionAsked,
    RunResumed,
    Suspended,
    TurnStopped,
    UserAnswered,
)
from checkrein.contracts.observation import ObservationStatus
from checkrein.contracts.verification import CheckStatus
from checkrein.errors import ConflictError, InputError
from checkrein.ports.records import Position
from checkrein.testing.conformance.story import action_of, asked, decided, replied

QUESTION = QuestionAsked(turn=1, call_id="c", question="Which?")
STOPPED = TurnStopped(turn=1, why="empty_reply")
ANSWER = UserAnswered(text="this one", by="bob")


async def owned(store: OpenStore) -> str:
    attempt_id = await store.begun()
    await store.fence(attempt_id)
    return attempt_id


async def say(store: OpenStore, attempt_id: str, *payloads: Payload) -> Position:
    return await store.events.append_and_look(attempt_id, payloads, fence=1, blobs=[b"{}"])


def turn_of(position: Position) -> tuple[int, str]:
    assert position.turn is not None
    return position.turn.turn, position.turn.status


async def proposing(
    store: OpenStore, attempt_id: str, verdicts: list[Verdict], turn: int = 1
) -> Position:
    """A turn with one action for each verdict."""
    actions = [action_of(attempt_id, turn, n) for n in range(len(verdicts))]
    return await say(
        store,
        attempt_id,
        *asked(turn),
        *replied(turn),
        *(ActionProposed(action=action) for action in actions),
        *(decided(action, verdict) for action, verdict in zip(actions, verdicts, strict=True)),
    )


async def test_a_turn_goes_from_compiled_to_responded(store: OpenStore) -> None:
    attempt_id = await owned(store)
    compiled, reserved, model_requested = asked()
    assert turn_of(await say(store, attempt_id, compiled, reserved)) == (1, "COMPILED")
    assert turn_of(await say(store, attempt_id, model_requested)) == (1, "REQUESTED")
    # A lost answer: the turn is compiled and asked again, as often as that takes.
    assert turn_of(await say(store, attempt_id, compiled, model_requested)) == (1, "REQUESTED")
    position = await say(store, attempt_id, *replied())
    assert turn_of(position) == (1, "RESPONDED")
    assert position.turn is not None and position.turn.model_tries == 2


@pytest.mark.shows(52)
async def test_no_reply_is_replaced_and_none_comes_unasked(store: OpenStore) -> None:
    attempt_id = await owned(store)
    compiled, _, model_requested = asked()
    responded = replied()[0]
    with pytest.raises(InputError, match="has no turn 1"):
        await say(store, attempt_id, responded)
    await say(store, attempt_id, compiled)
    with pytest.raises(ConflictError):
        await say(store, attempt_id, responded)
    await say(store, attempt_id, model_requested, responded)
    for again in (compiled, model_requested, responded):
        with pytest.raises(ConflictError):
            await say(store, attempt_id, again)


async def test_actions_belong_to_a_turn_with_a_reply(store: OpenStore) -> None:
    attempt_id = await owned(store)
    proposal = ActionProposed(action=action_of(attempt_id))
    await say(store, attempt_id, *asked())
    with pytest.raises(ConflictError, match="takes no action"):
        await say(store, attempt_id, proposal)
    await say(store, attempt_id, *replied(), unusable(attempt_id, 1, 1))
    with pytest.raises(ConflictError, match="takes no action"):
        await say(store, attempt_id, proposal)


async def test_a_turn_closes_with_the_last_of_its_results(store: OpenStore) -> None:
    attempt_id = await owned(store)
    await proposing(store, attempt_id, [Verdict.ALLOW] * 3)
    for position in (2, 0):
        await say(store, attempt_id, unusable(attempt_id, 1, position + 5))
        found = await say(store, attempt_id, observed(action_of(attempt_id, 1, position)))
        assert turn_of(found) == (1, "RESPONDED")
    found = await say(store, attempt_id, observed(action_of(attempt_id, 1, 1)))
    assert turn_of(found) == (1, "CLOSED")
    assert sorted(found.observed) == [0, 1, 2, 5, 7]


async def test_a_call_has_one_result(store: OpenStore) -> None:
    attempt_id = await owned(store)
    await proposing(store, attempt_id, [Verdict.ALLOW] * 2)
    await say(store, attempt_id, observed(action_of(attempt_id)), unusable(attempt_id, 1, 7))
    for again in (observed(action_of(attempt_id)), unusable(attempt_id, 1, 7)):
        with pytest.raises(ConflictError):
            await say(store, attempt_id, again)


async def test_a_turn_of_unusable_calls_counts_as_one_idle_turn(store: OpenStore) -> None:
    """However many calls were unusable: it is turns in a row that end an attempt."""
    attempt_id = await owned(store)
    await say(store, attempt_id, *asked(), *replied())
    found = await say(store, attempt_id, *(unusable(attempt_id, 1, n) for n in range(5)))
    assert (turn_of(found), found.idle_turns) == ((1, "CLOSED"), 1)
    await say(store, attempt_id, *asked(2), *replied(2))
    found = await say(store, attempt_id, unusable(attempt_id, 2, 0), unusable(attempt_id, 2, 1))
    assert found.idle_turns == 2
    await proposing(store, attempt_id, [Verdict.ALLOW], turn=3)
    found = await say(store, attempt_id, observed(action_of(attempt_id, 3)))
    assert (turn_of(found), found.idle_turns) == ((3, "CLOSED"), 0)


async def test_only_turns_that_were_denied_altogether_count(store: OpenStore) -> None:
    attempt_id = await owned(store)

    async def results(turn: int, *statuses: ObservationStatus) -> Position:
        verdicts = [
            Verdict.DENY if status is ObservationStatus.DENIED else Verdict.REQUIRE_APPROVAL
            for status in statuses
        ]
        await proposing(store, attempt_id, verdicts, turn)
        return await say(
            store,
            attempt_id,
            *(
                observed(action_of(attempt_id, turn, n), status)
                for n, status in enumerate(statuses)
            ),
        )

    denied, rejected = ObservationStatus.DENIED, ObservationStatus.REJECTED
    assert (await results(1, denied, denied)).denied_turns == 1
    assert (await results(2, denied, rejected)).denied_turns == 2
    found = await results(3, denied, ObservationStatus.FAILED)
    assert (found.denied_turns, found.idle_turns) == (0, 0)


@pytest.mark.parametrize("waiting", [QUESTION, STOPPED], ids=lambda payload: str(payload.type))
async def test_a_turn_that_waits_closes_with_the_answer(waiting: Payload, store: OpenStore) -> None:
    attempt_id = await owned(store)
    found = await say(store, attempt_id, *asked(), *replied(), waiting)
    assert turn_of(found) == (1, "RESPONDED")
    await store.events.append(attempt_id, [ANSWER], fence=None)
    found = await store.records.position(attempt_id)
    assert (turn_of(found), found.idle_turns) == ((1, "CLOSED"), 0)
    with pytest.raises(ConflictError, match="Nothing waits for an answer"):
        await store.events.append(attempt_id, [ANSWER], fence=None)
    history = await store.records.history(attempt_id, before=2, limit=5)
    assert [(record.answer, record.raw) for record in history] == [("this one", b"{}")]


async def test_safe_points_are_counted_and_point_at_their_event(store: OpenStore) -> None:
    attempt_id = await owned(store)
    await proposing(store, attempt_id, [Verdict.ALLOW])
    await say(store, attempt_id, observed(action_of(attempt_id)))
    await say(store, attempt_id, CheckpointSaved(turn=1))
    rows = await store.rows(
        "SELECT state_version, event_offset, workspace_ref, pending_effect_ids,"
        " context_projection_ref FROM checkrein.checkpoints WHERE attempt_id = %s",
        attempt_id,
    )
    head = (await store.records.position(attempt_id)).head_seq
    (row,) = rows
    assert (row["state_version"], row["event_offset"]) == (2, head)
    assert (row["workspace_ref"], row["pending_effect_ids"]) == ("/w", [])
    assert row["context_projection_ref"].startswith("sha256:")


# --- the gate ------------------------------------------------------------------------------------


async def candidate(store: OpenStore) -> str:
    attempt_id = await owned(store)
    found = await say(store, attempt_id, *asked(), *replied(), *sealed())
    assert (found.attempt.status, found.sealed) == (AttemptStatus.VERIFYING, "sha256:w1")
    return attempt_id


@pytest.mark.shows(9, 34)
@pytest.mark.parametrize(
    "verdicts",
    [
        [],
        [verified(status=CheckStatus.FAIL)],
        [verified(status=CheckStatus.ERROR)],
        [verified(digest="sha256:w2")],
        [verified(), *sealed(digest="sha256:w1")],
        [verified(), *sealed(digest="sha256:w2")],
    ],
    ids=["none", "failed", "error", "of another state", "of before", "of another candidate"],
)
async def test_the_database_refuses_success_without_its_proof(
    verdicts: list[Payload], store: OpenStore
) -> None:
    """It takes an accepted verification, of the candidate as it is sealed now."""
    attempt_id = await candidate(store)
    with pytest.raises(ConflictError, match="No accepted verification"):
        await say(store, attempt_id, *verdicts, ended())
    found = await store.records.position(attempt_id)
    assert found.attempt.status is AttemptStatus.VERIFYING
    await say(store, attempt_id, verified(), ended())


@pytest.mark.shows(9)
async def test_success_needs_a_sealed_candidate(store: OpenStore) -> None:
    attempt_id = await owned(store)
    await say(store, attempt_id, *asked(), *replied())
    for claim in ([ended()], [verified(), ended()]):
        with pytest.raises(ConflictError):
            await say(store, attempt_id, *claim)


@pytest.mark.shows(15)
async def test_only_the_verdict_makes_the_task_succeed(store: OpenStore) -> None:
    attempt_id = await candidate(store)
    task_id = (await store.records.position(attempt_id)).attempt.task_id
    assert (await store.records.task(task_id)).status == "RUNNING"
    await say(store, attempt_id, verified(), ended())
    assert (await store.records.task(task_id)).status == "VERIFIED"


async def test_a_repair_gives_the_turn_back_and_forgets_the_candidate(store: OpenStore) -> None:
    attempt_id = await candidate(store)
    found = await say(store, attempt_id, verified(status=CheckStatus.FAIL, repair=True))
    assert (found.attempt.status, found.sealed) == (AttemptStatus.RUNNING, None)
    assert (turn_of(found), found.idle_turns, found.denied_turns) == ((1, "CLOSED"), 0, 0)
    with pytest.raises(ConflictError):
        await say(store, attempt_id, ended())
    history = await store.records.history(attempt_id, before=2, limit=1)
    assert [r.feedback and r.feedback.gaps for r in history] == [["true: it failed"]]


async def test_one_verdict_for_each_turn(store: OpenStore) -> None:
    attempt_id = await candidate(store)
    await say(store, attempt_id, verified(status=CheckStatus.FAIL))
    with pytest.raises(ConflictError):
        await say(store, attempt_id, verified())


@pytest.mark.shows(52)
async def test_a_cancelled_attempt_ends_cancelled_and_no_other_way(store: OpenStore) -> None:
    attempt_id = await candidate(store)
    cancel = CancelRequested(by="bob", reason="enough")
    await store.events.append(attempt_id, [cancel], fence=None)
    for status in AttemptStatus:
        if status is not AttemptStatus.CANCELLED:
            with pytest.raises(ConflictError):
                await say(store, attempt_id, verified(), ended(status))
        if status.is_suspended:
            with pytest.raises(ConflictError):
                await say(store, attempt_id, Suspended(status=status, reason="x"))
    resumed = await say(store, attempt_id, RunResumed(how="recover", fence=1))
    assert resumed.attempt.status is AttemptStatus.CANCELLING
    found = await say(store, attempt_id, ended(AttemptStatus.CANCELLED))
    assert found.attempt.status is AttemptStatus.CANCELLED


async def test_a_turn_needs_its_context_first(store: OpenStore) -> None:
    attempt_id = await owned(store)
    for early in (ModelRequested(turn=1, model="m"), QUESTION, STOPPED, *sealed()):
        with pytest.raises((InputError, ConflictError)):
            await say(store, attempt_id, early)
    compiled = asked()[0]
    assert isinstance(compiled, ContextCompiled)
    assert turn_of(await say(store, attempt_id, compiled)) == (1, "COMPILED")
