"""Small governed runs for tests: a folder, a script and a policy; everything else is real."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from checkrein.compose import Given, Parts, composed
from checkrein.contracts.event import Payload, check_chain
from checkrein.contracts.task import TaskContract
from checkrein.graph.trace_rules import grade
from checkrein.harness import Harness
from checkrein.ports.capability import Capability
from checkrein.settings import Settings

BUNDLES = Path(__file__).parent / "bundles"
ALLOW_ALL = BUNDLES / "allow_all"
ASK_WRITES = BUNDLES / "ask_writes"
ASK_ALL = BUNDLES / "ask_all"

Turn = dict[str, Any]


def call(name: str, **args: Any) -> dict[str, Any]:
    """One tool call of a scripted turn."""
    return {"name": name, "args": args}


def says(text: str = "", *calls: dict[str, Any], **more: Any) -> Turn:
    """One scripted turn."""
    return {
        "text": text,
        "calls": list(calls),
        "usage": {"input_tokens": 10, "output_tokens": 5},
        **more,
    }


DONE = says("It is done.")
"""A turn that claims to be done."""


def contract(
    folder: Path,
    turns: Sequence[Turn],
    *,
    files: dict[str, str] | None = None,
    policy: Path | None = ALLOW_ALL,
    **fields: Any,
) -> TaskContract:
    """A task on a small folder whose check passes; fields of the contract may be given."""
    work = folder / "workspace"
    for path, text in (files or {"a.txt": "one\n"}).items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text, encoding="utf-8")
    script = folder / "decisions.yaml"
    # JSON is YAML; it says exactly what is meant, whatever stands in the strings.
    script.write_text(
        json.dumps({"version": 1, "calls_log": "calls.log", "turns": list(turns)}),
        encoding="utf-8",
    )
    given: dict[str, Any] = {
        "goal": "change a.txt",
        "requested_by": "alice",
        "model": f"scripted:{script}",
        "workspace": {"path": str(work)},
        "policy": None if policy is None else str(policy),
        "capabilities": [
            "workspace.read",
            "workspace.list",
            "workspace.write_file",
            "workspace.apply_patch",
        ],
        "approvals": {"roles": {"approver": ["bob", "carol"]}},
        "success": [{"command": {"argv": ["true"]}}],
    }
    return TaskContract.model_validate(given | fields)


def model_calls(folder: Path) -> list[str]:
    """What the scripted model itself counted, across all processes."""
    log = folder / "calls.log"
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


@asynccontextmanager
async def opened(
    settings: Settings, *capabilities: Capability, lease_ttl_s: float = 15.0
) -> AsyncGenerator[tuple[Harness, Parts]]:
    """A harness, with its parts in reach."""
    given = Given(capabilities=capabilities)
    async with composed(settings, given, lease_ttl_s=lease_ttl_s) as parts:
        yield Harness(parts), parts


async def payloads(parts: Parts, attempt_id: str) -> list[Payload]:
    """The attempt's payloads, after checking that its chain is whole."""
    events = await parts.events.read(attempt_id)
    position = await parts.records.position(attempt_id)
    assert check_chain(events, position.head_seq, position.head_hash) == []
    assert all(event.cause_id is not None for event in events[1:])
    assert grade(events) == []
    return [event.read() for event in events]


async def types(parts: Parts, attempt_id: str) -> list[str]:
    """The attempt's event types, in order."""
    return [payload.type for payload in await payloads(parts, attempt_id)]
