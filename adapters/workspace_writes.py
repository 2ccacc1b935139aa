"""The capabilities that change workspace files: workspace.write_file and workspace.apply_patch."""

import asyncio
from typing import Any

from checkrein.adapters.patch import apply_patch
from checkrein.adapters.workspace import writable
from checkrein.adapters.workspace_calls import (
    ENFORCED,
    MAX_FILE,
    PATH,
    FileCapability,
    closed_object,
    enforce,
    required_text,
)
from checkrein.adapters.workspace_diff import text_of, unified_diff
from checkrein.adapters.workspace_paths import refusal
from checkrein.adapters.workspace_swap import ABSENT
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.approval import PreviewKind
from checkrein.contracts.codec import digest
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.contracts.folding import folded_text
from checkrein.errors import CapabilityError
from checkrein.ports.capability import CapabilitySpec, Permit, Prepared, StillOwner

MAX_CONTENT = 1 << 20
"""Longest content or patch that a model may send, in characters."""

MAX_PREVIEW = 256 * 1024
"""Longest preview, in characters."""


class FileWrite(FileCapability):
    """What the two writes share: a swap from the content now to the content wanted."""

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Make the new content and show it as a diff; nothing changes.

        Raises:
            CapabilityError: the path is refused, the patch does not apply, or the file is too
                large.
        """
        return await asyncio.to_thread(self._prepare, args, preview)

    def _prepare(self, args: dict[str, Any], preview: bool) -> Prepared:
        op, path = self.spec.name, str(args["path"])
        segments = writable(path, op=op)
        plain = "/".join(segments)
        old = self._now(segments)
        new = self._wanted(old, args, plain).encode()
        if len(new) > MAX_FILE:
            message = f"{plain} would have {len(new)} bytes, more than {MAX_FILE}."
            raise refusal("too_large", message, op=op, path=path, advice="Write less.")
        return Prepared(
            resource=f"file:{plain}",
            from_version=ABSENT if old is None else digest(old),
            to_version=digest(new),
            preview=_preview(old, new, plain) if preview else "",
            preview_kind=PreviewKind.DIFF,
            plan=new,
            no_change=old == new,
        )

    def _now(self, segments: tuple[str, ...]) -> bytes | None:
        """The content now; None where there is no file."""
        try:
            return self._workspace.files.read(segments, op=self.spec.name, limit=MAX_FILE)
        except CapabilityError as error:
            if error.code == "not_found":
                return None
            raise

    def _wanted(self, old: bytes | None, args: dict[str, Any], path: str) -> str:
        """The content wanted."""
        raise self._unsupported("prepare")

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Swap the file under the workspace's lock, within the policy's limits.

        Raises:
            CapabilityError: nothing was written; effect_possible is false.
        """
        op, path = self.spec.name, prepared.resource.removeprefix("file:")
        enforce(permit.constraints, writable(path, op=op), len(prepared.plan), op=op)
        if digest(prepared.plan) != prepared.to_version:
            message = f"What is to be written to {path} is not what was prepared."
            raise refusal("plan_changed", message, op=op, path=path, advice="Prepare it again.")
        return await self._workspace.swap(
            path,
            effect_id=permit.effect_id,
            from_version=prepared.from_version,
            data=prepared.plan,
            still_owner=still_owner,
        )

    async def lookup(self, effect: Effect) -> Outcome | None:
        """COMMITTED where the file is at the effect's to-version; else nothing is proven."""
        path = effect.resource.removeprefix("file:")
        if not effect.to_version or await self._workspace.version(path) != effect.to_version:
            return None
        return Outcome(
            status=EffectStatus.COMMITTED,
            version=effect.to_version,
            result={"path": path},
        )


def _preview(old: bytes | None, new: bytes, path: str) -> str:
    """A bounded diff for people."""
    before = "" if old is None else text_of(old)
    if before is None:
        return f"{path}: {len(old or b'')} bytes that are no text are replaced by:\n" + _bounded(
            unified_diff("", new.decode(), path)
        )
    return _bounded(unified_diff(before, new.decode(), path, created=old is None))


def _bounded(diff: str) -> str:
    return folded_text(diff, MAX_PREVIEW)


def _write_spec(name: str, description: str, parameters: dict[str, Any]) -> CapabilitySpec:
    return CapabilitySpec(
        name=name,
        description=description,
        parameters=parameters,
        side_effect=SideEffect.REVERSIBLE,
        guarantee=Guarantee.COMPARE_AND_SET,
        lookup=Lookup.AUTHORITATIVE,
        enforces=ENFORCED,
        trust=Trust.WORKSPACE,
    )


class WriteFile(FileWrite):
    """workspace.write_file: the whole content of one file."""

    spec = _write_spec(
        "workspace.write_file",
        "Write a whole text file of the workspace, creating it and its folders where missing.",
        closed_object(
            ["path", "content"],
            path=PATH,
            content={"type": "string", "maxLength": MAX_CONTENT},
        ),
    )

    def _wanted(self, old: bytes | None, args: dict[str, Any], path: str) -> str:
        return str(args["content"])


class ApplyPatch(FileWrite):
    """workspace.apply_patch: a unified diff of one file."""

    spec = _write_spec(
        "workspace.apply_patch",
        "Apply a unified diff to one text file of the workspace. Context and removed lines must "
        "match the file exactly; one call changes one file.",
        closed_object(
            ["path", "patch"],
            path=PATH,
            patch={"type": "string", "minLength": 1, "maxLength": MAX_CONTENT},
        ),
    )

    def _wanted(self, old: bytes | None, args: dict[str, Any], path: str) -> str:
        text = None if old is None else required_text(old, path, op=self.spec.name)
        return apply_patch(text, str(args["patch"]), path)
