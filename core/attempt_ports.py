"""compose's part for one attempt: its workspace, its model, its capabilities and its policy."""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from checkrein.adapters.absent import AbsentModel, AbsentPolicy
from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.adapters.chat_model import ChatModel
from checkrein.adapters.command_backends import CommandBackends
from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.commit_proposer import CommitProposer
from checkrein.adapters.environment_mounts import check_mounts
from checkrein.adapters.hand_in import SubmitPlan, SubmitResult
from checkrein.adapters.mcp_extra import mcp_module
from checkrein.adapters.open_model import open_model
from checkrein.adapters.plug_in import check_form, load_capabilities
from checkrein.adapters.secret_folder import FolderSecrets
from checkrein.adapters.system_clock import SystemClock
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_capabilities import workspace_capabilities
from checkrein.adapters.workspace_command import NAME as RUN_COMMAND
from checkrein.adapters.workspace_copy import home_of
from checkrein.adapters.workspace_publish import PublishWorkspace
from checkrein.contracts.attempt import Attempt, CommitOf, WorkspaceRef
from checkrein.contracts.environment import ChosenEnvironment
from checkrein.contracts.task import PUBLISH, TaskContract
from checkrein.errors import InputError
from checkrein.policy_opening import check_apart, opened_policy, own_places
from checkrein.policy_rego.idle import IdlePolicies
from checkrein.policy_rego.shadow_log import shadowed
from checkrein.ports.bundle import Ports
from checkrein.ports.capability import Capability
from checkrein.ports.effect_contract import contradictions
from checkrein.ports.failpoints import Failpoints
from checkrein.ports.model import Model
from checkrein.ports.policy import Policy
from checkrein.ports.workspace import Workspace
from checkrein.settings import Settings
from checkrein.testing.scripted_model import ScriptedChatModel
from checkrein.verifiers import verifiers


@dataclass(frozen=True)
class Given:
    """What the caller brings instead of naming it in the contract.

    Attributes:
        decider: decides in place of any chat model; a loop that is not ours brings one.

    Raises:
        InputError: a capability's declaration contradicts itself (code capability_unusable).
    """

    model: BaseChatModel | None = None
    capabilities: Sequence[Capability] = ()
    decider: Model | None = None

    def __post_init__(self) -> None:
        for capability in self.capabilities:
            check_form(capability, "Given as a capability")
            problems = contradictions(capability)
            if problems:
                raise InputError(
                    f"{capability.spec.name} cannot be meant as it is declared. "
                    + " ".join(problems),
                    op="attempt.capabilities",
                    code="capability_unusable",
                )

    def with_named(self, settings: Settings) -> "Given":
        """Together with what CHECKREIN_CAPABILITIES names."""
        named = load_capabilities(settings.capabilities)
        return replace(self, capabilities=(*self.capabilities, *named)) if named else self


def _proposer(contract: TaskContract, workspace: WorkspaceRef, commit: CommitOf) -> CommitProposer:
    act = contract.commit_act
    args = act.args
    if act.capability == PUBLISH:
        args = {"baseline": workspace.baseline, "candidate": commit.state_digest}
    return CommitProposer(commit.by, act.capability.replace(".", "_"), args)


@dataclass(frozen=True)
class Opener:
    """graph.lifecycle.Opener with this machine's adapters."""

    settings: Settings
    given: Given
    artifacts: FolderArtifactStore
    policies: IdlePolicies
    failpoints: Failpoints
    commands: CommandBackends = field(default_factory=CommandBackends)

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

    def workspace(self, attempt: Attempt) -> Workspace:
        """The folder that an attempt works in, to look at; nothing is read yet."""
        return FolderWorkspace(
            attempt.workspace_ref,
            home=self.settings.home,
            attempt_id=attempt.attempt_id if attempt.commit is None else attempt.commit.attempt_id,
        )

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
        """Open policy, model and capabilities for one attempt."""
        model: Model
        if commit is not None:
            model = _proposer(contract, workspace, commit)
        elif only_to_end:
            model = AbsentModel(contract.model or "")
        else:
            model = await self._model(contract)
        folder = FolderWorkspace(
            workspace,
            home=self.settings.home,
            # A commit attempt has no copy of its own: its baseline is that of the work.
            attempt_id=attempt_id if commit is None else commit.attempt_id,
            failpoint=self.failpoints.reach,
        )
        apart = only_to_end or commit is not None
        door, environment = await self._door(contract, workspace, only_to_end=apart)
        async with (
            self._servers(contract, only_to_end=apart) as served,
            self._policy(None if only_to_end else contract, workspace) as live,
            shadowed(live, self.settings.policy_shadow, self.settings.home) as policy,
        ):
            capabilities = self._capabilities(contract, folder, door, served, only_to_end=apart)
            for name in environment.withdrawn if environment else ():
                del capabilities[name]
            # No model's work has the final commit, and a commit has nothing else.
            final = contract.commit_act.capability
            capabilities.pop(final, None)
            if commit is not None:
                capabilities = {final: self._final(contract, workspace, commit)}
            yield Ports(
                policy=policy,
                model=model,
                capabilities=capabilities,
                verifiers=verifiers(door, self.artifacts),
                artifacts=self.artifacts,
                clock=SystemClock(),
                failpoints=self.failpoints,
                workspace=folder,
                secrets=FolderSecrets(self.settings.secrets),
                environment=environment,
                # No model decides in a commit, and none looks at one.
                fallback=None if apart else await self._other(contract.fallback_model),
                reviewer=None if apart else await self._other(contract.reviewer),
            )

    @asynccontextmanager
    async def _servers(
        self, contract: TaskContract, *, only_to_end: bool
    ) -> AsyncGenerator[Sequence[Capability]]:
        """The tools of the task's MCP servers, which end with the attempt's work."""
        if only_to_end or not contract.mcp:
            yield ()
            return
        opened = mcp_module("mcp_capabilities").mcp_capabilities
        async with opened(contract.mcp, FolderSecrets(self.settings.secrets)) as it:
            yield it

    async def _door(
        self, contract: TaskContract, workspace: WorkspaceRef, *, only_to_end: bool
    ) -> tuple[CommandDoor, ChosenEnvironment | None]:
        if only_to_end:
            return CommandDoor.local(offline=contract.offline), None
        await asyncio.to_thread(check_mounts, contract, workspace, own_places(self.settings))
        there = await FolderSecrets(self.settings.secrets).names()
        return await self.commands.door(contract, there)

    def _capabilities(
        self,
        contract: TaskContract,
        folder: FolderWorkspace,
        door: CommandDoor,
        served: Sequence[Capability],
        *,
        only_to_end: bool,
    ) -> dict[str, Capability]:
        """All that this process can do, by name; what the contract grants must be among it."""
        granted = [] if only_to_end else contract.capabilities
        lendable = contract.secrets_for(RUN_COMMAND)
        files = workspace_capabilities(folder, door, self.artifacts, secrets=lendable)
        own = [*files, SubmitPlan(), SubmitResult(folder)]
        given = [*own, *self.given.capabilities, *served]
        known = {capability.spec.name: capability for capability in given}
        tools = Counter(capability.spec.tool_name for capability in given)
        twice = sorted(name for name, times in tools.items() if times > 1)
        if twice:
            raise InputError(
                f"Two capabilities are both called {twice[0]} by models. Rename one of yours.",
                op="attempt.capabilities",
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
                    op="attempt.capabilities",
                    code="unknown_capability",
                )
        return known

    def _final(
        self, contract: TaskContract, workspace: WorkspaceRef, commit: CommitOf
    ) -> Capability:
        """The capability of the final commit."""
        act = contract.commit_act.capability
        if act == PUBLISH:
            own = home_of(self.settings.home, commit.attempt_id)
            target = Path(workspace.root)
            copied = contract.workspace is not None and contract.workspace.mode == "copy"
            return PublishWorkspace(
                target,
                own / "baseline",
                own / "work" if copied else target,
                home=self.settings.home,
                failpoint=self.failpoints.reach,
            )
        found = next((one for one in self.given.capabilities if one.spec.name == act), None)
        if found is None:
            raise InputError(
                f"The task is committed by {act}, which this process does not have. Give it to "
                "Harness.open, or name it in CHECKREIN_CAPABILITIES.",
                op="attempt.capabilities",
                code="unknown_capability",
            )
        return found

    async def _model(self, contract: TaskContract) -> Model:
        if self.given.decider is not None:
            return self.given.decider
        if self.given.model is not None:
            return ChatModel(self.given.model, name=contract.model)
        if contract.model is None:
            raise InputError(
                "The task names no model. Add `model: scripted:FILE` or a LangChain model string, "
                "or give one to Harness.",
                op="attempt.model",
            )
        return await _opened(contract.model)

    async def _other(self, name: str | None) -> ChatModel | None:
        """A model that the contract names besides the one that decides."""
        return None if name is None else await _opened(name)

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


async def _opened(name: str) -> ChatModel:
    return await open_model(name, base=Path("/"), open_script=ScriptedChatModel.load)
