"""Opening an attempt: its first events, and the ports that its nodes reach."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from checkrein.contracts import ids
from checkrein.contracts.attempt import Attempt, CommitOf, WorkspaceRef
from checkrein.contracts.event import AttemptStarted, Payload, TaskCreated
from checkrein.contracts.task import Task, TaskContract
from checkrein.errors import InputError, StoreError
from checkrein.ports.bundle import Ports
from checkrein.ports.event_store import EventStore
from checkrein.ports.records import Records
from checkrein.ports.workspace import Workspace
from checkrein.version import VERSION


class Opener(Protocol):
    """Makes what one attempt needs; the composition's part."""

    async def make_workspace(self, contract: TaskContract, attempt_id: str) -> WorkspaceRef:
        """Make the working copy; raises InputError where the contract's folder is unusable."""
        ...

    async def drop_workspace(self, attempt_id: str) -> None:
        """Undo make_workspace for an attempt that never came to be."""
        ...

    def open(
        self,
        contract: TaskContract,
        attempt_id: str,
        workspace: WorkspaceRef,
        *,
        only_to_end: bool = False,
        commit: CommitOf | None = None,
    ) -> AbstractAsyncContextManager[Ports]:
        """Open policy, model and capabilities; raises InputError for what cannot be opened.

        `only_to_end`: the attempt is being cancelled and does no new work, so that a model or a
        policy that is gone meanwhile must not keep it from its end. `commit`: what a commit attempt
        hands over; it has that one capability, and no model.
        """
        ...

    def workspace(self, attempt: Attempt) -> Workspace:
        """The folder that an attempt works in, to look at; nothing is read yet."""
        ...


@asynccontextmanager
async def created(
    events: EventStore,
    opener: Opener,
    contract: TaskContract,
    attempt_id: str,
    *,
    task_id: str | None = None,
    number: int = 1,
    parent: str | None = None,
) -> AsyncGenerator[Ports]:
    """Store a new task with its first attempt, or attempt `number` of a task, and keep it open.

    `parent`: the attempt that it is a child of.

    Raises:
        InputError: workspace, policy or model cannot be opened; nothing was stored.
        ConflictError: the attempt exists already, or its parent takes no child.
        BudgetExceededError: the parent may have no more children at one time.
    """
    workspace = await opener.make_workspace(contract, attempt_id)
    stored = False
    try:
        async with opener.open(contract, attempt_id, workspace) as ports:
            first = opening(
                contract,
                attempt_id,
                workspace,
                ports,
                task_id=task_id,
                number=number,
                parent=parent,
            )
            try:
                await events.start(first)
            except BaseException:
                # It is this very attempt's where that is stored: it was before, or nobody heard of
                # the commit. Where another was faster to be the task's next, it is nobody's.
                stored = await _is_there(events, attempt_id)
                raise
            stored = True
            yield ports
    finally:
        if not stored:
            await opener.drop_workspace(attempt_id)


async def _is_there(events: EventStore, attempt_id: str) -> bool:
    """Whether an attempt with this id is stored; where that cannot be told, its folder stays."""
    try:
        await events.contract(attempt_id)
    except InputError as error:
        return error.code != "unknown_attempt"
    except StoreError:
        return True
    return True


@asynccontextmanager
async def reopened(
    events: EventStore, records: Records, opener: Opener, attempt_id: str
) -> AsyncGenerator[tuple[TaskContract, Ports]]:
    """Open what a stored attempt needs; changes nothing."""
    contract = await events.contract(attempt_id)
    position = await records.position(attempt_id)
    async with opener.open(
        contract,
        attempt_id,
        position.attempt.workspace_ref,
        only_to_end=position.cancel_reason is not None,
        commit=position.attempt.commit,
    ) as ports:
        yield contract, ports


def opening(
    contract: TaskContract,
    attempt_id: str,
    workspace: WorkspaceRef,
    ports: Ports,
    *,
    task_id: str | None = None,
    number: int = 1,
    parent: str | None = None,
) -> list[Payload]:
    """What `EventStore.start` takes: a new task with its first attempt, or attempt `number`."""
    stored = contract.model_dump(mode="json")
    events: list[Payload] = []
    if task_id is None:
        task_id = ids.new_task_id()
        task = Task(
            task_id=task_id,
            tenant=contract.tenant,
            contract_version=contract.contract_version,
            risk=contract.risk,
            budget=contract.budgets,
            requested_by=contract.requested_by,
            commit_authority=contract.commit_authority,
            parent=parent,
        )
        events.append(TaskCreated(task=task, contract=stored))
    attempt = Attempt(
        attempt_id=attempt_id,
        task_id=task_id,
        number=number,
        runtime="langgraph",
        runtime_version=VERSION,
        harness_profile="default",
        model=ports.model.name,
        workspace_ref=workspace,
        policy_profile=contract.policy or "shipped",
        policy_version=ports.policy.version,
        parent=parent,
    )
    events.append(AttemptStarted(attempt=attempt, contract=stored, budgets=contract.budgets))
    return events
