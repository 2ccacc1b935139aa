"""workspace.publish: the final commit of a copied workspace, applied to the folder it was made of.

Only a commit attempt has it, and no model ever does. The source must be as it was when the work
began; each file is swapped from the version that it had to the version that was verified. A crash
in the middle leaves every path at one of the two, and the same publication goes on from there.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from checkrein.adapters.blocking import to_end
from checkrein.adapters.publish_plan import OP, Plan, plan_of
from checkrein.adapters.publish_step import make, moved
from checkrein.adapters.workspace_calls import closed_object
from checkrein.adapters.workspace_diff import changes, tree_diff
from checkrein.adapters.workspace_paths import GuardedFolder
from checkrein.adapters.workspace_swap import folder_lock, still_ours
from checkrein.adapters.workspace_tree import HashCache, digest_of_entries, entries
from checkrein.contracts.action import Facts, Guarantee, Lookup, SideEffect
from checkrein.contracts.approval import PreviewKind
from checkrein.contracts.codec import visible
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.contracts.folding import folded_text
from checkrein.contracts.task import PUBLISH
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
    Verification,
)

IN_PUBLISH = "in_publish"
"""The failpoint after each path that was brought to its new version."""

MAX_PREVIEW = 256 * 1024
"""Longest preview, in characters."""

_DIGEST: dict[str, Any] = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}


class PublishWorkspace:
    """Brings the source folder from the baseline to the verified candidate, or leaves it alone."""

    spec = CapabilitySpec(
        name=PUBLISH,
        description="Apply the verified changes to the folder that the task was given.",
        parameters=closed_object(["baseline", "candidate"], baseline=_DIGEST, candidate=_DIGEST),
        side_effect=SideEffect.IRREVERSIBLE,
        guarantee=Guarantee.COMPARE_AND_SET,
        lookup=Lookup.AUTHORITATIVE,
        verifies=True,
        timeout_s=600.0,
        trust=Trust.PLATFORM,
    )

    def __init__(
        self,
        source: Path,
        baseline: Path,
        candidate: Path,
        *,
        home: Path,
        failpoint: Callable[[str], Awaitable[None]],
        lock_wait_s: float = 10.0,
    ) -> None:
        """Nothing is read yet. `candidate` may be the source itself: then nothing is moved."""
        self._source = GuardedFolder(source)
        self._baseline = GuardedFolder(baseline)
        self._candidate = GuardedFolder(candidate)
        self._home = home
        self._failpoint = failpoint
        self._lock_wait_s = lock_wait_s

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """One publication by one commit attempt; two attempts are never under way at once."""
        return action_id

    async def describe(self, args: dict[str, Any]) -> Description:
        """Name the folder, with its digest now."""
        found = await asyncio.to_thread(self._digest)
        return Description(resource=self._resource, resource_version=found, facts=Facts())

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """Look whether the source may be published to; nothing changes.

        A source that is at either version path by path counts as at the baseline: the same
        publication was begun before, and goes on.

        Raises:
            CapabilityError: state_moved, source_moved or unpublishable.
        """
        return await asyncio.to_thread(self._prepare, args, preview)

    def _prepare(self, args: dict[str, Any], preview: bool) -> Prepared:
        before, after = str(args["baseline"]), str(args["candidate"])
        now = self._digest()
        if now == after:
            return self._prepared(
                after, after, "Nothing is to be moved: the verified state stands."
            )
        plan = self._plan(before, after)
        if plan.foreign is not None:
            raise moved(visible(plan.foreign))
        return self._prepared(before, after, self._diff() if preview else "")

    def _prepared(self, before: str, after: str, preview: str) -> Prepared:
        return Prepared(
            resource=self._resource,
            from_version=before,
            to_version=after,
            preview=folded_text(preview, MAX_PREVIEW),
            preview_kind=PreviewKind.DIFF,
            no_change=before == after,
        )

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Swap path by path, under the source's lock from the first comparison to the last.

        Raises:
            CapabilityError: nothing was written: not_owner, workspace_busy or what `prepare`
                raises.
        """
        if permit.constraints:
            limit = min(permit.constraints)
            raise CapabilityError(
                f"The limit {limit} cannot be enforced on a publication.",
                op=OP,
                code="constraint_unavailable",
            )
        async with folder_lock(self._home, self._source.root, wait_s=self._lock_wait_s):
            await still_ours(still_owner)
            plan = await asyncio.to_thread(self._plan, prepared.from_version, prepared.to_version)
            if plan.foreign is not None and plan.untouched:
                return _refused(moved(visible(plan.foreign)))
            if plan.foreign is not None:
                return _doubt(f"part of it is published, and {visible(plan.foreign)} was changed")
            return await self._applied(plan, prepared, permit, still_owner)

    async def _applied(
        self, plan: Plan, prepared: Prepared, permit: Permit, still_owner: StillOwner
    ) -> Outcome:
        written = len(plan.done)
        for change in plan.steps:
            if change.path in plan.done:
                continue
            try:
                if written:
                    await still_ours(still_owner)
                step = partial(make, self._source, self._candidate, change, permit.effect_id)
                await to_end(step)
            except CapabilityError as error:
                return _doubt(str(error)) if written else _refused(error)
            written += 1
            await self._failpoint(IN_PUBLISH)
        found = await asyncio.to_thread(self._digest)
        if found != prepared.to_version:
            return _doubt(f"the folder is at {found[:19]} afterwards, not at what was verified")
        return Outcome(
            status=EffectStatus.COMMITTED,
            version=found,
            result={"folder": str(self._source.root), "changed": len(plan.steps)},
        )

    async def version(self, resource: str) -> str:
        """The digest while no publication is on its way.

        Raises:
            CapabilityError: workspace_busy, another process holds the folder's lock.
        """
        async with folder_lock(self._home, self._source.root, wait_s=self._lock_wait_s):
            return await asyncio.to_thread(self._digest)

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Not on offer."""
        raise CapabilityError(f"{PUBLISH} does not read.", op=OP, code="not_supported")

    async def lookup(self, effect: Effect) -> Outcome | None:
        """COMMITTED where the folder is at the verified digest; else nothing is proven."""
        if not effect.to_version or await asyncio.to_thread(self._digest) != effect.to_version:
            return None
        return Outcome(
            status=EffectStatus.COMMITTED,
            version=effect.to_version,
            result={"folder": str(self._source.root)},
        )

    async def verify(self, effect: Effect) -> Verification:
        """Read the folder again."""
        found = await asyncio.to_thread(self._digest)
        return Verification(
            holds=found == effect.to_version, detail=f"the folder is at {found[:19]}"
        )

    @property
    def _resource(self) -> str:
        return f"folder:{visible(str(self._source.root))}"

    def _plan(self, before: str, after: str) -> Plan:
        """What is to be done, with both ends being what they must be.

        Raises:
            CapabilityError: state_moved, the baseline or the candidate is not what it was.
        """
        hashes = HashCache()
        baseline, candidate = entries(self._baseline, hashes), entries(self._candidate, hashes)
        for found, wanted, what in (
            (baseline, before, "baseline"),
            (candidate, after, "candidate"),
        ):
            if digest_of_entries(found) != wanted:
                raise CapabilityError(
                    f"The {what} is not at {wanted[:19]} any more. Nothing was published.",
                    op=OP,
                    code="state_moved",
                    advice=f"The {what} was changed after it was verified, so that nothing can be "
                    "said about it. Begin a new task.",
                )
        return plan_of(baseline, candidate, entries(self._source, hashes))

    def _digest(self) -> str:
        return digest_of_entries(entries(self._source, HashCache()))

    def _diff(self) -> str:
        hashes = HashCache()
        found = changes(entries(self._baseline, hashes), entries(self._candidate, hashes))
        return tree_diff(found, self._baseline, self._candidate)


def _refused(error: CapabilityError) -> Outcome:
    return Outcome(status=EffectStatus.REFUSED, error_type=error.code, message=str(error))


def _doubt(why: str) -> Outcome:
    return Outcome(status=EffectStatus.UNKNOWN_EFFECT, error_type="partly_published", message=why)
