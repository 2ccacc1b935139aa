"""Requests that nobody answers: more roles are asked, and in the end it is a recorded no."""

from checkrein.contracts.approval import ApprovalRequest, ApprovalStatus
from checkrein.contracts.event import ApprovalEscalated, ApprovalExpired, Payload
from checkrein.errors import ConflictError
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records


async def pass_on(events: EventStore, records: Records) -> list[Payload]:
    """Record every step of escalation and every expiry that is due; returns what was recorded.

    By the database's clock, and without the attempt's lease: nobody works on it while it waits.
    Several processes may do so at once; each step is taken once.
    """
    taken: list[Payload] = []
    while due := await records.overdue():
        before = len(taken)
        for request in due:
            step = _step(request)
            try:
                await events.append(request.attempt_id, [step], fence=None)
            except ConflictError:
                continue  # answered, ended or passed on by somebody else in between
            taken.append(step)
        if len(taken) == before:
            break
    return taken


def _step(request: ApprovalRequest) -> Payload:
    if request.status is ApprovalStatus.EXPIRED:
        return ApprovalExpired(approval_id=request.approval_id, action_id=request.action_id)
    return ApprovalEscalated(
        approval_id=request.approval_id,
        action_id=request.action_id,
        step=request.escalated + 1,
        role=request.escalation[request.escalated].role,
    )
