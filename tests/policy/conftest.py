"""What the tests of the policy share: documents to judge, and policies that are closed again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from own_rules import written

from checkrein.contracts.action import Facts, PathFact, SideEffect
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import (
    ActionFacts,
    ActorFacts,
    AttemptFacts,
    DecisionInput,
    ProvenanceFacts,
    TaskFacts,
)
from checkrein.contracts.task import Risk
from checkrein.policy_rego.bundle_files import Bundle, shipped_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.reload import ReloadingPolicy

GRANTED = ["workspace.read", "workspace.list", "workspace.write_file", "workspace.apply_patch"]


@pytest.fixture
def bundles() -> Path:
    """The folder of bundles that only tests use."""
    return Path(__file__).parent / "bundles"


@pytest.fixture
def path_fact() -> Callable[..., PathFact]:
    """Makes a path as the harness resolves it: by default a plain file inside the workspace."""

    def make(path: str, *, inside: bool = True, symlink: bool = False) -> PathFact:
        segments = [part for part in path.split("/") if part]
        return PathFact(
            param="path", segments=segments, inside=inside, exists=True, symlink=symlink
        )

    return make


@pytest.fixture
def document(path_fact: Callable[..., PathFact]) -> Callable[..., DecisionInput]:
    """Makes the input for one action on `paths`; reads have the side effect READ."""

    def make(
        capability: str = "workspace.read",
        paths: list[str | PathFact] | None = None,
        *,
        side_effect: SideEffect | None = None,
        granted: list[str] | None = None,
        args: dict[str, Any] | None = None,
    ) -> DecisionInput:
        facts = [path_fact(path) if isinstance(path, str) else path for path in paths or []]
        reads = capability in {"workspace.read", "workspace.list"}
        effect = side_effect or (SideEffect.READ if reads else SideEffect.REVERSIBLE)
        return DecisionInput(
            phase="propose",
            tenant="local",
            task=TaskFacts(
                task_id="task-1",
                risk=Risk.LOW,
                contract_version="sha256:00",
                capabilities=GRANTED if granted is None else granted,
                requested_by="ada",
            ),
            attempt=AttemptFacts(attempt_id="attempt-1", number=1, turn=1),
            actor=ActorFacts(user="ada", agent="scripted", runtime="checkrein/0"),
            action=ActionFacts(
                action_id="action-1",
                capability=capability,
                type=f"{capability}@1",
                args=args or {},
                resource="file:src/a.py",
                resource_version="absent",
                side_effect_class=effect,
                reversible=True,
                facts=Facts(paths=facts),
            ),
            provenance=ProvenanceFacts(lowest_trust=Trust.WORKSPACE, untrusted=False),
            budget={"steps": 3},
            now_ms=1_764_500_000_000,
        )

    return make


PolicyOf = Callable[..., Awaitable[EmbeddedPolicy]]


@pytest.fixture
async def policy_of() -> AsyncIterator[PolicyOf]:
    """Loads a bundle, checked or not, and closes it when the test is over."""
    opened: list[EmbeddedPolicy] = []

    async def load(
        bundle: Bundle, *, checked: bool = True, deadline_s: float = 10.0
    ) -> EmbeddedPolicy:
        policy = (
            await EmbeddedPolicy.load(bundle, deadline_s=deadline_s)
            if checked
            else EmbeddedPolicy(bundle, deadline_s=deadline_s)
        )
        opened.append(policy)
        return policy

    yield load
    for policy in opened:
        await policy.close()


@pytest.fixture
async def shipped(policy_of: PolicyOf) -> EmbeddedPolicy:
    """The shipped bundle, loaded."""
    return await policy_of(shipped_bundle())


FollowOf = Callable[..., Awaitable[ReloadingPolicy]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundle whose rule gives the reason code `first`, with a test of it."""
    made = tmp_path / "bundle"
    written(made, "first")
    return made


@pytest.fixture
async def follow(folder: Path) -> AsyncIterator[FollowOf]:
    """Follows the folder and looks at it before every decision; waits for what it finds."""
    opened: list[ReloadingPolicy] = []

    async def make(**more: object) -> ReloadingPolicy:
        given = {"patience_s": 30.0} | more
        policy = await ReloadingPolicy.load(folder, **given)  # type: ignore[arg-type] # named in the tests
        opened.append(policy)
        return policy

    yield make
    for policy in opened:
        await policy.close()
