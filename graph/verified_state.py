"""What was verified, whether it still stands, and who may say something about it.

A verification of abc says nothing about def: before anything is signed, committed or handed out,
the workspace's digest now is compared with the verified one.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from checkrein.contracts.approval import Approver
from checkrein.contracts.attempt import Attempt, AttemptStatus
from checkrein.contracts.event import CandidateSealed
from checkrein.contracts.evidence import Handover, Stands
from checkrein.contracts.task import TaskContract
from checkrein.errors import ConflictError, EnvironmentFault, InputError
from checkrein.graph.opening import Opener
from checkrein.nodes.approvers import ANONYMOUS, asserted_is_enough
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Position, Records


class Verified(NamedTuple):
    """An attempt whose candidate an independent verifier accepted."""

    attempt: Attempt
    contract: TaskContract
    position: Position
    state_digest: str
    candidate_hash: str


async def verified_work(events: EventStore, records: Records, task_id: str, *, op: str) -> Verified:
    """The newest attempt of a task that did work and was verified.

    Raises:
        InputError: no such task.
        ConflictError: none was verified (code not_verified).
    """
    task = await records.task(task_id)
    for one in await records.attempts(task_id, limit=1_000):
        if one.purpose == "work" and one.status == AttemptStatus.CANDIDATE_VERIFIED:
            return await verified_attempt(events, records, one.attempt_id, op=op)
    raise ConflictError(
        f"Task {task_id} is {task.status}: no verifier has accepted a result of it.",
        op=op,
        code="not_verified",
    )


async def verified_attempt(
    events: EventStore, records: Records, attempt_id: str, *, op: str
) -> Verified:
    """One attempt that did work and was verified.

    Raises:
        InputError: no such attempt.
        ConflictError: it was not verified (code not_verified).
    """
    position = await records.position(attempt_id)
    contract = await events.contract(attempt_id)
    told = [fact.payload for fact in await records.milestones(attempt_id)]
    sealed = next((p for p in reversed(told) if isinstance(p, CandidateSealed)), None)
    attempt = position.attempt
    done = attempt.status is AttemptStatus.CANDIDATE_VERIFIED and attempt.purpose == "work"
    if not done or sealed is None or position.verification is None:
        raise ConflictError(
            f"Attempt {attempt_id} is {attempt.status}"
            f"{' and a final commit' if attempt.purpose == 'commit' else ''}: "
            "only work that a verifier accepted can be accepted or committed.",
            op=op,
            code="not_verified",
        )
    return Verified(
        attempt, contract, position, position.verification.state_digest, sealed.candidate_hash
    )


async def handover(opener: Opener, attempt: Attempt, verified: str | None) -> Handover:
    """Whether the verified state stands now; changes nothing."""
    state, found = Stands.UNVERIFIED, None
    if verified is not None:
        try:
            found = await opener.workspace(attempt).digest()
        except EnvironmentFault:
            state = Stands.UNREACHABLE
        else:
            state = Stands.STANDS if found == verified else Stands.MOVED
    return Handover(state=state, verified=verified, found=found, checked_at=datetime.now(UTC))


async def check_stands(opener: Opener, verified: Verified, *, op: str) -> None:
    """Refuse what moved since it was verified, and what cannot be looked at.

    Raises:
        ConflictError: state_moved.
        EnvironmentFault: workspace_unreachable.
    """
    found = await handover(opener, verified.attempt, verified.state_digest)
    if found.state is Stands.MOVED:
        raise state_moved(found, verified.attempt, op=op)
    if found.state is Stands.UNREACHABLE:
        raise EnvironmentFault(
            f"The workspace {verified.attempt.workspace_ref.root} cannot be read from here, so "
            "that nobody can say whether the verified state still stands. Do this on the machine "
            "that did the work.",
            op=op,
            code="workspace_unreachable",
        )


def state_moved(found: Handover, attempt: Attempt, *, op: str) -> ConflictError:
    """What is said of a workspace that changed after it was verified."""
    return ConflictError(
        f"{attempt.workspace_ref.root} was changed after it was verified: {found.verified} was "
        f"verified, and {found.found} is there now. The verification says nothing about that. Put "
        "it back, or run the task again.",
        op=op,
        code="state_moved",
        context={"attempt_id": attempt.attempt_id, "found": found.found or ""},
    )


def check_identity(verified: Verified, who: Approver, *, op: str) -> None:
    """Refuse who is not known well enough for this task, whatever they may do.

    Raises:
        InputError: other_tenant, identity_required or revoked.
    """
    contract = verified.contract
    if who.tenant is not None and who.tenant != contract.tenant:
        message = f"There is no task {verified.attempt.task_id} for {who.tenant}."
        raise InputError(message, op=op, code="other_tenant")
    if who.name == ANONYMOUS:
        raise InputError("Say who you are: --as WHO, or a token.", op=op, code="identity_required")
    if not (who.authenticated or asserted_is_enough(contract)):
        raise InputError(
            f"This task's risk is {contract.risk}, and a name that is only asserted is good up to "
            f"{contract.approvals.asserted_up_to}. Use a token (`checkrein token issue`).",
            op=op,
            code="identity_required",
        )
    if f"user:{who.name}" in verified.position.revocations:
        raise InputError(f"{who.name} is revoked.", op=op, code="revoked")
