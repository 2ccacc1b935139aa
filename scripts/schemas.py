"""Write docs/schemas: a JSON Schema for each file that people write and each noun stored."""

import argparse
import re
import sys
from pathlib import Path

from pydantic import BaseModel

from checkrein.adapters.deliverer_spec import DeliverersFile
from checkrein.contracts.action import Action
from checkrein.contracts.approval import ApprovalGrant, ApprovalRequest
from checkrein.contracts.artifact import Artifact
from checkrein.contracts.attempt import Attempt, Checkpoint
from checkrein.contracts.decision import DecisionInput, DecisionOutput, PolicyDecision
from checkrein.contracts.effect import Effect, ToolTry
from checkrein.contracts.event import PAYLOADS, Event
from checkrein.contracts.evidence import EvidencePackage
from checkrein.contracts.message import ApprovalMessage
from checkrein.contracts.observation import Observation
from checkrein.contracts.task import Task
from checkrein.contracts.verification import VerificationResult
from checkrein.file_schemas import file_name, schema_text, task_schemas
from checkrein.testing.scripted_model import Script

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("docs") / "schemas"

FILES: dict[str, type[BaseModel]] = {
    "script": Script,
    "deliverers": DeliverersFile,
}
"""What people write besides the task file: a scripted model's script, the file of deliverers."""

# The stored task is another noun than the task file, whose schema has the name already.
STORED: dict[str, type[BaseModel]] = {"stored_task": Task}
NOUNS: tuple[type[BaseModel], ...] = (
    Attempt,
    Action,
    DecisionInput,
    DecisionOutput,
    PolicyDecision,
    ApprovalRequest,
    ApprovalGrant,
    ApprovalMessage,
    Effect,
    ToolTry,
    Observation,
    Artifact,
    Checkpoint,
    VerificationResult,
    EvidencePackage,
    Event,
)


def schemas() -> dict[str, str]:
    """File name to the text of each schema, made from the models of this version."""
    models = FILES | STORED | {_snake(noun.__name__): noun for noun in NOUNS}
    found = {file_name(name): schema_text(name, model) for name, model in models.items()}
    found[file_name("event_payload")] = schema_text("event_payload", PAYLOADS)
    return found | task_schemas()


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def stale(root: Path = ROOT) -> list[str]:
    """Names of published schemas that are missing, differ from the models, or have none."""
    wanted = schemas()
    folder = root / FOLDER
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    return sorted(
        name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
    )


def write(root: Path = ROOT) -> None:
    """Write every schema, and remove those that no model has."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    wanted = schemas()
    for path in folder.glob("*.json"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Write the schemas; with --check only say which are stale, and exit 1 if any is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if stale")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    options = parser.parse_args(arguments)
    if not options.check:
        write(options.root)
        return 0
    names = stale(options.root)
    for name in names:
        print(f"{FOLDER / name} is stale: run `python scripts/schemas.py`", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
