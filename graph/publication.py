"""Publishing: after the checkpoint, and in one transaction, what a paused attempt waits for."""

from checkrein.contracts.approval import ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import ApprovalRequested, CheckpointSaved, Payload, Suspended
from checkrein.errors import ConflictError
from checkrein.nodes.waiting import waiting_for
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records


async def publish(
    events: EventStore,
    records: Records,
    attempt_id: str,
    *,
    fence: int,
    interrupt_id: str | None = None,
) -> bool:
    """Record the safe point, put prepared requests on offer, and suspend.

    Returns whether the attempt is suspended now. False: it has ended, can go on, is verifying, or
    is being cancelled. Doing it again changes nothing.
    """
    position = await records.position(attempt_id)
    waiting = waiting_for(position)
    if position.attempt.status.is_suspended:
        return True
    status = position.attempt.status
    # What is being verified waits for people, or for a budget that its judge needs.
    may_wait = status is AttemptStatus.RUNNING or (
        status is AttemptStatus.VERIFYING
        and bool(position.asks_people or position.exhausted is not None)
    )
    if waiting is None or not may_wait or position.cancel_reason is not None:
        return False
    prepared = [
        state.approval
        for state in position.actions
        if state.approval is not None and state.approval.status is ApprovalStatus.PREPARED
    ]
    told: list[Payload] = [
        CheckpointSaved(turn=0 if position.turn is None else position.turn.turn),
        *(
            ApprovalRequested(
                approval_id=request.approval_id,
                action_id=request.action_id,
                interrupt_id=interrupt_id,
            )
            for request in prepared
        ),
        Suspended(status=waiting.status, reason=waiting.reason),
    ]
    try:
        await events.append(attempt_id, told, fence=fence)
    except ConflictError as error:
        if error.code != "illegal_transition":
            raise
        return False  # somebody asked for the end in between
    return True
