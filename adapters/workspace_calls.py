"""What the capabilities on workspace files have in common: naming a file, and limits on a call."""

import asyncio
from typing import Any

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_diff import MAX_DIFFED, text_of
from checkrein.adapters.workspace_paths import MAX_PATH, refusal, segments_of
from checkrein.contracts.action import Facts
from checkrein.contracts.codec import visible
from checkrein.contracts.effect import Effect, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
)

MAX_FILE = MAX_DIFFED
"""Largest file that can be read, patched or replaced, in bytes."""

ENFORCED = frozenset({"max_bytes", "path_roots"})
"""The limits of a policy that these capabilities hold to."""

PATH: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_PATH,
    "description": "Path relative to the workspace root, with forward slashes.",
}
"""JSON Schema of the path argument."""


def closed_object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema of an object that takes these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def enforce(constraints: dict[str, Any], segments: tuple[str, ...], size: int, *, op: str) -> None:
    """Hold a call to the limits that the policy set: path_roots, and max_bytes against `size`.

    Raises:
        CapabilityError: constraint_violated, or constraint_unavailable for a limit not known here.
    """
    path = "/".join(segments) or "."
    if unknown := sorted(constraints.keys() - ENFORCED):
        message = f"The limit {unknown[0]} cannot be enforced on workspace files."
        raise refusal("constraint_unavailable", message, op=op, path=path, advice="")
    roots: list[str] | None = constraints.get("path_roots")
    if roots is not None and not any(_below(segments, root, op=op) for root in roots):
        message = f"{path} is outside of the folders that the policy allows: {', '.join(roots)}."
        advice = f"Stay below {', '.join(roots)}."
        raise refusal("constraint_violated", message, op=op, path=path, advice=advice)
    most: int | None = constraints.get("max_bytes")
    if most is not None and size > most:
        message = f"{size} bytes of {path} are more than the {most} that the policy allows."
        advice = f"Ask for at most {most} bytes at once."
        raise refusal("constraint_violated", message, op=op, path=path, advice=advice)


def _below(segments: tuple[str, ...], root: str, *, op: str) -> bool:
    names = segments_of(root, op=op)
    return segments[: len(names)] == names


def path_of(args: dict[str, Any]) -> str:
    """The path argument; the root where there is none."""
    return str(args.get("path", "."))


def _resource(path: str) -> str:
    """`file:` and the plain path; a path that the guard refuses is named as it was written."""
    try:
        return "file:" + ("/".join(segments_of(path, op="workspace.describe")) or ".")
    except CapabilityError:
        return "file:" + visible(path[:MAX_PATH])


def required_text(data: bytes, path: str, *, op: str) -> str:
    """The text of a file's bytes.

    Raises:
        CapabilityError: binary_file.
    """
    text = text_of(data)
    if text is None:
        raise refusal(
            "binary_file",
            f"{path} is no UTF-8 text ({len(data)} bytes).",
            op=op,
            path=path,
            advice="Work with text files only; this one can be neither read nor patched.",
        )
    return text


class FileCapability:
    """What all of them have in common."""

    spec: CapabilitySpec

    def __init__(self, workspace: FolderWorkspace) -> None:
        self._workspace = workspace

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """The action's own id: the same action is the same write."""
        return action_id

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the file; never raises for a path that leads outside."""
        path = path_of(args)
        located = await asyncio.to_thread(self._workspace.locate_now, "path", path)
        payload = str(args.get("content", args.get("patch", "")))
        return Description(
            resource=_resource(path),
            resource_version=located.version,
            facts=Facts(paths=[located.fact], bytes=len(payload.encode("utf-8", "replace"))),
        )

    async def version(self, resource: str) -> str:
        """The version while no swap is on its way.

        Raises:
            CapabilityError: workspace_busy, another process holds the workspace's lock.
        """
        return await self._workspace.settled_version(resource.removeprefix("file:"))

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Not on offer unless overridden."""
        raise self._unsupported("read")

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Not on offer unless overridden."""
        raise self._unsupported("prepare")

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Not on offer unless overridden."""
        raise self._unsupported("send")

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Nothing to be found for a READ."""
        return None

    def _unsupported(self, verb: str) -> CapabilityError:
        op = f"{self.spec.name}.{verb}"
        return CapabilityError(f"{self.spec.name} does not {verb}.", op=op, code="not_supported")
