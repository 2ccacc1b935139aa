"""What a change of rules would change: inputs of real decisions, given to the old and the new."""

import asyncio
from collections.abc import AsyncIterable, Callable
from typing import Any

from checkrein.contracts.codec import Frozen, digest, json_object
from checkrein.contracts.decision import Reserved, Verdict
from checkrein.errors import EnvironmentFault
from checkrein.policy_rego.bundle_files import Bundle
from checkrein.policy_rego.embedded import DEADLINE_S
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.evaluation import decide, load_into
from checkrein.policy_rego.findings import unusable
from checkrein.policy_rego.lint import PARSE_S, lint
from checkrein.policy_rego.output import Answer, Refusal

KINDS = (
    "newly_denied",
    "newly_asked",
    "newly_allowed",
    "changed_constraints",
    "changed_approval",
    "changed_reason",
)
"""How an answer can differ, the gravest first."""

_ALLOWS = {Verdict.ALLOW, Verdict.CONSTRAINED_ALLOW}


class Recorded(Frozen):
    """One input to give to both bundles. `name` is what the decision is called elsewhere."""

    name: str
    input: str


class Said(Frozen):
    """One bundle's answer, without what differs from one evaluation to the next."""

    decision: Verdict
    reason_code: str
    reasons: list[str]
    constraints: dict[str, Any] = {}
    approval: dict[str, Any] | None = None


class Change(Frozen):
    """One decision that the new bundle answers otherwise."""

    name: str
    kind: str
    capability: str
    resource: str
    old: Said
    new: Said


class Replay(Frozen):
    """All recorded decisions under both bundles.

    Attributes:
        decisions: how many were replayed.
        changes: those that come out otherwise, in the order of the record.
    """

    old_version: str
    new_version: str
    decisions: int
    changes: list[Change]

    @property
    def unchanged(self) -> int:
        """How many come out the same."""
        return self.decisions - len(self.changes)

    def of(self, kind: str) -> list[Change]:
        """The changes of one kind."""
        return [change for change in self.changes if change.kind == kind]


class Replayed:
    """One bundle in a worker of its own, asked again and again; a lost worker is replaced."""

    def __init__(self, bundle: Bundle, deadline_s: float = DEADLINE_S) -> None:
        self.bundle = bundle
        self._deadline_s = deadline_s
        self._engine: EngineProcess | None = None
        self._known: dict[str, Said] = {}

    async def open(self) -> None:
        """Check and load the bundle.

        Raises:
            InputError: it has an error.
            EnvironmentFault: the engine cannot be used.
        """
        self._engine = await EngineProcess.start()
        findings = await lint(self.bundle, self._engine, deadline_s=self._deadline_s)
        errors = [finding for finding in findings if finding.level == "error"]
        if errors:
            raise unusable(self.bundle.origin, errors)

    async def close(self) -> None:
        """End the worker."""
        if self._engine is not None:
            self._engine.kill()
            await self._engine.close()

    async def said(self, input_text: str) -> Said:
        """The bundle's answer to one input; an equal input is asked once."""
        key = digest(input_text.encode())
        if key not in self._known:
            self._known[key] = _said(await self._answer(input_text))
        return self._known[key]

    async def _answer(self, input_text: str) -> Answer:
        try:
            if self._engine is None or not self._engine.usable:
                await self.close()
                self._engine = await EngineProcess.start()
                await load_into(self._engine, self.bundle, limit_s=PARSE_S)
            return await decide(self._engine, input_text, limit_s=self._deadline_s)
        except EnvironmentFault as fault:
            return Refusal(Reserved(fault.code), str(fault))


async def replayed(
    old: Bundle,
    new: Bundle,
    recorded: AsyncIterable[Recorded],
    *,
    deadline_s: float = DEADLINE_S,
    progress: Callable[[int], None] = lambda done: None,
) -> Replay:
    """Give every recorded input to both bundles, each in one worker, and list what differs.

    Raises:
        InputError: a bundle has an error.
        EnvironmentFault: the engine cannot be used.
    """
    before, after = Replayed(old, deadline_s), Replayed(new, deadline_s)
    changes: list[Change] = []
    done = 0
    try:
        await asyncio.gather(before.open(), after.open())
        async for one in recorded:
            was, now = await asyncio.gather(before.said(one.input), after.said(one.input))
            kind = _kind(was, now)
            if kind:
                changes.append(_change(one, kind, was, now))
            done += 1
            progress(done)
    finally:
        await before.close()
        await after.close()
    return Replay(old_version=old.version, new_version=new.version, decisions=done, changes=changes)


def _said(answer: Answer) -> Said:
    if isinstance(answer, Refusal):
        code = answer.code.value
        return Said(decision=Verdict.DENY, reason_code=code, reasons=[code])
    return Said(
        decision=answer.decision,
        reason_code=answer.reason_code,
        reasons=answer.reasons,
        constraints=answer.constraints.named(),
        approval=None if answer.approval is None else answer.approval.model_dump(mode="json"),
    )


def _kind(old: Said, new: Said) -> str:
    """How the new answer differs; empty where it does not."""
    if old == new:
        return ""
    allowed = new.decision in _ALLOWS
    if old.decision is not new.decision and not (allowed and old.decision in _ALLOWS):
        if allowed:
            return "newly_allowed"
        return "newly_denied" if new.decision is Verdict.DENY else "newly_asked"
    if old.constraints != new.constraints:
        return "changed_constraints"
    return "changed_approval" if old.approval != new.approval else "changed_reason"


def _change(one: Recorded, kind: str, old: Said, new: Said) -> Change:
    action: dict[str, Any] = json_object(one.input, op="policy.diff").get("action", {})
    return Change(
        name=one.name,
        kind=kind,
        capability=str(action.get("capability", "")),
        resource=str(action.get("resource", "")),
        old=old,
        new=new,
    )
