"""Approvals: asked once, answered once, spent once, on exactly what was shown, and in time."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from open_store import OpenStore
from payloads import answered, ended, granted, prepared, requested, stale
from psycopg import sql

from checkrein.contracts import ids
from checkrein.contracts.action import Action, ActionStatus
from checkrein.contracts.approval import Answer, ApprovalRequest, ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.decision import Verdict
from checkrein.contracts.event import (
    ActionProposed,
    CancelRequested,
    Payload,
)
from checkrein.errors import CheckreinError, ConflictError, InputError
from checkrein.testing.conformance.story import (
    action_of,
    asked,
    bound,
    decided,
    executing,
    replied,
)

S = ApprovalStatus


async def asking(store: OpenStore, *, offered: bool = True) -> Action:
    """An action that a person must decide on; the owner holds fence 1."""
    attempt_id = await store.begun()
    await store.fence(attempt_id)
    action = action_of(attempt_id)
    await say(
        store,
        action,
        *asked(),
        *replied(),
        ActionProposed(action=action),
        decided(action, Verdict.REQUIRE_APPROVAL),
        prepared(action),
        *([requested(action)] if offered else []),
    )
    return action


async def say(store: OpenStore, action: Action, *payloads: Payload) -> None:
    await store.append(action.attempt_id, payloads, 1)


async def from_outside(store: OpenStore, action: Action, payload: Payload) -> None:
    await store.events.append(action.attempt_id, [payload], fence=None)


async def request(store: OpenStore, action: Action, revision: int = 1) -> ApprovalRequest:
    return (await store.records.approval(ids.approval_id(action.action_id, revision)))[0]


async def refusal(
    store: OpenStore, action: Action, payload: Payload, *, outside: bool = False
) -> CheckreinError:
    with pytest.raises(ConflictError) as refused:
        if outside:
            await from_outside(store, action, payload)
        else:
            await say(store, action, payload)
    return refused.value


async def test_a_grant_is_given_from_outside_and_spent_once(store: OpenStore) -> None:
    action = await asking(store)
    assert (await request(store, action)).status is S.PENDING
    await from_outside(store, action, answered(action))
    (found, grants) = await store.records.approval(ids.approval_id(action.action_id, 1))
    assert (found.status, [g.approver for g in grants]) == (S.GRANTED, ["bob"])
    assert not grants[0].authenticated and grants[0].decided_at is not None
    await say(store, action, granted(action), bound(action), executing(action, 1))
    assert (await request(store, action)).status is S.USED
    error = await refusal(store, action, granted(action))
    assert error.code == "illegal_transition"


async def test_what_is_not_on_offer_cannot_be_answered(store: OpenStore) -> None:
    action = await asking(store, offered=False)
    assert (await refusal(store, action, answered(action), outside=True)).code == (
        "illegal_transition"
    )
    assert await store.records.approvals(action.attempt_id) == []


@pytest.mark.parametrize("first", list(Answer))
@pytest.mark.parametrize("second", list(Answer))
async def test_a_request_is_answered_once(first: Answer, second: Answer, store: OpenStore) -> None:
    action = await asking(store)
    await from_outside(store, action, answered(action, first))
    for by in ("bob", "carol"):
        late = answered(action, second, by=by)
        assert (await refusal(store, action, late, outside=True)).code == "illegal_transition"
    (found, grants) = await store.records.approval(ids.approval_id(action.action_id, 1))
    wanted = {Answer.APPROVE: S.GRANTED, Answer.REJECT: S.REJECTED}
    assert found.status is wanted.get(first, S.SUPERSEDED)
    assert [(g.approver, g.answer) for g in grants] == [("bob", first)]


@pytest.mark.shows(234)
async def test_a_rejected_action_is_on_record_and_never_runs(store: OpenStore) -> None:
    action = await asking(store)
    await from_outside(store, action, answered(action, Answer.REJECT))
    position = await store.records.position(action.attempt_id)
    assert position.actions[0].action.status is ActionStatus.DENIED
    assert [grant.reason for grant in position.actions[0].grants] == ["I looked"]
    for payload in (granted(action), executing(action, 1)):
        with pytest.raises((ConflictError, InputError)):
            await say(store, action, bound(action), payload)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"operation_hash": "sha256:other"}, "hash"),
        ({"resource_version": "v2"}, "stale"),
        ({"action_id": "act_other"}, "action"),
    ],
)
async def test_a_grant_binds_what_was_shown_and_nothing_else(
    change: dict[str, Any], why: str, store: OpenStore
) -> None:
    action = await asking(store)
    await from_outside(store, action, answered(action))
    error = await refusal(store, action, granted(action, **change))
    assert (error.code, error.context["detail"]) == ("approval_does_not_bind", why)
    assert (await request(store, action)).status is S.GRANTED
    await say(store, action, granted(action))


async def test_an_answer_names_the_action_that_it_is_for(store: OpenStore) -> None:
    action = await asking(store)
    mixed_up = answered(action).model_copy(update={"action_id": "act_other"})
    error = await refusal(store, action, mixed_up, outside=True)
    assert (error.code, error.context["detail"]) == ("approval_does_not_bind", "action")


async def test_a_request_of_another_attempt_is_not_there(store: OpenStore) -> None:
    theirs, ours = await asking(store), await asking(store)
    for payload in (answered(theirs), stale(theirs), granted(theirs)):
        with pytest.raises(InputError, match="no approval"):
            await say(store, ours, payload)
    assert (await request(store, theirs)).status is S.PENDING


async def test_after_a_cancel_nothing_is_approved_or_spent(store: OpenStore) -> None:
    answered_before = await asking(store)
    await from_outside(store, answered_before, answered(answered_before))
    open_still = await asking(store)
    for action in (answered_before, open_still):
        await from_outside(store, action, CancelRequested(by="bob", reason="enough"))
    late = await refusal(store, open_still, answered(open_still), outside=True)
    spent = await refusal(store, answered_before, granted(answered_before))
    assert (late.code, spent.code) == ("cancelled", "cancelled")
    for action in (answered_before, open_still):
        await say(store, action, ended(AttemptStatus.CANCELLED))
        assert (await request(store, action)).status is S.REVOKED
        error = await refusal(store, action, answered(action), outside=True)
        assert error.code == "attempt_ended"


async def test_a_stale_grant_is_followed_by_a_fresh_request(store: OpenStore) -> None:
    action = await asking(store)
    await from_outside(store, action, answered(action))
    await say(store, action, stale(action), prepared(action, 2), requested(action, 2))
    assert (await request(store, action, 1)).status is S.STALE
    assert (await request(store, action, 2)).status is S.PENDING
    assert (await refusal(store, action, granted(action))).code == "illegal_transition"
    assert (await refusal(store, action, granted(action, 2))).code == "illegal_transition"
    await from_outside(store, action, answered(action, revision=2))
    await say(store, action, granted(action, 2), bound(action), executing(action, 1))
    position = await store.records.position(action.attempt_id)
    assert position.actions[0].approval is not None
    assert position.actions[0].approval.request_revision == 2


async def test_a_request_is_made_once_for_each_revision(store: OpenStore) -> None:
    action = await asking(store)
    twice = prepared(action, approval_id="apr_other")
    assert (await refusal(store, action, twice)).code == "exists"


async def test_offering_again_moves_no_deadline(store: OpenStore) -> None:
    action = await asking(store)
    before = (await request(store, action)).expires_at
    await say(store, action, requested(action))
    assert (await request(store, action)).expires_at == before


async def clock(store: OpenStore, at: datetime) -> None:
    """Stop the database's clock at a moment."""
    statement = sql.SQL(
        "CREATE OR REPLACE FUNCTION checkrein.now() RETURNS timestamptz LANGUAGE sql VOLATILE"
        " AS $$ SELECT {}::timestamptz $$"
    ).format(sql.Literal(at))
    await store.by_owner(statement)


async def test_requests_expire_at_exactly_their_second(own_store: OpenStore) -> None:
    store, tick = own_store, timedelta(microseconds=1)
    first, second, third = [await asking(store) for _ in range(3)]
    deadlines = [(await request(store, action)).expires_at for action in (first, second, third)]
    one, two, three = [deadline for deadline in deadlines if deadline is not None]
    # One microsecond before it the answer counts; from the second on it does not.
    await clock(store, one - tick)
    assert (await request(store, first)).status is S.PENDING
    await from_outside(store, first, answered(first))
    await clock(store, two)
    assert (await request(store, second)).status is S.EXPIRED
    assert second.action_id not in {a.action_id for a in await store.records.approvals()}
    error = await refusal(store, second, answered(second), outside=True)
    assert (error.code, error.context["detail"]) == ("approval_does_not_bind", "expired")
    # A grant that was given in time is not spent after it.
    await clock(store, three - tick)
    await from_outside(store, third, answered(third))
    await clock(store, three)
    error = await refusal(store, third, granted(third))
    assert (error.code, error.context["detail"]) == ("approval_does_not_bind", "expired")
    assert (await request(store, third)).status is S.EXPIRED
