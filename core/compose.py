"""The one place that chooses adapters and puts the parts together."""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from checkrein.adapters.absent import AbsentModel, AbsentPolicy
from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.adapters.chat_model import ChatModel
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.command_verifier import CommandVerifier
from checkrein.adapters.open_model import open_model
from checkrein.adapters.plug_in import load_capabilities
from checkrein.adapters.system_clock import SystemClock
from checkrein.adapters.task_file import LoadedTask, load_task
from checkrein.adapters.unchanged_verifier import UnchangedVerifier
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_capabilities import workspace_capabilities
from checkrein.checkpointer import embedded_server, migrate, pool, server
from checkrein.checkpointer.decisions import PostgresDecisions
from checkrein.checkpointer.leases import TTL_S, PostgresLeases
from checkrein.checkpointer.records import PostgresRecords
from checkrein.checkpointer.store import Observer, PostgresEventStore
from checkrein.contracts.attempt import WorkspaceRef
from checkrein.contracts.task import TaskContract
from checkrein.errors import InputError
from checkrein.graph.lifecycle import FrontDoor
from checkrein.policy_opening import Standing, check_apart, opened_policy, policy_standing
from checkrein.policy_rego.idle import IdlePolicies
from checkrein.policy_rego.shadow_log import shadowed
from checkrein.ports.bundle import Ports
from checkrein.ports.capability import Capability
from checkrein.ports.decisions import RecordedChange
from checkrein.ports.effect_contract import contradictions
from checkrein.ports.failpoints import Failpoints
from checkrein.ports.policy import Policy
from checkrein.settings import Settings
from checkrein.testing.failpoints import from_text
from checkrein.testing.scripted_model import ScriptedChatModel

__all__ = [
    "Given",
    "LoadedTask",
    "Parts",
    "Standing",
    "composed",
    "database_of",
    "embedded_server",
    "last_policy_change",
    "load_task",
    "migrate",
    "policy_standing",
    "server",
]


@dataclass(frozen=True)
class Given:
    """What the caller brings instead of naming it in the contract.

    Raises:
        InputError: a capability's declaration contradicts itself (code capability_unusable).
    """

    model: BaseChatModel | None = None
    capabilities: Sequence[Capability] = ()

    def __post_init__(self) -> None:
        for capability in self.capabilities:
            problems = contradictions(capability)
            if problems:
                raise InputError(
                    f"{capability.spec.name} cannot be meant as it is declared. "
                    + " ".join(problems),
                    op="compose.capabilities",
                    code="capability_unusable",
                )

    def with_named(self, settings: Settings) -> "Given":
        """Together with what CHECKREIN_CAPABILITIES names."""
        named = load_capabilities(settings.capabilities)
        return replace(self, capabilities=(*self.capabilities, *named)) if named else self


@dataclass(frozen=True)
class Parts:
    """Everything that is open while a harness is."""

    settings: Settings
    database: server.Database
    front_door: FrontDoor
    events: PostgresEventStore
    records: PostgresRecords
    decisions: PostgresDecisions
    artifacts: FolderArtifactStore


async def database_of(settings: Settings) -> server.Database:
    """The database that the settings name; starts the embedded one where it does not run."""
    if settings.database_url:
        return server.by_url(settings.database_url)
    return await embedded_server.started(settings.home)


async def last_policy_change(settings: Settings) -> RecordedChange | None:
    """The change of a policy's folder that any attempt recorded last, in a migrated database.

    Raises:
        StoreError: the database cannot be used.
    """
    database = await database_of(settings)
    async with pool.opened(database.app, size=1, op="compose.last_change") as connections:
        return await PostgresDecisions(connections).last_change()


@asynccontextmanager
async def composed(
    settings: Settings,
    given: Given | None = None,
    observer: Observer | None = None,
    lease_ttl_s: float = TTL_S,
) -> AsyncGenerator[Parts]:
    """Open the database and everything on it.

    Raises:
        StoreError: the database cannot be used, or its schema is not of this version.
        EnvironmentFault: the embedded server cannot start.
    """
    given = (given or Given()).with_named(settings)
    database = await database_of(settings)
    await migrate.ensure(database)
    async with (
        pool.opened(database.app, size=8, op="compose.pool") as connections,
        pool.saver(database) as saver,
        aclosing(IdlePolicies()) as policies,
    ):
        events = PostgresEventStore(connections, observer)
        records = PostgresRecords(connections)
        artifacts = FolderArtifactStore(settings.home)
        opener = _Opener(
            settings,
            given,
            artifacts,
            policies,
            failpoints=from_text(settings.failpoint),
        )
        leases = PostgresLeases(database, lease_ttl_s, observer)
        door = FrontDoor(events, records, leases, opener, saver, settings.durability)
        decisions = PostgresDecisions(connections)
        yield Parts(settings, database, door, events, records, decisions, artifacts)


@dataclass(frozen=True)
class _Opener:
    """graph.lifecycle.Opener with this machine's adapters."""

    settings: Settings
    given: Given
    artifacts: FolderArtifactStore
    policies: IdlePolicies
    failpoints: Failpoints

    async def make_workspace(self, contract: TaskContract, attempt_id: str) -> WorkspaceRef:
        """The contract's folder; a task without one works in an empty folder of its own."""
        if contract.workspace is not None:
            path, mode = Path(contract.workspace.path), contract.workspace.mode
            return await FolderWorkspace.create(
                path, mode, home=self.settings.home, attempt_id=attempt_id
            )
        empty = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="checkrein-empty-"))
        try:
            return await FolderWorkspace.create(
                empty, "copy", home=self.settings.home, attempt_id=attempt_id
            )
        finally:
            await asyncio.to_thread(empty.rmdir)

    async def drop_workspace(self, attempt_id: str) -> None:
        """Remove what make_workspace put under the home; never the person's own folder."""
        await asyncio.to_thread(
            shutil.rmtree, self.settings.home / "workspaces" / attempt_id, ignore_errors=True
        )

    @asynccontextmanager
    async def open(
        self,
        contract: TaskContract,
        attempt_id: str,
        workspace: WorkspaceRef,
        *,
        only_to_end: bool = False,
    ) -> AsyncGenerator[Ports]:
        """Open policy, model and capabilities for one attempt."""
        model = AbsentModel(contract.model or "") if only_to_end else await self._model(contract)
        folder = FolderWorkspace(
            workspace,
            home=self.settings.home,
            attempt_id=attempt_id,
            failpoint=self.failpoints.reach,
        )
        capabilities = self._capabilities(contract, folder, only_to_end=only_to_end)
        verifiers = (
            CommandVerifier(LocalCommandRunner(), self.artifacts),
            UnchangedVerifier(),
        )
        async with (
            self._policy(None if only_to_end else contract, workspace) as live,
            shadowed(live, self.settings.policy_shadow, self.settings.home) as policy,
        ):
            yield Ports(
                policy=policy,
                model=model,
                capabilities=capabilities,
                verifiers=verifiers,
                artifacts=self.artifacts,
                clock=SystemClock(),
                failpoints=self.failpoints,
                workspace=folder,
            )

    def _capabilities(
        self, contract: TaskContract, folder: FolderWorkspace, *, only_to_end: bool
    ) -> dict[str, Capability]:
        """All that this process can do, by name; what the contract grants must be among it."""
        granted = [] if only_to_end else contract.capabilities
        own = workspace_capabilities(folder, offline=contract.offline)
        given = [*own, *self.given.capabilities]
        known = {capability.spec.name: capability for capability in given}
        tools = Counter(capability.spec.tool_name for capability in given)
        twice = sorted(name for name, times in tools.items() if times > 1)
        if twice:
            raise InputError(
                f"Two capabilities are both called {twice[0]} by models. Rename one of yours.",
                op="compose.capabilities",
                code="capability_twice",
            )
        for name in granted:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f" Did you mean {near[0]}?" if near else ""
                raise InputError(
                    f"The task grants {name}, which this process does not have.{hint} It has "
                    f"{', '.join(sorted(known))}. Give yours to Harness.open, or name them in "
                    "CHECKREIN_CAPABILITIES.",
                    op="compose.capabilities",
                    code="unknown_capability",
                )
        return known

    async def _model(self, contract: TaskContract) -> ChatModel:
        if self.given.model is not None:
            return ChatModel(self.given.model, name=contract.model)
        if contract.model is None:
            raise InputError(
                "The task names no model. Add `model: scripted:FILE` or a LangChain model string, "
                "or give one to Harness.",
                op="compose.model",
            )
        return await open_model(contract.model, base=Path("/"), open_script=ScriptedChatModel.load)

    @asynccontextmanager
    async def _policy(
        self, contract: TaskContract | None, workspace: WorkspaceRef
    ) -> AsyncGenerator[Policy]:
        if contract is None:
            yield AbsentPolicy()
            return
        named = contract.policy or self.settings.policy
        await asyncio.to_thread(check_apart, named, workspace)
        async with opened_policy(named, self.settings, self.policies) as policy:
            yield policy
