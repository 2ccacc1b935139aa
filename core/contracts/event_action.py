"""Payloads about an action: decision, approval, effect and result."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.action import Action
from checkrein.contracts.approval import Answer, ApprovalRequest
from checkrein.contracts.decision import PolicyDecision
from checkrein.contracts.effect import Outcome, OutcomeSource
from checkrein.contracts.event_base import PayloadBase
from checkrein.contracts.observation import Observation
from checkrein.contracts.permission import Reach

PROBLEM_CHARS = 2_000
"""Characters that a policy's problem is told in."""


class ActionProposed(PayloadBase):
    """A valid proposal became an action."""

    type: Literal["action_proposed"] = "action_proposed"
    action: Action


class PolicyDecided(PayloadBase):
    """The policy answered. `phase` dispatch is the answer right before the action runs."""

    type: Literal["policy_decided"] = "policy_decided"
    action_id: str
    phase: Literal["propose", "dispatch"]
    decision: PolicyDecision
    operation_hash: str


class PolicyReloaded(PayloadBase):
    """The policy's folder changed, and its bundle decides from here on.

    Attributes:
        version, before: the bundles that decide now and decided until now; the same where a folder
            that had been refused holds again what decided all along.
    """

    type: Literal["policy_reloaded"] = "policy_reloaded"
    version: str
    before: str


class PolicyRefused(PayloadBase):
    """The policy's folder changed to what may not decide; what decided until now goes on.

    Attributes:
        version: the refused bundle's; empty where the folder could not even be read.
        serving: the bundle that goes on deciding.
        problem: why, at most PROBLEM_CHARS characters. It may quote files of the folder.
    """

    type: Literal["policy_refused"] = "policy_refused"
    version: str
    serving: str
    problem: str


class ApprovalPrepared(PayloadBase):
    """A request is stored, not yet shown to anybody."""

    type: Literal["approval_prepared"] = "approval_prepared"
    approval: ApprovalRequest


class ApprovalRequested(PayloadBase):
    """The request is on offer to people."""

    type: Literal["approval_requested"] = "approval_requested"
    approval_id: str
    action_id: str
    interrupt_id: str | None = None


class ApprovalDecided(PayloadBase):
    """A person answered. That is stored when it is said; what it permits is checked later."""

    type: Literal["approval_decided"] = "approval_decided"
    approval_id: str
    action_id: str
    answer: Answer
    approver: str
    authority: str
    authenticated: bool
    reason: str = ""
    args: dict[str, Any] | None = None
    reach: Reach | None = None


class PermissionUsed(PayloadBase):
    """A yes that stands was good for this action, too, and is one use shorter."""

    type: Literal["permission_used"] = "permission_used"
    permission_id: str
    action_id: str
    operation_hash: str


class PlanAccepted(PayloadBase):
    """A person accepted the plan: what changes something may be proposed from now on.

    `plan` is the digest of the arguments that hold it.
    """

    type: Literal["plan_accepted"] = "plan_accepted"
    action_id: str
    plan: str


class ResultAccepted(PayloadBase):
    """A person accepted the result, as it was when it was handed in. No verifier does that."""

    type: Literal["result_accepted"] = "result_accepted"
    action_id: str
    state_digest: str


class ApprovalEscalated(PayloadBase):
    """Nobody answered for so long that one more role may. `step` counts from 1."""

    type: Literal["approval_escalated"] = "approval_escalated"
    approval_id: str
    action_id: str
    step: int = Field(ge=1)
    role: str


class ApprovalShown(PayloadBase):
    """A loop that is not ours pauses for a person: what it shows them, and where.

    LangGraph gives a node the answers of its earlier pauses by position; this says to which request
    each of them is an answer. A fact without a row of its own.

    Attributes:
        place: the task of the loop's graph that pauses.
        pause: the number of the pause in that task, from 0.
    """

    type: Literal["approval_shown"] = "approval_shown"
    approval_id: str
    place: str = Field(max_length=256)
    pause: int = Field(ge=0)


class ApprovalExpired(PayloadBase):
    """Nobody answered in time, or nothing came of the answer in time: a recorded no."""

    type: Literal["approval_expired"] = "approval_expired"
    approval_id: str
    action_id: str


class ApprovalGranted(PayloadBase):
    """The grant was checked again and is spent on its one action."""

    type: Literal["approval_granted"] = "approval_granted"
    approval_id: str
    action_id: str
    operation_hash: str
    resource_version: str


class ApprovalStale(PayloadBase):
    """What was approved is no longer what would happen, or who approved it is not enough now.

    Nothing ran. `why` says which, where it is not the version of the resource.
    """

    type: Literal["approval_stale"] = "approval_stale"
    approval_id: str
    action_id: str
    approved_version: str
    found_version: str
    why: str = ""


class IntentBound(PayloadBase):
    """The intent holds its key in the ledger, once."""

    type: Literal["intent_bound"] = "intent_bound"
    effect_id: str
    tenant: str
    resource: str
    key: str
    operation_hash: str
    action_id: str


class EffectExecuting(PayloadBase):
    """Durable before the first byte leaves."""

    type: Literal["effect_executing"] = "effect_executing"
    effect_id: str
    action_id: str
    fence: int
    from_version: str = ""
    to_version: str = ""


class EffectCommitted(PayloadBase):
    """The receipt: it happened."""

    type: Literal["effect_committed"] = "effect_committed"
    effect_id: str
    action_id: str
    outcome: Outcome


class EffectRefused(PayloadBase):
    """The target said a definite no."""

    type: Literal["effect_refused"] = "effect_refused"
    effect_id: str
    action_id: str
    outcome: Outcome


class EffectUnknown(PayloadBase):
    """Nobody can say whether it happened."""

    type: Literal["effect_unknown"] = "effect_unknown"
    effect_id: str
    action_id: str
    outcome: Outcome


class EffectRetried(PayloadBase):
    """The same effect is sent once more under the same key, by the same owner, after a pause.

    Attributes:
        n: which try it is; the first send was 1.
        error_type, message: how the try before ended.
    """

    type: Literal["effect_retried"] = "effect_retried"
    effect_id: str
    action_id: str
    fence: int
    n: int
    delay_s: float
    error_type: str
    message: str = ""


class EffectPending(PayloadBase):
    """Nothing can be said or done yet: another owner has the key, or the target cannot be asked.

    Attributes:
        sent: whether this action was sent already, so that only the answer is missing.
    """

    type: Literal["effect_pending"] = "effect_pending"
    effect_id: str
    action_id: str
    sent: bool
    why: str


class EffectReconciled(PayloadBase):
    """What had happened was found out afterwards: proven by the target, or told by a person.

    Attributes:
        by, authority, authenticated, evidence: for source manual, who said so, by which right,
            whether the name was proven, and what it rests on.
    """

    type: Literal["effect_reconciled"] = "effect_reconciled"
    effect_id: str
    action_id: str
    outcome: Outcome
    source: OutcomeSource
    by: str | None = None
    authority: str | None = None
    authenticated: bool = False
    evidence: str | None = None


class EffectVerified(PayloadBase):
    """The real system was read after the receipt. Not holding never becomes success."""

    type: Literal["effect_verified"] = "effect_verified"
    effect_id: str
    action_id: str
    holds: bool
    detail: str = ""


class EffectDenied(PayloadBase):
    """Authority was refused before anything was sent."""

    type: Literal["effect_denied"] = "effect_denied"
    effect_id: str
    action_id: str
    reason_code: str


class ActionDeduplicated(PayloadBase):
    """The effect had happened already; nothing was sent."""

    type: Literal["action_deduplicated"] = "action_deduplicated"
    action_id: str
    effect_id: str


class SecretLeased(PayloadBase):
    """A secret is lent to one action or one check. Its value stands nowhere.

    Attributes:
        turn: the turn of the action, or of the candidate that is judged.
        action_id: None where a check is lent it.
        holder: the capability, or the kind of the check.
        expires_at: when it is over at the latest, also where nobody can give it back.
    """

    type: Literal["secret_leased"] = "secret_leased"
    turn: int
    action_id: str | None = None
    name: str
    holder: str
    purpose: str
    expires_at: datetime


class SecretReleased(PayloadBase):
    """A lent secret was given back."""

    type: Literal["secret_released"] = "secret_released"
    turn: int
    action_id: str | None = None
    name: str
    holder: str


class Observed(PayloadBase):
    """The one result of one call."""

    type: Literal["observation"] = "observation"
    observation: Observation
