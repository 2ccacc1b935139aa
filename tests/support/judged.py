"""A small project, changed by a candidate and judged by one check as the gate would."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkrein.adapters.artifact_files import FolderArtifactStore
from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.workspace import FolderWorkspace
from checkrein.contracts.task import TaskContract
from checkrein.contracts.verification import CheckResult
from checkrein.ports.verifier import Examination
from checkrein.verifiers import verifiers

Files = dict[str, str]

PROJECT: Files = {
    "shop.py": "def price():\n    return 1\n",
    "tests/test_shop.py": (
        "from shop import price\n\n\ndef test_price():\n    assert price() == 2\n\n\n"
        "def test_kind():\n    assert isinstance(price(), int)\n"
    ),
}
"""Its first test fails and its second passes."""

MENDED: Files = {"shop.py": "def price():\n    return 2\n"}
"""What makes both pass."""


def written(folder: Path, files: Files) -> Path:
    """Write files below a folder; returns it."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Judging:
    """One project and what lies beside it. Each is judged once."""

    folder: Path
    door: CommandDoor = field(default_factory=CommandDoor.local)

    @property
    def project(self) -> Path:
        """The workspace, in place."""
        return self.folder / "project"

    @property
    def store(self) -> FolderArtifactStore:
        """What verifiers keep."""
        return FolderArtifactStore(self.folder / "home")

    async def result(
        self,
        check: dict[str, Any],
        changed: Files | None = None,
        *,
        change: Callable[[], None] | None = None,
    ) -> CheckResult:
        """Judge by one check what the project becomes once files, or more than that, changed."""
        home = self.folder / "home"
        ref = await FolderWorkspace.create(self.project, "in_place", home=home, attempt_id="a1")
        workspace = FolderWorkspace(ref, home=home, attempt_id="a1")
        written(self.project, changed or {})
        if change is not None:
            change()
        task = TaskContract.model_validate({"goal": "x", "success": [check]})
        copy = self.folder / "verify" / "candidate"
        copy.parent.mkdir(exist_ok=True)
        digest = await workspace.copy_to(copy)
        examination = Examination(
            attempt_id="a1", contract=task, copy_root=copy, state_digest=digest
        )
        [one] = task.success
        [verifier] = [v for v in verifiers(self.door, self.store) if v.judges(one)]
        result = await verifier.verify(one, examination, workspace)
        assert await workspace.digest() == digest, "judging changed the workspace"
        return result

    async def evidence(self, result: CheckResult) -> str:
        """What was kept of it for people."""
        assert result.evidence_ref is not None
        return (await self.store.get(result.evidence_ref)).decode()
