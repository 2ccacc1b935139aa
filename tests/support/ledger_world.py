"""Two attempts, two keys and three owners at a real target, moved by hand."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager

from langgraph.checkpoint.memory import InMemorySaver
from ledger_owners import GOES_ON, Owner
from ledger_target import Bench, LedgerTarget

from checkrein.contracts.action import Action
from checkrein.contracts.attempt import Attempt, CommitOf, WorkspaceRef
from checkrein.contracts.budget import BudgetLimits
from checkrein.contracts.effect import Effect
from checkrein.contracts.event import ActionProposed, CancelRequested
from checkrein.contracts.task import TaskContract
from checkrein.errors import BusyError, ConflictError, LeaseLostError, StoreError
from checkrein.graph.lifecycle import FrontDoor
from checkrein.graph.reconciliation import Settled, reconcile_by_person, reconcile_by_target
from checkrein.nodes.cancel import cancel
from checkrein.nodes.commit_effect import commit_effect
from checkrein.nodes.run import Run
from checkrein.ports.bundle import Ports
from checkrein.ports.leases import Lease
from checkrein.ports.workspace import Workspace
from checkrein.testing.conformance.story import (
    asked,
    bound,
    contract_of,
    decided,
    replied,
)

OWNERS, ATTEMPTS, KEYS = 3, 2, 2

_CONTRACT = TaskContract.model_validate(
    contract_of(budgets=BudgetLimits(tool_calls=12)).model_dump()
    | {"approvals": {"roles": {"approver": ["bob"]}}}
)


class World:
    """One small world. Every move is a method."""

    def __init__(self, bench: Bench, kind: str) -> None:
        self.store = bench.store
        self.kind = kind
        self.owners = [Owner(name) for name in range(OWNERS)]
        self.attempts: list[str] = []
        self.actions: list[Action] = []
        self.cancelled: set[str] = set()
        self.sends: Counter[str] = Counter()
        self._target = LedgerTarget(bench, kind)
        self._fences: dict[str, int] = {}
        self._door = FrontDoor(
            self.store.events, self.store.records, self.store.leases, self, InMemorySaver()
        )

    async def begin(self) -> None:
        """Two attempts whose two actions each are allowed."""
        await self._target.open()
        for _ in range(ATTEMPTS):
            attempt_id = await self.store.begun(_CONTRACT)
            fence = await self.store.fence(attempt_id)
            actions = [self._target.action(attempt_id, position) for position in range(KEYS)]
            proposed = [ActionProposed(action=action) for action in actions]
            judged = [decided(action) for action in actions]
            story = [*asked(), *replied(), *proposed, *judged]
            await self.store.append(attempt_id, story, fence)
            self.attempts.append(attempt_id)
            self.actions += actions
            self._fences[attempt_id] = fence

    # --- graph.opening.Opener: for whoever reconciles

    async def make_workspace(self, contract: TaskContract, attempt_id: str) -> WorkspaceRef:
        """There is one."""
        return self._target.workspace.ref

    async def drop_workspace(self, attempt_id: str) -> None:
        """It stays."""

    @asynccontextmanager
    async def open(
        self,
        contract: TaskContract,
        attempt_id: str,
        workspace: WorkspaceRef,
        *,
        only_to_end: bool = False,
        commit: CommitOf | None = None,
    ) -> AsyncGenerator[Ports]:
        """The ports, for one who only asks."""
        yield self._target.ports(None, self.sends)

    def workspace(self, attempt: Attempt) -> Workspace:
        """There is one."""
        return self._target.workspace

    # --- moves

    async def work(self, owner: Owner, attempt_id: str) -> None:
        """An owner begins to work on an attempt, if it can have it."""
        await owner.begin(asyncio.create_task(self._works(owner, attempt_id)))
        self._ended(owner)

    async def step(self, owner: Owner, fate: str = GOES_ON) -> None:
        """An owner goes on to its next place."""
        await owner.step(fate)
        self._ended(owner)

    async def die(self, owner: Owner) -> None:
        """An owner dies where it stands; its session goes, and nothing is given back."""
        assert owner.lease is not None
        await self.store.by_owner(
            "SELECT pg_terminate_backend(lease_backend, 5000) FROM checkrein.attempts"
            " WHERE attempt_id = %s AND lease_fence = %s",
            owner.lease.attempt_id,
            owner.lease.fence,
        )
        await owner.die()

    async def expire(self, attempt_id: str) -> None:
        """The lease runs out while its owner stands."""
        await self.store.by_owner(
            "UPDATE checkrein.attempts SET lease_until = checkrein.now() - interval '1 second'"
            " WHERE attempt_id = %s AND lease_owner IS NOT NULL",
            attempt_id,
        )

    async def cancel(self, attempt_id: str) -> None:
        """A person wants no more of it."""
        self.cancelled.add(attempt_id)
        await self._tried(
            self.store.events.append(
                attempt_id, [CancelRequested(by="bob", reason="enough")], fence=None
            )
        )

    async def bind(self, action: Action) -> None:
        """An owner binds an intent, and dies before it goes on."""
        try:
            async with self.store.leases.hold(action.attempt_id) as lease:
                self._took(lease)
                await self._tried(
                    lease.events.append(
                        action.attempt_id,
                        [decided(action, phase="dispatch"), bound(action)],
                        fence=lease.fence,
                    )
                )
        except BusyError:
            return

    async def ask_target(self, effect_id: str) -> None:
        """Somebody reconciles an effect by its target's word."""
        await self._tried(reconcile_by_target(self._door, effect_id))

    async def ask_person(self, effect_id: str, *, lies: bool) -> None:
        """A person settles an effect by what stands at the target now, or says the contrary."""
        happened = (await self.counted())[effect_id] > 0
        word: Settled = "committed" if happened is not lies else "not-applied"
        await self._tried(
            reconcile_by_person(self._door, effect_id, word, by="bob", evidence="a receipt")
        )

    # --- what is there

    @property
    def standing(self) -> list[Owner]:
        """Owners that stand in the middle of their work."""
        return [owner for owner in self.owners if owner.place is not None]

    @property
    def resting(self) -> list[Owner]:
        """Owners that own nothing."""
        return [owner for owner in self.owners if owner.place is None]

    async def effects(self) -> list[Effect]:
        """The ledger's rows."""
        found = [await self.store.records.effects(attempt_id) for attempt_id in self.attempts]
        return [effect for effects in found for effect in effects]

    async def counted(self) -> Counter[str]:
        """How often each effect really happened, by its id, as the target counts."""
        return await self._target.counted(self.actions)

    # --- how owners work

    async def _works(self, owner: Owner, attempt_id: str) -> str:
        try:
            async with self.store.leases.hold(attempt_id) as lease:
                self._took(lease)
                owner.lease = lease
                run = Run(self._target.ports(owner, self.sends), _CONTRACT, lease)
                position = await run.position()
                if position.attempt.status.is_terminal:
                    return "ended"
                if position.cancel_reason is not None:
                    return (await cancel(run, position)).outcome
                return (await commit_effect(run)).outcome
        except BusyError:
            return "busy"
        except (LeaseLostError, StoreError):
            return "fenced"

    def _took(self, lease: Lease) -> None:
        assert lease.fence > self._fences[lease.attempt_id], "a fence was given twice"
        self._fences[lease.attempt_id] = lease.fence

    def _ended(self, owner: Owner) -> None:
        """Let an error that no owner may meet come out."""
        if owner.task is not None and owner.task.done():
            owner.task.result()

    async def _tried(self, work: Awaitable[object]) -> None:
        """Somebody asks; being refused is an answer too."""
        try:
            await work
        except (BusyError, ConflictError):
            return

    async def end(self) -> None:
        """Nobody goes on."""
        for owner in self.standing:
            await self.die(owner)
