"""Events as they were stored by earlier versions: files that are added to and never rewritten.

`python tests/support/golden_events.py` writes the files that are missing.
"""

import json
import sys
from pathlib import Path
from typing import Any, get_args

from filled import filled

from checkrein.contracts.codec import to_text
from checkrein.contracts.event import Event, Payload

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "events" / "v1"

HISTORY = FOLDER / "history.jsonl"
"""The whole trace of one attempt, one event a line, as the database gave it."""


def payload_types() -> dict[str, Any]:
    """Every member of the union by its event type."""
    (union, _) = get_args(Payload)
    return {str(kind.model_fields["type"].default): kind for kind in get_args(union)}


def golden_payloads() -> dict[str, str]:
    """Event type to the text of its stored payload."""
    return {path.stem: path.read_text(encoding="utf-8").strip() for path in FOLDER.glob("*.json")}


def golden_history() -> list[Event]:
    """The events of the stored trace."""
    lines = HISTORY.read_text(encoding="utf-8").splitlines()
    return [Event.model_validate_json(line) for line in lines]


def write_missing() -> list[str]:
    """Write a file for each event type that has none; returns their names."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    missing = payload_types().keys() - golden_payloads().keys()
    for name in missing:
        stored = json.loads(to_text(filled(payload_types()[name])))
        text = json.dumps(stored, ensure_ascii=False, indent=2)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return sorted(missing)


if __name__ == "__main__":
    sys.stdout.write("\n".join(write_missing()) + "\n")
