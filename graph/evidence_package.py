"""The evidence package of a trace, a pure function of its facts: computed again, it is the same."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.effect import Effect
from checkrein.contracts.event import AttemptStarted
from checkrein.contracts.evidence import (
    ActionRecord,
    ApprovalRecord,
    Candidate,
    ChainHead,
    EvidencePackage,
    FinalCommit,
    Lineage,
)
from checkrein.contracts.retrying import RETRY
from checkrein.contracts.task import Task, TaskContract, TaskStatus
from checkrein.errors import IntegrityError
from checkrein.graph.evidence_files import artifacts_of
from checkrein.graph.facts import Fact
from checkrein.graph.finishes import finishes_of
from checkrein.graph.rebuilt import Rebuilt


class CommitTrace(NamedTuple):
    """The facts of the commit attempt that handed a candidate over, and the end of its chain."""

    facts: Sequence[Fact]
    head: ChainHead


def assembled(
    facts: Sequence[Fact],
    head: ChainHead,
    sizes: Mapping[str, int],
    commit: CommitTrace | None = None,
) -> EvidencePackage:
    """Make the package of an attempt's facts.

    `sizes`: bytes of the artifacts that only a check refers to, by digest.

    Raises:
        IntegrityError: the facts do not begin with an attempt and its contract.
    """
    rebuilt = Rebuilt.of(facts)
    started, attempt = rebuilt.started, rebuilt.attempt
    if started is None or attempt is None:
        raise IntegrityError("The trace has no attempt_started.", op="evidence.assembled")
    status = TaskStatus.COMPLETED if commit is not None else _outcome(rebuilt)
    task = (rebuilt.task or _task(started)).model_copy(update={"status": status})
    decisions = [d.decision for found in rebuilt.decisions.values() for d in found]
    inputs = [
        f"contract:{task.contract_version}",
        f"workspace:{attempt.workspace_ref.baseline}",
        *task.input_refs,
    ]
    return EvidencePackage(
        task=task,
        contract=started.contract,
        attempt=attempt,
        inputs=inputs,
        candidate=_candidate(rebuilt),
        actions=_actions(rebuilt),
        effects=list(rebuilt.effects.values()),
        policies=sorted({attempt.policy_version, *(d.policy_version for d in decisions)}),
        approvals=[
            ApprovalRecord(request=request, grants=rebuilt.grants.get(approval_id, []))
            for approval_id, request in rebuilt.approvals.items()
        ],
        verification=rebuilt.verification,
        artifacts=artifacts_of([*facts, *(commit.facts if commit else ())], sizes),
        changed=[] if rebuilt.sealed is None else rebuilt.sealed.changed,
        finishes=finishes_of(rebuilt),
        final_commit=None if commit is None else final_commit(commit),
        lineage=[_lineage(rebuilt, effect, inputs) for effect in rebuilt.effects.values()],
        head=head,
        usage=dict(sorted(rebuilt.spent.items())),
        retry_by_machine=RETRY.get(attempt.status),
    )


def _candidate(rebuilt: Rebuilt) -> Candidate | None:
    sealed = rebuilt.sealed
    if sealed is None:
        return None
    return Candidate(
        summary=sealed.summary,
        state_digest=sealed.state_digest,
        candidate_hash=sealed.candidate_hash,
    )


def _actions(rebuilt: Rebuilt) -> list[ActionRecord]:
    return [
        ActionRecord(
            action=action, decisions=[d.decision for d in rebuilt.decisions.get(action_id, [])]
        )
        for action_id, action in rebuilt.actions.items()
    ]


def final_commit(commit: CommitTrace) -> FinalCommit:
    """What the commit attempt's own facts say of it."""
    told = assembled(commit.facts, commit.head, {})
    if told.attempt.commit is None or told.finishes.task_accepted is None:
        raise IntegrityError("The final commit was not made.", op="evidence.assembled")
    return FinalCommit(
        attempt=told.attempt,
        committed_at=told.finishes.task_accepted,
        actions=told.actions,
        effects=told.effects,
        policies=told.policies,
        approvals=told.approvals,
        verification=told.verification,
        lineage=told.lineage,
        head=commit.head,
    )


def _lineage(rebuilt: Rebuilt, effect: Effect, inputs: list[str]) -> Lineage:
    action = rebuilt.actions.get(effect.action_id)
    allowed = [
        decided.decision
        for decided in rebuilt.decisions.get(effect.action_id, [])
        if decided.operation_hash == effect.operation_hash and not decided.decision.denies
    ]
    turn = 0 if action is None else action.turn
    return Lineage(
        effect_id=effect.effect_id,
        action_id=effect.action_id,
        turn=turn,
        context=rebuilt.manifests.get(turn, ""),
        policy_version=allowed[-1].policy_version if allowed else "",
        decision_input=allowed[-1].input_ref if allowed else "",
        approval_ids=rebuilt.granted.get(effect.action_id, []),
        inputs=inputs,
    )


def _task(started: AttemptStarted) -> Task:
    """The task of an attempt that did not create it: what its contract says."""
    try:
        contract = TaskContract.model_validate(started.contract)
    except ValidationError as error:
        raise IntegrityError(
            "The contract in attempt_started is none of this version's.", op="evidence.assembled"
        ) from error
    return Task(
        task_id=started.attempt.task_id,
        tenant=contract.tenant,
        contract_version=contract.contract_version,
        risk=contract.risk,
        budget=contract.budgets,
        requested_by=contract.requested_by,
        commit_authority=contract.commit_authority,
    )


def _outcome(rebuilt: Rebuilt) -> TaskStatus:
    """What the attempt's end made of its task."""
    ended = rebuilt.ended
    if ended is None:
        return TaskStatus.RUNNING
    if ended.status is AttemptStatus.CANDIDATE_VERIFIED:
        return TaskStatus.VERIFIED
    if ended.status is AttemptStatus.CANCELLED:
        return TaskStatus.CANCELLED
    return TaskStatus.ESCALATED if ended.needs_escalation else TaskStatus.FAILED
