"""Making an approval request: what a person will be shown, bound to what would really happen."""

import json
from typing import Any, NamedTuple

from checkrein.contracts import ids
from checkrein.contracts.action import Action, Guarantee, SideEffect
from checkrein.contracts.approval import ApprovalRequest, Level, PreviewKind
from checkrein.contracts.decision import ApprovalTerms, PolicyDecision, Reserved
from checkrein.contracts.display import shown
from checkrein.contracts.event import ApprovalPrepared, Observed
from checkrein.contracts.folding import folded_text
from checkrein.contracts.lookalikes import warnings_about
from checkrein.contracts.secrets import MASK, masked, masked_text, secret_texts
from checkrein.errors import CheckreinError, EnvironmentFault
from checkrein.nodes import observations
from checkrein.nodes.calling import Failed, called
from checkrein.nodes.run import Run
from checkrein.ports.capability import Capability, CapabilitySpec

PREVIEW_LIMIT = 200_000
"""Characters of a preview that are stored; the whole is what the effect would write."""

_ON_FAILURE = {
    Guarantee.ATOMIC_KEY: "it is repeated under one key, which its target carries out once; an "
    "outcome that stays unclear is looked up, else a person settles it",
    Guarantee.COMPARE_AND_SET: "it happens whole or not at all; the version of its target tells "
    "which, else a person settles it",
    Guarantee.SAME_TRANSACTION: "it is rolled back together with its record",
    Guarantee.NONE: "nothing is repeated; an unclear outcome stops the run for a person",
}


class _Seen(NamedTuple):
    """The version that a yes would bind, and what people are shown."""

    version: str
    preview: str
    kind: PreviewKind


async def request(
    run: Run,
    action: Action,
    decision: PolicyDecision,
    operation_hash: str,
    *,
    purpose: str,
    follows: ApprovalRequest | None = None,
) -> ApprovalPrepared | Observed:
    """Return the request for an action, or its result where there is nothing to approve.

    A call that the model can mend has failed; one whose preview cannot be made is denied, since
    nobody can approve what nobody can be shown. `follows` is the earlier request of the same
    action that went stale.
    """
    capability = run.ports.capabilities[action.capability]
    found = await _looked(capability, action)
    if isinstance(found, Observed):
        return found
    revision = 1 if follows is None else follows.request_revision + 1
    separate = run.contract.approvals.separation_of_duty
    terms = decision.approval or ApprovalTerms(roles=["approver"])
    return ApprovalPrepared(
        approval=ApprovalRequest(
            approval_id=ids.approval_id(action.action_id, revision),
            action_id=action.action_id,
            attempt_id=run.attempt_id,
            request_revision=revision,
            level=capability.spec.level,
            capability=action.type,
            args=action.args,
            args_schema=capability.spec.parameters,
            constraints=decision.constraints,
            operation_hash=operation_hash,
            resource=action.resource,
            resource_version=found.version,
            contract_version=run.contract_version,
            policy_version=decision.policy_version,
            reason_code=decision.reason_code,
            terms=terms.model_copy(
                update={"separation_of_duty": terms.separation_of_duty or separate}
            ),
            # Whoever wrote other arguments asks for them, and is not their approver where duties
            # are separated.
            requested_by=action.edited_by or run.contract.requested_by,
            agent=action.actor,
            risk=run.contract.risk,
            environment=capability.spec.environment,
            escalation=run.contract.approvals.escalation,
            purpose=masked_text(purpose),
            expected=capability.spec.description,
            preview=_safe(found.preview, action.args),
            preview_kind=found.kind,
            warnings=_warnings(action, purpose, found.preview),
            reversible=action.side_effect_class is not SideEffect.IRREVERSIBLE,
            undo=_undo(run, capability.spec),
            on_failure=_on_failure(capability.spec),
            replaces=None if follows is None else follows.approval_id,
        )
    )


async def _looked(capability: Capability, action: Action) -> _Seen | Observed:
    """What people would be shown, or the action's result where that cannot be made."""
    try:
        found = await called(capability, _shown(capability, action), passing=(CheckreinError,))
    except EnvironmentFault as error:
        if error.code != Reserved.PREVIEW_UNAVAILABLE:
            raise
        found = Failed(error.code)
    if isinstance(found, Failed):
        if found.error is not None:
            return observations.failed(action, found.error)
        return observations.no_preview(action, found.kind)
    return found if found.preview.strip() else observations.no_preview(action, "it is empty")


async def _shown(capability: Capability, action: Action) -> _Seen:
    """The version that a yes would bind, and what would happen, for people."""
    if action.side_effect_class is SideEffect.READ and capability.spec.level is Level.ACTION:
        described = await capability.describe(action.args)
        text = json.dumps(masked(action.args)[0], ensure_ascii=False, indent=2)
        return _Seen(described.resource_version, f"{action.type} {text}", PreviewKind.TEXT)
    prepared = await capability.prepare(action.args)
    return _Seen(prepared.from_version, prepared.preview, prepared.preview_kind)


def _safe(preview: str, args: dict[str, Any]) -> str:
    """A preview that cannot steer a terminal, holds no credential that is seen, and is in bounds.

    Its end is kept as well as its beginning, so that nothing hides behind its length.
    """
    for secret in secret_texts(args):
        preview = preview.replace(secret, MASK)
    return folded_text(shown(masked_text(preview), lines=True), PREVIEW_LIMIT)


def _warnings(action: Action, purpose: str, preview: str) -> list[str]:
    """What may deceive in anything that a model or a tool wrote, and what is masked."""
    given: dict[str, Any] = {
        "args": action.args,
        "resource": action.resource,
        "purpose": purpose,
        "preview": preview,
    }
    places = [f"args{shown(place)}" for place in masked(action.args)[1]]
    hidden = [f"{place}: masked, since it looks like a credential" for place in places[:5]]
    if not hidden and masked_text(preview) != preview:
        hidden = ["preview: what looks like a credential is masked"]
    return [*hidden, *warnings_about(given)]


def _undo(run: Run, spec: CapabilitySpec) -> str:
    """Which capability makes up for it, where one is declared."""
    others = (one.spec for one in run.ports.capabilities.values())
    by = sorted(one.name for one in others if one.compensates == spec.name)
    return f"{' or '.join(by)} makes up for it" if by else ""


def _on_failure(spec: CapabilitySpec) -> str:
    if spec.side_effect is SideEffect.READ:
        return "nothing has changed, and the model is told"
    return _ON_FAILURE[spec.guarantee]
