"""Making an approval request: what a person will be shown, bound to what would really happen."""

import json

from checkrein.contracts import ids
from checkrein.contracts.action import Action, SideEffect
from checkrein.contracts.approval import ApprovalRequest
from checkrein.contracts.decision import ApprovalTerms, PolicyDecision, Reserved
from checkrein.contracts.event import ApprovalPrepared, Observed
from checkrein.errors import CheckreinError, EnvironmentFault
from checkrein.nodes import observations
from checkrein.nodes.calling import Failed, called
from checkrein.nodes.run import Run
from checkrein.ports.capability import Capability

PREVIEW_LIMIT = 200_000
"""Characters of a preview that are stored; the whole is what the effect would write."""


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
    version, preview = found
    if not preview.strip():
        return observations.no_preview(action, "it is empty")
    revision = 1 if follows is None else follows.request_revision + 1
    separate = run.contract.approvals.separation_of_duty
    terms = decision.approval or ApprovalTerms(roles=["approver"])
    return ApprovalPrepared(
        approval=ApprovalRequest(
            approval_id=ids.approval_id(action.action_id, revision),
            action_id=action.action_id,
            attempt_id=run.attempt_id,
            request_revision=revision,
            capability=action.type,
            args=action.args,
            args_schema=capability.spec.parameters,
            constraints=decision.constraints,
            operation_hash=operation_hash,
            resource=action.resource,
            resource_version=version,
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
            purpose=purpose,
            preview=observations.shown(preview)[:PREVIEW_LIMIT],
            reversible=action.side_effect_class is not SideEffect.IRREVERSIBLE,
            on_failure="nothing is repeated; an unclear outcome stops the run for a person",
            replaces=None if follows is None else follows.approval_id,
        )
    )


async def _shown(capability: Capability, action: Action) -> tuple[str, str]:
    """The version that a yes would bind, and what would happen, for people."""
    if action.side_effect_class is SideEffect.READ:
        described = await capability.describe(action.args)
        text = json.dumps(action.args, ensure_ascii=False, indent=2)
        return described.resource_version, f"{action.type} {text}"
    prepared = await capability.prepare(action.args)
    return prepared.from_version, prepared.preview
