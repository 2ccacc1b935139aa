"""Running one verifier on one check, as the gate does."""

from pathlib import Path
from typing import Any

from pydantic import SecretStr

from checkrein.contracts.task import TaskContract
from checkrein.contracts.verification import CheckResult
from checkrein.ports.verifier import Examination, Verifier
from checkrein.ports.workspace import Workspace


async def judged(
    verifier: Verifier, root: Path, workspace: Workspace, check: dict[str, Any], **secrets: str
) -> CheckResult:
    """What the verifier says of the candidate under `root`; the check as a task writes it."""
    contract = TaskContract.model_validate({"goal": "x", "success": [check]})
    (read,) = contract.success
    assert verifier.judges(read)
    examination = Examination(
        attempt_id="a1",
        contract=contract,
        copy_root=root,
        state_digest="sha256:x",
        secrets={name: SecretStr(value) for name, value in secrets.items()},
    )
    return await verifier.verify(read, examination, workspace)
