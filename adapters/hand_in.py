"""plan.submit and result.submit: what a model hands in, and only a person can accept."""

from typing import Any

from checkrein.adapters.workspace import FolderWorkspace
from checkrein.adapters.workspace_calls import closed_object
from checkrein.contracts.action import Facts, Lookup, SideEffect
from checkrein.contracts.approval import Level, PreviewKind
from checkrein.contracts.codec import canonical, digest_of
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import Effect, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import (
    PLAN,
    RESULT,
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    StillOwner,
)

MAX_TEXT = 20_000
"""Most characters that are handed in: what a person can still read before saying yes."""


def _text(name: str) -> dict[str, Any]:
    return closed_object(
        [name], **{name: {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}}
    )


class _HandIn:
    """Changes nothing by itself: what counts is that a person accepted it."""

    spec: CapabilitySpec

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        """One thing that is handed in, by one action."""
        return action_id

    async def version(self, resource: str) -> str:
        """Nobody asks for it but by arguments."""
        return ""

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        """Never asked for: it sends nothing."""
        raise CapabilityError(f"{self.spec.name} changes nothing.", op="hand_in", code="reads_only")

    async def lookup(self, effect: Effect) -> Outcome | None:
        """Never asked for: it has no effects."""
        return None


class SubmitPlan(_HandIn):
    """plan.submit: ends plan mode once a person accepts it."""

    spec = CapabilitySpec(
        name=PLAN,
        description=(
            "Hand in the plan: what you will do, step by step, on which objects, and how it is "
            "checked. A person accepts or rejects it. Until then nothing may change."
        ),
        parameters=_text("plan"),
        side_effect=SideEffect.READ,
        lookup=Lookup.AUTHORITATIVE,
        trust=Trust.PLATFORM,
        level=Level.PLAN,
    )

    async def describe(self, args: dict[str, Any]) -> Description:
        """The plan's own digest is its version."""
        return Description(
            resource="plan:.",
            resource_version=digest_of(args),
            facts=Facts(bytes=len(canonical(args))),
        )

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """The plan itself, for people."""
        version = digest_of(args)
        return Prepared(
            resource="plan:.", from_version=version, to_version=version, preview=str(args["plan"])
        )

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Tell the model that its plan stands. Only runs once a person has accepted it."""
        return ReadResult(
            result={"accepted": True, "note": "Keep to the plan; each step is still judged."},
            version=digest_of(args),
            trust=Trust.PLATFORM,
        )


class SubmitResult(_HandIn):
    """result.submit: a person accepts the workspace as it is now, or says what is missing."""

    spec = CapabilitySpec(
        name=RESULT,
        description=(
            "Hand in the result: what was done and what was left out. A person looks at the "
            "changes and accepts or rejects them. Change nothing afterwards: what is accepted is "
            "the state that was handed in."
        ),
        parameters=_text("summary"),
        side_effect=SideEffect.READ,
        lookup=Lookup.AUTHORITATIVE,
        trust=Trust.PLATFORM,
        level=Level.RESULT,
    )

    def __init__(self, workspace: FolderWorkspace) -> None:
        self._workspace = workspace

    async def describe(self, args: dict[str, Any]) -> Description:
        """The workspace's digest is the version that is accepted."""
        return Description(
            resource="result:.",
            resource_version=await self._workspace.digest(),
            facts=Facts(bytes=len(canonical(args))),
        )

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        """The model's summary, and what really changed."""
        version = await self._workspace.digest()
        changes = await self._workspace.diff() if preview else ""
        return Prepared(
            resource="result:.",
            from_version=version,
            to_version=version,
            preview=f"{args['summary']}\n\nWhat changed:\n{changes or '(nothing)'}",
            preview_kind=PreviewKind.DIFF,
        )

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        """Tell the model that its result is accepted. Only runs once a person has done so."""
        return ReadResult(
            result={"accepted": True, "note": "Change nothing more; say that it is done."},
            version=await self._workspace.digest(),
            trust=Trust.PLATFORM,
        )
