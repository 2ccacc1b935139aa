"""Payloads beyond the suites' small story: approvals, answers, results, verdicts and ends."""

from typing import Any, Literal

from checkrein.contracts import ids
from checkrein.contracts.action import Action, operation_hash
from checkrein.contracts.approval import Answer, ApprovalRequest
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.codec import digest_of
from checkrein.contracts.decision import ApprovalTerms
from checkrein.contracts.effect import EffectStatus, Outcome, OutcomeSource
from checkrein.contracts.event import (
    ActionDeduplicated,
    ApprovalDecided,
    ApprovalGranted,
    ApprovalPrepared,
    ApprovalRequested,
    ApprovalStale,
    AttemptEnded,
    CandidateSealed,
    EffectCommitted,
    EffectDenied,
    EffectPending,
    EffectReconciled,
    EffectRefused,
    EffectRetried,
    EffectUnknown,
    EffectVerified,
    NoProgressNoticed,
    Observed,
    Payload,
    VerificationFinished,
    VerificationStarted,
)
from checkrein.contracts.observation import Diagnostics, Observation, ObservationStatus
from checkrein.contracts.progress import Rung, Signal
from checkrein.contracts.verification import CheckResult, CheckStatus, VerificationResult

VERSION = "v1"
"""The version of every resource, as it was when its approval was asked for."""


def effect_id_of(action: Action, tenant: str = "local") -> str:
    """The row of the ledger that the action's key names."""
    return ids.effect_id(tenant, action.resource, action.idempotency_key)


def prepared(action: Action, revision: int = 1, **changes: Any) -> ApprovalPrepared:
    """A request for one action, stored and not yet shown."""
    replaces = ids.approval_id(action.action_id, revision - 1) if revision > 1 else None
    request = ApprovalRequest(
        approval_id=ids.approval_id(action.action_id, revision),
        action_id=action.action_id,
        attempt_id=action.attempt_id,
        request_revision=revision,
        capability=action.type,
        args=action.args,
        operation_hash=operation_hash(action, {}),
        resource=action.resource,
        resource_version=VERSION,
        contract_version="sha256:4",
        policy_version="sha256:1",
        reason_code="because",
        terms=ApprovalTerms(roles=["approver"], expires_in_s=60),
        requested_by="alice",
        purpose="to mend it",
        preview="- a\n+ b",
        reversible=True,
        on_failure="nothing is repeated",
        replaces=replaces,
    )
    return ApprovalPrepared(approval=request.model_copy(update=changes))


def requested(action: Action, revision: int = 1) -> ApprovalRequested:
    """The request is shown to people."""
    return ApprovalRequested(
        approval_id=ids.approval_id(action.action_id, revision),
        action_id=action.action_id,
        interrupt_id="interrupt-1",
    )


def edited(action: Action, by: str = "bob") -> Action:
    """The action that comes of other arguments for the same call."""
    args = {**action.args, "content": "y"}
    revision = action.revision + 1
    action_id = ids.action_id(action.attempt_id, action.turn, action.position, revision)
    return action.model_copy(
        update={
            "action_id": action_id,
            "revision": revision,
            "args": args,
            "args_hash": digest_of(args),
            "idempotency_key": action_id,
            "edited_by": by,
        }
    )


def answered(
    action: Action, answer: Answer = Answer.APPROVE, revision: int = 1, by: str = "bob"
) -> ApprovalDecided:
    """A person's word."""
    return ApprovalDecided(
        approval_id=ids.approval_id(action.action_id, revision),
        action_id=action.action_id,
        answer=answer,
        approver=by,
        authority="approver",
        authenticated=False,
        reason="I looked",
        args={"path": "b.txt"} if answer is Answer.EDIT else None,
    )


def granted(action: Action, revision: int = 1, **changes: Any) -> ApprovalGranted:
    """The grant is spent."""
    spent = ApprovalGranted(
        approval_id=ids.approval_id(action.action_id, revision),
        action_id=action.action_id,
        operation_hash=operation_hash(action, {}),
        resource_version=VERSION,
    )
    return spent.model_copy(update=changes)


def stale(action: Action, revision: int = 1) -> ApprovalStale:
    """What was approved is gone."""
    return ApprovalStale(
        approval_id=ids.approval_id(action.action_id, revision),
        action_id=action.action_id,
        approved_version=VERSION,
        found_version="v9",
    )


_Said = Literal[
    EffectStatus.COMMITTED,
    EffectStatus.REFUSED,
    EffectStatus.UNKNOWN_EFFECT,
    EffectStatus.NOT_APPLIED,
]


def outcome(status: _Said) -> Outcome:
    """What a target said."""
    return Outcome(status=status, version="v2", result={"bytes": 1, "note": None})


def committed(action: Action, tenant: str = "local") -> EffectCommitted:
    """The receipt."""
    return EffectCommitted(
        effect_id=effect_id_of(action, tenant),
        action_id=action.action_id,
        outcome=outcome(EffectStatus.COMMITTED),
    )


def refused(action: Action) -> EffectRefused:
    """The target's definite no."""
    return EffectRefused(
        effect_id=effect_id_of(action),
        action_id=action.action_id,
        outcome=outcome(EffectStatus.REFUSED),
    )


def unknown(action: Action) -> EffectUnknown:
    """No answer came."""
    return EffectUnknown(
        effect_id=effect_id_of(action),
        action_id=action.action_id,
        outcome=outcome(EffectStatus.UNKNOWN_EFFECT),
    )


def reconciled(
    action: Action,
    status: _Said = EffectStatus.COMMITTED,
    source: OutcomeSource = OutcomeSource.RECONCILED,
) -> EffectReconciled:
    """The target was asked afterwards, or a person said so."""
    return EffectReconciled(
        effect_id=effect_id_of(action),
        action_id=action.action_id,
        outcome=outcome(status),
        source=source,
    )


def retried(action: Action, fence: int, n: int = 2) -> EffectRetried:
    """The same effect is sent again by the same owner."""
    return EffectRetried(
        effect_id=effect_id_of(action),
        action_id=action.action_id,
        fence=fence,
        n=n,
        delay_s=0.1,
        error_type="timeout",
    )


def pending(action: Action, *, sent: bool) -> EffectPending:
    """It has to wait."""
    return EffectPending(
        effect_id=effect_id_of(action), action_id=action.action_id, sent=sent, why="it waits"
    )


def read_back(action: Action, *, holds: bool) -> EffectVerified:
    """The real system was read after the receipt."""
    return EffectVerified(
        effect_id=effect_id_of(action), action_id=action.action_id, holds=holds, detail="read"
    )


def effect_denied(action: Action) -> EffectDenied:
    """Authority was refused before anything was sent."""
    return EffectDenied(
        effect_id=effect_id_of(action), action_id=action.action_id, reason_code="revoked"
    )


def deduplicated(action: Action) -> ActionDeduplicated:
    """It had happened already."""
    return ActionDeduplicated(action_id=action.action_id, effect_id=effect_id_of(action))


def observed(action: Action, status: ObservationStatus = ObservationStatus.OK) -> Observed:
    """The action's one result."""
    fault = None if status is ObservationStatus.OK else Diagnostics(error_type="because")
    return Observed(
        observation=Observation(
            action_id=action.action_id,
            turn=action.turn,
            position=action.position,
            call_id=action.call_id,
            name=action.capability,
            status=status,
            structured_result={"text": "ok"},
            diagnostics=fault,
            environment_revision="v2",
        )
    )


def unusable(attempt_id: str, turn: int, position: int) -> Observed:
    """The result of a call of which no action could be made."""
    return Observed(
        observation=Observation(
            action_id=ids.action_id(attempt_id, turn, position),
            turn=turn,
            position=position,
            call_id=f"call_{position}",
            name="no_such_tool",
            status=ObservationStatus.INVALID,
            diagnostics=Diagnostics(error_type="unknown_tool", retryable=True),
        )
    )


def sealed(turn: int = 1, digest: str = "sha256:w1") -> list[Payload]:
    """The model claims to be done; checks begin."""
    return [
        CandidateSealed(turn=turn, summary="done", state_digest=digest, candidate_hash="sha256:c"),
        VerificationStarted(turn=turn, state_digest=digest),
    ]


def verified(
    turn: int = 1,
    status: CheckStatus = CheckStatus.PASS,
    *,
    digest: str = "sha256:w1",
    repair: bool = False,
) -> VerificationFinished:
    """The verdict."""
    return VerificationFinished(
        turn=turn,
        repair=repair,
        result=VerificationResult(
            contract_version="sha256:4",
            verifier_version="command@1",
            checks=[CheckResult(kind="command", name="true", status=status, exit_code=0)],
            status=status,
            state_digest=digest,
            environment_ref="copy",
            repairable=status is CheckStatus.FAIL,
            gaps=[] if status is CheckStatus.PASS else ["true: it failed"],
        ),
    )


def noticed(rung: Rung) -> NoProgressNoticed:
    """The run goes in circles."""
    return NoProgressNoticed(
        turn=2,
        signal=Signal.REPEATED_CALL,
        rung=rung,
        evidence=[1],
        action_ids=["act_1"],
        repeated=["workspace.read"],
        advice="plan anew",
    )


def ended(
    status: AttemptStatus = AttemptStatus.CANDIDATE_VERIFIED, *, escalate: bool = False
) -> AttemptEnded:
    """The end, with its reason."""
    return AttemptEnded(status=status, detail="that is why", needs_escalation=escalate)
