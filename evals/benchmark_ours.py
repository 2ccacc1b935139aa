"""Our side: the governed loop, opened as any program opens it."""

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.budget import BudgetLimits
from checkrein.contracts.check import UnchangedCheck
from checkrein.contracts.task import ApprovalRules, TaskContract, WorkspaceSpec
from checkrein.errors import InputError
from checkrein.evals.benchmark_runs import Durability, Mode, script
from checkrein.harness import Harness
from checkrein.settings import Settings
from checkrein.testing.scripted_model import ScriptedChatModel

CAPABILITY = "workspace.write_file"
PERSON = "bench"
STORE = "checkrein"
CHECKPOINTS = "langgraph"

# The shipped rules ask before every write; these allow it.
_ALLOW = f"""package checkrein.rules.benchmark

allow contains {{"reason_code": "benchmark_write"}} if input.action.capability == "{CAPABILITY}"
"""
_BUDGETS = BudgetLimits(
    steps=1_000_000, model_tokens=10**12, wall_time_s=10**6, tool_calls=1_000_000
)
_KEPT = "kept.txt"


class Ours:
    """A harness that is open with one scripted model, whose script changes from run to run."""

    def __init__(self, harness: Harness, model: ScriptedChatModel, folder: Path) -> None:
        self._harness = harness
        self._model = model
        self._folder = folder
        self._runs = 0

    async def play(self, actions: int) -> float:
        """See evals.benchmark_runs.Contender."""
        self._runs += 1
        self._model.script = script(actions, CAPABILITY, f"{self._folder.name} {self._runs}")
        task = contract(self._folder / str(self._runs))
        started = time.perf_counter()
        report = await self._harness.run(task)
        while report.status is AttemptStatus.WAITING_FOR_APPROVAL:
            for request in report.approvals:
                await self._harness.approve(request.approval_id, by=PERSON)
            report = await self._harness.resume(report.attempt_id)
        seconds = time.perf_counter() - started
        if not report.verified or report.effects.get("COMMITTED") != actions:
            raise InputError(
                f"The run ended {report.status} with effects {report.effects}, not verified with "
                f"{actions} committed: {report.detail}",
                op="benchmark.ours",
            )
        return seconds


def contract(workspace: Path, policy: Path | None = None) -> TaskContract:
    """A task that writes into a new folder, without a budget that matters."""
    workspace.mkdir(parents=True)
    (workspace / _KEPT).write_text("kept\n", encoding="utf-8")
    return TaskContract(
        goal="Write the parts, one after the other.",
        workspace=WorkspaceSpec(path=str(workspace), mode="in_place"),
        policy=None if policy is None else str(policy),
        capabilities=[CAPABILITY],
        budgets=_BUDGETS,
        approvals=ApprovalRules(roles={"approver": [PERSON]}),
        success=[UnchangedCheck(unchanged=[_KEPT])],
    )


@asynccontextmanager
async def opened(
    home: Path, folder: Path, mode: Mode, durability: Durability
) -> AsyncGenerator[Ours]:
    """Open our side. `folder` takes the workspaces; it lies outside of the home."""
    model = ScriptedChatModel(script=script(1, CAPABILITY, "opened"), source="benchmark")
    settings = Settings(home=home, durability=durability)
    policy = allowing(folder) if mode == "allowed" else None
    async with Harness.open(model=model, policy=policy, settings=settings) as harness:
        yield Ours(harness, model, folder / f"{mode}-{durability}")


def allowing(folder: Path) -> Path:
    """A bundle that lets the writes run."""
    bundle = folder / "policy"
    bundle.mkdir(parents=True, exist_ok=True)
    (bundle / "benchmark.rego").write_text(_ALLOW, encoding="utf-8")
    return bundle
