"""The ledger: one row for each key, moved forwards only, by its owner, on a definite word."""

import asyncio
from collections.abc import Callable

import pytest
from open_store import OpenStore
from payloads import (
    committed,
    deduplicated,
    effect_denied,
    effect_id_of,
    observed,
    outcome,
    reconciled,
    refused,
    unknown,
)

from checkrein.contracts.action import Action, ActionStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.decision import Verdict
from checkrein.contracts.effect import FINAL, Effect, EffectStatus, OutcomeSource
from checkrein.contracts.event import (
    ActionProposed,
    CancelRequested,
    EffectCommitted,
    Payload,
)
from checkrein.contracts.observation import ObservationStatus
from checkrein.errors import ConflictError, InputError, LeaseLostError
from checkrein.testing.conformance.story import (
    action_of,
    asked,
    authorized,
    bound,
    contract_of,
    decided,
    executing,
    replied,
)

E = EffectStatus


async def acting(store: OpenStore, key: str | None = None, tenant: str = "local") -> Action:
    """An allowed action of a new attempt whose owner holds fence 1."""
    attempt_id = await store.begun(contract_of(tenant))
    assert await store.fence(attempt_id) == 1
    action = action_of(attempt_id, key=key)
    await store.append(attempt_id, authorized(action), 1)
    return action


async def say(store: OpenStore, action: Action, *payloads: Payload, fence: int = 1) -> None:
    await store.append(action.attempt_id, payloads, fence)


async def effect(store: OpenStore, action: Action, tenant: str = "local") -> Effect | None:
    """The row under the action's scoped key, whichever attempt made it."""
    rows = await store.rows(
        "SELECT checkrein.effect_json(e) AS effect FROM checkrein.effects e"
        " WHERE tenant = %s AND resource = %s AND key = %s",
        tenant,
        action.resource,
        action.idempotency_key,
    )
    return Effect.model_validate(rows[0]["effect"]) if rows else None


async def found(store: OpenStore, action: Action) -> Effect:
    row = await effect(store, action)
    assert row is not None
    return row


async def status(store: OpenStore, action: Action) -> ActionStatus:
    position = await store.records.position(action.attempt_id)
    return position.actions[0].action.status


@pytest.mark.shows(107, 120)
async def test_fifty_that_bind_one_key_at_once_make_one_row(store: OpenStore) -> None:
    """The constraint of the database decides, whichever attempts and processes they come from."""
    actions = [await acting(store, key="invoice-50") for _ in range(10)]

    async def bind(action: Action) -> bool:
        try:
            await say(store, action, bound(action))
        except ConflictError as error:
            assert error.code == "key_bound"
            assert error.context["detail"] == effect_id_of(action)
            return False
        return True

    won = await asyncio.gather(*(bind(action) for action in actions * 5))
    assert won.count(True) == 1
    rows = await store.rows("SELECT action_id FROM checkrein.effects WHERE key = 'invoice-50'")
    assert [row["action_id"] for row in rows] == [(actions * 5)[won.index(True)].action_id]


@pytest.mark.shows(107)
async def test_a_second_bind_changes_nothing_with_the_same_hash_or_another(
    store: OpenStore,
) -> None:
    action = await acting(store, key="k-again")
    await say(store, action, bound(action), executing(action, 1))
    before = await found(store, action)
    assert before.status is E.EXECUTING
    other = bound(action).model_copy(update={"operation_hash": "sha256:other"})
    rival = await acting(store, key="k-again")
    for who, bind in ((action, bound(action)), (action, other), (rival, bound(rival))):
        with pytest.raises(ConflictError) as refusal:
            await say(store, who, bind)
        assert refusal.value.code == "key_bound"
    assert await found(store, action) == before


@pytest.mark.shows(106)
async def test_one_key_in_two_tenants_makes_two_effects(store: OpenStore) -> None:
    ours = await acting(store, key="k-two", tenant="acme")
    theirs = await acting(store, key="k-two", tenant="globex")
    for action, tenant in ((ours, "acme"), (theirs, "globex")):
        await say(
            store,
            action,
            bound(action, tenant),
            executing(action, 1, tenant),
            committed(action, tenant),
        )
    rows = [
        await effect(store, action, tenant)
        for action, tenant in ((ours, "acme"), (theirs, "globex"))
    ]
    assert [row and (row.tenant, row.action_id, row.status) for row in rows] == [
        ("acme", ours.action_id, E.COMMITTED),
        ("globex", theirs.action_id, E.COMMITTED),
    ]


@pytest.mark.shows(106)
async def test_the_tenant_is_the_attempts_own_whatever_the_event_says(store: OpenStore) -> None:
    action = await acting(store, key="k-liar", tenant="acme")
    await say(store, action, bound(action, "globex"))
    assert await effect(store, action, "globex") is None
    assert await effect(store, action, "acme") is not None


@pytest.mark.shows(11, 234)
async def test_a_denied_action_is_on_record_and_has_no_effect(store: OpenStore) -> None:
    attempt_id = await store.begun()
    await store.fence(attempt_id)
    action = action_of(attempt_id)
    denied = decided(action, Verdict.DENY)
    await store.append(attempt_id, [*asked(), *replied(), ActionProposed(action=action), denied], 1)
    assert await status(store, action) is ActionStatus.DENIED
    assert await store.records.effects(attempt_id) == []
    with pytest.raises(ConflictError):
        await say(store, action, bound(action), executing(action, 1))
    assert await store.records.effects(attempt_id) == []
    dossier = await store.records.dossier(attempt_id)
    assert [d["decision"] for d in dossier["actions"][0]["decisions"]] == ["DENY"]


async def test_nothing_is_sent_before_it_was_allowed(store: OpenStore) -> None:
    for verdict in (None, Verdict.REQUIRE_APPROVAL):
        attempt_id = await store.begun()
        await store.fence(attempt_id)
        action = action_of(attempt_id)
        judged = [] if verdict is None else [decided(action, verdict)]
        await store.append(
            attempt_id, [*asked(), *replied(), ActionProposed(action=action), *judged], 1
        )
        with pytest.raises(ConflictError) as refusal:
            await say(store, action, bound(action), executing(action, 1))
        assert refusal.value.code == "illegal_transition"


@pytest.mark.shows(113)
async def test_executing_carries_the_owners_own_fence(store: OpenStore) -> None:
    action = await acting(store)
    await say(store, action, bound(action))
    for fence in (0, 2, 99):
        with pytest.raises(LeaseLostError):
            await say(store, action, executing(action, fence))
    await say(store, action, executing(action, 1))
    assert (await found(store, action)).fence == 1


@pytest.mark.shows(113)
async def test_the_one_repeat_is_executing_under_a_higher_fence(store: OpenStore) -> None:
    """Same action, same key, same row: another try under the next owner's fence."""
    action = await acting(store)
    await say(store, action, bound(action), executing(action, 1))
    with pytest.raises(ConflictError, match="has sent it already"):
        await say(store, action, executing(action, 1))
    fence = await store.fence(action.attempt_id)
    with pytest.raises(LeaseLostError):
        await say(store, action, executing(action, 1), fence=1)
    await say(store, action, executing(action, fence), fence=fence)
    row = await found(store, action)
    assert (row.status, row.fence) == (E.EXECUTING, fence)
    await say(store, action, committed(action), fence=fence)
    tries = await store.rows(
        "SELECT n, effect_id, outcome FROM checkrein.tool_tries WHERE action_id = %s ORDER BY n",
        action.action_id,
    )
    assert [(t["n"], t["outcome"]) for t in tries] == [(1, "committed"), (2, "committed")]
    assert {t["effect_id"] for t in tries} == {row.effect_id}


@pytest.mark.shows(112)
async def test_nothing_is_sent_once_a_cancel_is_on_record(store: OpenStore) -> None:
    action = await acting(store)
    await say(store, action, bound(action))
    cancel = CancelRequested(by="bob", reason="enough")
    await store.events.append(action.attempt_id, [cancel], fence=None)
    with pytest.raises(ConflictError) as refusal:
        await say(store, action, executing(action, 1))
    assert refusal.value.code == "cancelled"
    await say(store, action, effect_denied(action))
    assert (await found(store, action)).status is E.DENIED


@pytest.mark.shows(115)
async def test_what_was_sent_before_the_cancel_keeps_its_real_outcome(store: OpenStore) -> None:
    action = await acting(store)
    await say(store, action, bound(action), executing(action, 1))
    cancel = CancelRequested(by="bob", reason="too late")
    await store.events.append(action.attempt_id, [cancel], fence=None)
    await say(store, action, committed(action))
    assert (await found(store, action)).status is E.COMMITTED
    position = await store.records.position(action.attempt_id)
    assert position.attempt.status is AttemptStatus.CANCELLING
    times = {event.type: event.at for event in await store.events.read(action.attempt_id)}
    assert times["effect_executing"] < times["cancel_requested"] < times["effect_committed"]


Step = Callable[[Action], Payload]
ROADS: dict[str, tuple[list[Step], EffectStatus, OutcomeSource | None, ActionStatus]] = {
    "committed": ([committed], E.COMMITTED, OutcomeSource.EXECUTED, ActionStatus.SUCCEEDED),
    "refused": ([refused], E.REFUSED, OutcomeSource.EXECUTED, ActionStatus.FAILED),
    "unknown": ([unknown], E.UNKNOWN_EFFECT, None, ActionStatus.UNKNOWN_EFFECT),
    "reconciled": (
        [reconciled, deduplicated],
        E.COMMITTED,
        OutcomeSource.RECONCILED,
        ActionStatus.SUCCEEDED,
    ),
    "unknown_then_reconciled": (
        [unknown, reconciled, deduplicated],
        E.COMMITTED,
        OutcomeSource.RECONCILED,
        ActionStatus.SUCCEEDED,
    ),
    "by_a_person": (
        [unknown, lambda a: reconciled(a, source=OutcomeSource.MANUAL), deduplicated],
        E.COMMITTED,
        OutcomeSource.MANUAL,
        ActionStatus.SUCCEEDED,
    ),
    "not_applied": (
        [lambda a: reconciled(a, E.NOT_APPLIED)],
        E.NOT_APPLIED,
        OutcomeSource.RECONCILED,
        ActionStatus.FAILED,
    ),
    "unknown_then_not_applied": (
        [unknown, lambda a: reconciled(a, E.NOT_APPLIED)],
        E.NOT_APPLIED,
        OutcomeSource.RECONCILED,
        ActionStatus.FAILED,
    ),
}


@pytest.mark.shows(128)
@pytest.mark.parametrize("road", ROADS)
async def test_each_outcome_says_how_it_is_known(road: str, store: OpenStore) -> None:
    steps, ending, source, of_action = ROADS[road]
    action = await acting(store)
    await say(store, action, bound(action), executing(action, 1))
    for step in steps:
        await say(store, action, step(action))
    row = await found(store, action)
    assert (row.status, row.source) == (ending, source)
    assert row.outcome is not None and row.outcome.result["note"] is None
    assert await status(store, action) is of_action


ENDS: dict[EffectStatus, list[Step]] = {
    E.COMMITTED: [committed],
    E.REFUSED: [refused],
    E.NOT_APPLIED: [lambda a: reconciled(a, E.NOT_APPLIED)],
    E.DENIED: [],
}


@pytest.mark.shows(119)
@pytest.mark.parametrize("ending", sorted(FINAL))
async def test_a_final_row_never_changes_again(ending: EffectStatus, store: OpenStore) -> None:
    action = await acting(store)
    await say(store, action, bound(action))
    if ending is E.DENIED:
        await say(store, action, effect_denied(action))
    else:
        await say(store, action, executing(action, 1))
        for step in ENDS[ending]:
            await say(store, action, step(action))
    before = await found(store, action)
    assert before.status is ending
    fence = await store.fence(action.attempt_id)
    again: list[Payload] = [
        bound(action),
        executing(action, fence),
        committed(action),
        refused(action),
        unknown(action),
        reconciled(action),
        reconciled(action, E.NOT_APPLIED),
        effect_denied(action),
    ]
    for payload in again:
        with pytest.raises(ConflictError):
            await say(store, action, payload, fence=fence)
    assert await found(store, action) == before


@pytest.mark.shows(119)
async def test_not_knowing_becomes_nothing_but_what_is_proven(store: OpenStore) -> None:
    action = await acting(store)
    await say(store, action, bound(action), executing(action, 1), unknown(action))
    for guess in (refused(action), committed(action), effect_denied(action), bound(action)):
        with pytest.raises(ConflictError):
            await say(store, action, guess)
    assert (await found(store, action)).status is E.UNKNOWN_EFFECT


@pytest.mark.shows(119)
@pytest.mark.parametrize("said", [E.REFUSED, E.UNKNOWN_EFFECT, E.NOT_APPLIED])
async def test_no_receipt_says_more_than_its_outcome(said: EffectStatus, store: OpenStore) -> None:
    action = await acting(store)
    await say(store, action, bound(action), executing(action, 1))
    ids = {"effect_id": effect_id_of(action), "action_id": action.action_id}
    words = outcome(E.UNKNOWN_EFFECT).model_copy(update={"status": said})
    receipt = EffectCommitted.model_validate({**ids, "outcome": words})
    with pytest.raises(ConflictError):
        await say(store, action, receipt)
    if said is not E.NOT_APPLIED:
        found_later = reconciled(action).model_copy(update={"outcome": words})
        with pytest.raises(ConflictError):
            await say(store, action, found_later)
    assert (await found(store, action)).status is E.EXECUTING


async def test_an_effect_answers_for_its_own_action_alone(store: OpenStore) -> None:
    attempt_id = await store.begun()
    await store.fence(attempt_id)
    first, second = action_of(attempt_id, 1, 0), action_of(attempt_id, 1, 1)
    turn: list[Payload] = [*asked(), *replied()]
    turn += [ActionProposed(action=action) for action in (first, second)]
    turn += [decided(first), decided(second)]
    await store.append(attempt_id, turn, 1)
    await say(store, first, bound(first), executing(first, 1))
    mixed_up = committed(first).model_copy(update={"action_id": second.action_id})
    with pytest.raises(InputError, match="has no effect"):
        await say(store, first, mixed_up)


@pytest.mark.shows(4)
async def test_an_action_is_proposed_once_and_has_one_result(store: OpenStore) -> None:
    action = await acting(store)
    with pytest.raises(ConflictError):
        await say(store, action, ActionProposed(action=action))
    await say(store, action, observed(action, ObservationStatus.SKIPPED))
    with pytest.raises(ConflictError):
        await say(store, action, observed(action))


async def test_equal_effects_of_a_task_are_known_to_its_later_attempts(store: OpenStore) -> None:
    """What an earlier attempt did, or may have done, is found whatever key it had."""
    answers: dict[EffectStatus, list[Step]] = {
        E.COMMITTED: [committed],
        E.EXECUTING: [],
        E.UNKNOWN_EFFECT: [unknown],
        E.REFUSED: [refused],
        E.NOT_APPLIED: [lambda a: reconciled(a, E.NOT_APPLIED)],
    }
    for ending, steps in answers.items():
        action = await acting(store)
        await say(store, action, bound(action), executing(action, 1))
        for step in steps:
            await say(store, action, step(action))
        task_id = (await store.records.position(action.attempt_id)).attempt.task_id
        later = await store.begun(task_id=task_id, number=2)
        again = action_of(later)
        expected = ending in {E.COMMITTED, E.EXECUTING, E.UNKNOWN_EFFECT}
        assert await store.records.repeats(later, again) is expected, ending
        assert await store.records.repeats(later, action_of(later, 1, 3)) is False
        assert await store.records.repeats(action.attempt_id, action) is False
