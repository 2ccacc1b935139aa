"""The final commit: a second kind of attempt, wanted by the commit authority, decided by no model.

It goes through the same graph as any work: the gate, approvals, the ledger, and a completion gate
that looks at the target. The database refuses one of what is not verified, by somebody else, or
beside another (docs/decisions/0008-commit.md).
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import NamedTuple

from checkrein.contracts.approval import Approver
from checkrein.contracts.attempt import AttemptStatus, CommitOf, WorkspaceRef
from checkrein.contracts.budget import BudgetLimits
from checkrein.contracts.event import AttemptStarted
from checkrein.contracts.task import PUBLISH, TaskStatus
from checkrein.errors import ConflictError, InputError
from checkrein.graph.opening import Opener, opening
from checkrein.graph.verified_state import Verified, check_identity, check_stands, verified_work
from checkrein.nodes.approvers import authorities, is_authority
from checkrein.ports.bundle import Ports
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records

_OP = "commit.begin"

BUDGETS = BudgetLimits(steps=4, model_tokens=1_000_000, wall_time_s=3_600, tool_calls=20, repairs=0)
"""Of one commit attempt: one act, its repeats, and the look at what came of it.

The database grants no other (checkrein.commit_budgets). Besides, it draws on what its task
shares, and on the pools of its task's parent.
"""


class Commit(NamedTuple):
    """A commit of one verified state.

    Attributes:
        existing: the attempt that made it already, or is making it; None where one is to begin.
        number: of the attempt that is to begin.
    """

    verified: Verified
    commit: CommitOf
    existing: str | None
    number: int


async def planned(
    events: EventStore, records: Records, opener: Opener, task_id: str, who: Approver
) -> Commit:
    """Check that this person may commit this task now; changes nothing.

    Raises:
        InputError: no such task, or somebody else is its commit authority (code
            committer_not_permitted), or is not known well enough.
        ConflictError: nothing was verified, or it does not stand any more (state_moved).
        EnvironmentFault: the workspace cannot be looked at from here.
    """
    verified = await verified_work(events, records, task_id, op=_OP)
    if not is_authority(verified.contract, who.name):
        people = ", ".join(authorities(verified.contract))
        who_may = f"names {people}" if people else "names no commit_authority"
        raise InputError(
            f"{who.name} may not commit task {task_id}: its contract {who_may}.",
            op=_OP,
            code="committer_not_permitted",
        )
    check_identity(verified, who, op=_OP)
    attempts = await records.attempts(task_id, limit=1_000)
    commit = CommitOf(
        attempt_id=verified.attempt.attempt_id,
        state_digest=verified.state_digest,
        candidate_hash=verified.candidate_hash,
        by=who.name,
        authenticated=who.authenticated,
    )
    number = max(one.number for one in attempts) + 1
    completed = (await records.task(task_id)).status is TaskStatus.COMPLETED
    for one in attempts:
        ended = AttemptStatus(one.status).is_terminal
        made = completed and one.status == AttemptStatus.CANDIDATE_VERIFIED
        if one.purpose == "commit" and (made or not ended):
            return Commit(verified, commit, one.attempt_id, number)
    await check_stands(opener, verified, op=_OP)
    return Commit(verified, commit, None, number)


@asynccontextmanager
async def begun(
    events: EventStore, opener: Opener, planned: Commit, attempt_id: str
) -> AsyncGenerator[Ports]:
    """Store the commit attempt, and keep its ports open.

    Raises:
        InputError: the policy or the capability cannot be opened; nothing was stored.
        ConflictError: another commit is under way, or the task is not VERIFIED any more.
    """
    contract, work = planned.verified.contract, planned.verified.attempt
    publishes = contract.commit_act.capability == PUBLISH and contract.workspace is not None
    ref = target_of(work.workspace_ref, publishes=publishes)
    async with opener.open(contract, attempt_id, ref, commit=planned.commit) as ports:
        (started,) = opening(
            contract,
            attempt_id,
            ref,
            ports,
            task_id=work.task_id,
            number=planned.number,
            parent=work.parent,
        )
        assert isinstance(started, AttemptStarted), "an attempt of a task that is there"
        attempt = started.attempt.model_copy(
            update={"purpose": "commit", "commit": planned.commit, "harness_profile": "commit"}
        )
        try:
            await events.start(
                [started.model_copy(update={"attempt": attempt, "budgets": BUDGETS})]
            )
        except ConflictError as error:
            raise ConflictError(
                f"Task {work.task_id} cannot be committed now: {error} `checkrein status` tells "
                "how it stands.",
                op=_OP,
                code="commit_refused",
                context=error.context,
            ) from error
        yield ports


def target_of(work: WorkspaceRef, *, publishes: bool) -> WorkspaceRef:
    """The folder that a commit looks at: the source of a copy, else where the work was done."""
    if not publishes:
        return work
    return work.model_copy(update={"root": work.source, "mode": "in_place"})
