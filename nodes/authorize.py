"""Asking the policy about one action: the same way when it is proposed and before it runs."""

from dataclasses import dataclass
from typing import Literal

from checkrein.contracts.action import Action, SideEffect, operation_hash
from checkrein.contracts.approval import Answer, ApprovalStatus, Level
from checkrein.contracts.attempt import Attempt
from checkrein.contracts.context import TRUST_ORDER, Trust
from checkrein.contracts.decision import (
    ActionFacts,
    ActorFacts,
    ApprovalFacts,
    ApprovalTerms,
    AttemptFacts,
    DecisionInput,
    PermissionFacts,
    PolicyDecision,
    ProvenanceFacts,
    Reserved,
    TaskFacts,
    Verdict,
)
from checkrein.contracts.event import PolicyDecided
from checkrein.contracts.secrets import secret_hits
from checkrein.contracts.task import TaskContract
from checkrein.nodes.approvers import still_may
from checkrein.nodes.limits import unavailable
from checkrein.nodes.run import Run
from checkrein.ports.capability import Description
from checkrein.ports.records import ActionState, Position
from checkrein.version import VERSION

Phase = Literal["propose", "dispatch"]


@dataclass(frozen=True)
class Ruling:
    """A decision with what it binds and the exact input that it was made of."""

    decision: PolicyDecision
    operation_hash: str
    event: PolicyDecided
    input_text: bytes


async def authorize(
    run: Run,
    position: Position,
    action: Action,
    description: Description,
    phase: Phase,
    state: ActionState | None = None,
) -> Ruling:
    """Ask the policy, and tighten its answer by what the harness knows; never loosen it."""
    # Only another attempt can have done the same before; the first has none beside it.
    repeats = (
        position.attempt.number > 1
        and action.side_effect_class is not SideEffect.READ
        and await run.lease.records.repeats(run.attempt_id, action)
    )
    document = _document(run, position, action, description, phase, repeats, state)
    decision = await run.ports.policy.decide(document)
    await _told(run)
    secrets = description.facts.secret_names
    decision = _tightened(run, position, action, decision, repeats, secrets)
    if decision.covered_by and not _covered(run, position, action, decision, repeats):
        decision = decision.model_copy(update={"covered_by": None})
    bound = operation_hash(action, decision.constraints)
    return Ruling(
        decision=decision,
        operation_hash=bound,
        event=PolicyDecided(
            action_id=action.action_id, phase=phase, decision=decision, operation_hash=bound
        ),
        input_text=run.ports.policy.input_text(document),
    )


async def _told(run: Run) -> None:
    """Record what became of the rules before the first decision under them is.

    By itself, since what is recorded with a decision may be refused together with it.
    """
    news = run.ports.policy.news()
    if news:
        await run.record(*news)
        run.ports.policy.heard(news)


def _document(
    run: Run,
    position: Position,
    action: Action,
    description: Description,
    phase: Phase,
    repeats: bool,
    state: ActionState | None,
) -> DecisionInput:
    contract, attempt = run.contract, position.attempt
    lowest = action.provenance.lowest_trust
    return DecisionInput(
        phase=phase,
        tenant=contract.tenant,
        task=TaskFacts(
            task_id=attempt.task_id,
            risk=contract.risk,
            contract_version=run.contract_version,
            # A commit is granted its one act, and a model's work never is.
            capabilities=contract.capabilities
            if attempt.commit is None
            else [contract.commit_act.capability],
            requested_by=contract.requested_by,
            stage=contract.stage,
            plan_mode=position.planning(contract),
            commit_authority=contract.commit_authority,
        ),
        attempt=AttemptFacts(
            attempt_id=attempt.attempt_id,
            number=attempt.number,
            turn=action.turn,
            prior_denials=position.denials,
            purpose=attempt.purpose,
        ),
        actor=_actor(contract, attempt, action),
        action=_action(run, action, description, repeats),
        provenance=ProvenanceFacts(
            lowest_trust=lowest,
            untrusted=position.untrusted_seen
            or TRUST_ORDER.index(lowest) < TRUST_ORDER.index(Trust.WORKSPACE),
            private=position.private_seen,
        ),
        budget={str(name): line.left for name, line in position.budgets.items()},
        approvals=_held(state),
        permissions=[
            PermissionFacts.model_validate(permission, from_attributes=True)
            for permission in position.permissions
            if permission.capability == action.type
        ],
        revocations=position.revocations,
        grants=position.grants,
        now_ms=run.ports.clock.now_ns() // 1_000_000,
    )


def _actor(contract: TaskContract, attempt: Attempt, action: Action) -> ActorFacts:
    """Which model acts, for whom, with the roles that the contract gives to that person."""
    roles = contract.approvals.roles
    person = contract.requested_by if attempt.commit is None else attempt.commit.by
    return ActorFacts(
        user=person,
        agent=action.actor,
        runtime=f"checkrein/{VERSION}",
        roles=sorted(role for role, people in roles.items() if person in people),
    )


def _action(run: Run, action: Action, description: Description, repeats: bool) -> ActionFacts:
    """The action with what the harness derived of it and knows of its capability."""
    spec = run.ports.capabilities[action.capability].spec
    return ActionFacts(
        action_id=action.action_id,
        capability=action.capability,
        type=action.type,
        args=action.args,
        resource=description.resource,
        resource_version=description.resource_version,
        side_effect_class=action.side_effect_class,
        reversible=action.side_effect_class is not SideEffect.IRREVERSIBLE,
        # Counted here, for every capability: a declaration could forget to.
        facts=description.facts.model_copy(update={"secret_hits": secret_hits(action.args)}),
        repeats_effect=repeats,
        egress=spec.egress,
        environment=spec.environment,
        compensates=action.compensates,
        edited_by=action.edited_by,
    )


def _held(state: ActionState | None) -> list[ApprovalFacts]:
    """The approval that is held for this action, if a person gave one."""
    if state is None or state.approval is None:
        return []
    if state.approval.status not in {ApprovalStatus.GRANTED, ApprovalStatus.USED}:
        return []
    return [
        ApprovalFacts(
            approval_id=state.approval.approval_id,
            approvers=[g.approver for g in state.grants if g.answer is Answer.APPROVE],
            operation_hash=state.approval.operation_hash,
        )
    ]


def _tightened(
    run: Run,
    position: Position,
    action: Action,
    decision: PolicyDecision,
    repeats: bool,
    secrets: list[str],
) -> PolicyDecision:
    if decision.denies:
        return decision
    taken_back = _revoked(run, position, action, secrets)
    if taken_back is not None:
        return _denied(decision, Reserved.REVOKED, f"{taken_back} was revoked")
    spec = run.ports.capabilities[action.capability].spec
    if position.planning(run.contract) and action.side_effect_class is not SideEffect.READ:
        why = "the task is in plan mode, and no person has accepted a plan yet"
        return _denied(decision, "plan_mode", why)
    missing = unavailable(spec, decision.constraints)
    if missing:
        why = f"{spec.name} cannot enforce {', '.join(missing)}"
        return _denied(decision, Reserved.CONSTRAINT_UNAVAILABLE, why)
    if decision.decision is Verdict.REQUIRE_APPROVAL:
        return decision
    if repeats:
        # An equal effect of this task exists already: asked, never silently allowed.
        return _asked(decision, "repeats_effect")
    return decision if spec.level is Level.ACTION else _asked(decision, "person_decides")


def _covered(
    run: Run, position: Position, action: Action, decision: PolicyDecision, repeats: bool
) -> bool:
    """Whether the permission that the policy names holds here: by whom, until when, under what.

    The policy judges whether the arguments lie within it. Whose word it is, and whether that still
    counts, is judged as for any other yes.
    """
    named = next((p for p in position.permissions if p.permission_id == decision.covered_by), None)
    terms = decision.approval
    if named is None or terms is None or repeats or terms.quorum > 1:
        return False
    if run.ports.capabilities[action.capability].spec.level is not Level.ACTION:
        return False  # a plan and a result are accepted one by one
    if f"grant:{named.permission_id}" in position.revocations:
        return False
    if named.constraints != decision.constraints or named.scope not in terms.scopes:
        return False
    separate = terms.separation_of_duty or run.contract.approvals.separation_of_duty
    return still_may(
        run.contract,
        position,
        named.given_by,
        authenticated=named.authenticated,
        roles=terms.roles,
        apart=frozenset({run.contract.requested_by, action.edited_by or ""} if separate else ()),
    )


def _revoked(run: Run, position: Position, action: Action, secrets: list[str]) -> str | None:
    """What of this act a person took back: who, as whom, by what, on what, its approval, a secret.

    Newer than any bundle, and so not the bundle's to forget.
    """
    if not position.revocations:
        return None
    mine = next((s for s in position.actions if s.action.action_id == action.action_id), None)
    subjects = [
        f"user:{run.contract.requested_by}",
        *([f"user:{position.attempt.commit.by}"] if position.attempt.commit else []),
        f"agent:{action.actor}",
        f"capability:{action.capability}",
        f"resource:{action.resource}",
        *(f"secret:{name}" for name in secrets),
        *([f"grant:{mine.approval.approval_id}"] if mine and mine.approval else []),
    ]
    return next((subject for subject in subjects if subject in position.revocations), None)


def _asked(decision: PolicyDecision, code: str) -> PolicyDecision:
    return decision.model_copy(
        update={
            "decision": Verdict.REQUIRE_APPROVAL,
            "reason_code": code,
            "reasons": [code],
            "approval": ApprovalTerms(roles=["approver"]),
        }
    )


def _denied(decision: PolicyDecision, code: str, why: str) -> PolicyDecision:
    return decision.model_copy(
        update={
            "decision": Verdict.DENY,
            "reason_code": str(code),
            "reasons": [str(code)],
            "constraints": {},
            "approval": None,
            "covered_by": None,
            "message": why,
        }
    )
