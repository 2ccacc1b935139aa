"""The first worked example: it fails before its script, and passes after it."""

import importlib.resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.command_verifier import CommandVerifier
from checkrein.adapters.unchanged_verifier import UnchangedVerifier
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_capabilities import workspace_capabilities
from checkrein.contracts.action import SideEffect
from checkrein.contracts.check import CommandCheck, UnchangedCheck
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.task import TaskContract
from checkrein.contracts.verification import CheckStatus
from checkrein.ports.capability import Permit
from checkrein.ports.verifier import Examination

EXAMPLE = Path(str(importlib.resources.files("checkrein.examples"))) / "price_repair"
TASKS = {
    "task.yaml": (2, CheckStatus.PASS, CheckStatus.PASS),
    "false_claim.yaml": (0, CheckStatus.FAIL, CheckStatus.PASS),
    "changes_tests.yaml": (0, CheckStatus.PASS, CheckStatus.FAIL),
}


def load(name: str) -> Any:
    return yaml.safe_load((EXAMPLE / name).read_text(encoding="utf-8"))


def contract_of(task: str) -> TaskContract:
    return TaskContract.model_validate(load(task))


def turns_of(contract: TaskContract) -> list[Any]:
    assert contract.model is not None
    turns: list[Any] = load(contract.model.removeprefix("scripted:"))["turns"]
    return turns


@pytest.fixture
async def workspace(home: Path) -> FolderWorkspace:
    ref = await FolderWorkspace.create(EXAMPLE / "workspace", "copy", home=home, attempt_id="a1")
    return FolderWorkspace(ref, home=home, attempt_id="a1")


async def owner() -> bool:
    return True


async def play(workspace: FolderWorkspace, contract: TaskContract) -> int:
    """Do what the script says, with nobody asking; how many effects that made."""
    granted = {c.spec.name: c for c in workspace_capabilities(workspace)}
    assert set(contract.capabilities) <= set(granted)
    effects = 0
    for turn in turns_of(contract):
        for call in turn.get("calls", []):
            capability = granted[call["name"]]
            assert capability.spec.name in contract.capabilities
            if capability.spec.side_effect is SideEffect.READ:
                await capability.read(call["args"], {})
                continue
            prepared = await capability.prepare(call["args"])
            permit = Permit(effect_id=f"e{effects}", key="k", operation_hash="h", fence=1)
            outcome = await capability.send(prepared, permit, owner)
            assert outcome.status is EffectStatus.COMMITTED
            effects += 1
    return effects


async def verdicts(
    workspace: FolderWorkspace, contract: TaskContract, home: Path, copy: Path
) -> tuple[CheckStatus, CheckStatus]:
    """What `command` and `unchanged` find now."""
    (check,) = contract.success
    assert isinstance(check, CommandCheck)
    state = await workspace.copy_to(copy)
    seen = Examination(attempt_id="a1", contract=contract, copy_root=copy, state_digest=state)
    runs = CommandVerifier(CommandDoor.local(), FolderArtifactStore(home))
    tests = await runs.verify(check, seen, workspace)
    same = UnchangedCheck(unchanged=contract.protected)
    return tests.status, (await UnchangedVerifier().verify(same, seen, workspace)).status


@pytest.mark.parametrize("task", TASKS)
def test_the_task_files_are_contracts(task: str) -> None:
    """Protects the example's shape: repairs, protected tests, approvers, no policy of its own."""
    contract = contract_of(task)
    assert contract.budgets.repairs == TASKS[task][0]
    assert contract.protected == ["tests/**"]
    assert contract.approvals.roles == {"approver": ["bob", "carol"]}
    assert (contract.policy, contract.offline, contract.commit_authority) == (None, False, "bob")
    assert contract.artifacts == ["diff", "test_report"]
    last = turns_of(contract)[-1]
    assert last["text"] and "calls" not in last
    assert all(turn["usage"]["output_tokens"] > 0 for turn in turns_of(contract))


@pytest.mark.shows(388)
async def test_it_fails_before_the_script_and_passes_after(
    workspace: FolderWorkspace, home: Path, tmp_path: Path
) -> None:
    """Protects the demonstration: the failing test is real, and so is the repair."""
    contract = contract_of("task.yaml")
    before = await verdicts(workspace, contract, home, tmp_path / "before")
    assert before == (CheckStatus.FAIL, CheckStatus.PASS)
    assert await play(workspace, contract) == 1
    after = await verdicts(workspace, contract, home, tmp_path / "after")
    assert after == (CheckStatus.PASS, CheckStatus.PASS)
    assert await workspace.changed(["**"]) == ["pricing.py"]
    assert '_PRICE = re.compile(r"￥?(' in await workspace.diff()


@pytest.mark.parametrize("task", TASKS)
async def test_each_script_ends_as_its_task_says(
    task: str, workspace: FolderWorkspace, home: Path, tmp_path: Path
) -> None:
    """Protects the two counter-examples: one proves nothing, one proves it by changing tests."""
    contract = contract_of(task)
    await play(workspace, contract)
    found = await verdicts(workspace, contract, home, tmp_path / "copy")
    assert found == TASKS[task][1:]


def test_the_example_holds_no_leftovers() -> None:
    """Protects the example: running it changes a copy and never the original."""
    found = sorted(str(path.relative_to(EXAMPLE)) for path in EXAMPLE.rglob("*") if path.is_file())
    scripts = ["changes_tests", "changes_tests_decisions", "decisions", "false_claim"]
    assert [name for name in found if "__pycache__" not in name] == [
        *(f"{name}.yaml" for name in scripts),
        "false_claim_decisions.yaml",
        "task.yaml",
        "workspace/pricing.py",
        "workspace/tests/test_pricing.py",
    ]
