"""A small story of one attempt, told in events: material for suites and for tests of adapters."""

from checkrein.contracts import ids
from checkrein.contracts.action import Action, Provenance, SideEffect, operation_hash
from checkrein.contracts.attempt import Attempt, WorkspaceRef
from checkrein.contracts.budget import Budget, BudgetLimits
from checkrein.contracts.check import CommandCheck, CommandSpec
from checkrein.contracts.codec import digest, digest_of
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import ApprovalTerms, PolicyDecision, Verdict
from checkrein.contracts.event import (
    ActionProposed,
    AttemptStarted,
    BudgetReserved,
    BudgetSettled,
    ContextCompiled,
    EffectExecuting,
    IntentBound,
    ModelRequested,
    ModelResponded,
    Payload,
    PolicyDecided,
    TaskCreated,
)
from checkrein.contracts.proposal import Usage
from checkrein.contracts.task import Task, TaskContract


def contract_of(tenant: str = "local", budgets: BudgetLimits | None = None) -> TaskContract:
    """A contract that asks for one command."""
    return TaskContract(
        goal="Mend it.",
        tenant=tenant,
        budgets=budgets or BudgetLimits(),
        success=[CommandCheck(command=CommandSpec(argv=["true"]))],
    )


def opening(
    attempt_id: str,
    *,
    task_id: str | None = None,
    number: int = 1,
    contract: TaskContract | None = None,
    parent: str | None = None,
) -> list[Payload]:
    """How an attempt begins; with a task_id it is one more attempt of a task that is there."""
    contract = contract or contract_of()
    stored = contract.model_dump(mode="json")
    events: list[Payload] = []
    if task_id is None:
        task_id = ids.new_task_id()
        task = Task(
            task_id=task_id,
            tenant=contract.tenant,
            contract_version=contract.contract_version,
            risk=contract.risk,
            budget=contract.budgets,
            requested_by=contract.requested_by,
            parent=parent,
        )
        events.append(TaskCreated(task=task, contract=stored))
    attempt = Attempt(
        attempt_id=attempt_id,
        task_id=task_id,
        number=number,
        runtime="langgraph",
        runtime_version="1",
        harness_profile="default",
        model="scripted:none",
        workspace_ref=WorkspaceRef(root="/w", source="/s", mode="copy", baseline="sha256:0"),
        policy_profile="shipped",
        policy_version="sha256:1",
        parent=parent,
    )
    events.append(AttemptStarted(attempt=attempt, contract=stored, budgets=contract.budgets))
    return events


def asked(turn: int = 1) -> list[Payload]:
    """A turn up to its model call: one step and a hundred tokens are reserved."""
    return [
        ContextCompiled(
            turn=turn,
            manifest_ref=digest(b"manifest"),
            sent="sha256:2",
            tokens=10,
            lowest_trust=Trust.USER,
        ),
        BudgetReserved(turn=turn, amounts={Budget.STEPS: 1, Budget.MODEL_TOKENS: 100}),
        ModelRequested(turn=turn, model="scripted:none"),
    ]


def replied(turn: int = 1, raw: bytes = b"{}") -> list[Payload]:
    """The reply to `asked`: thirty of the hundred tokens were used."""
    return [
        ModelResponded(
            turn=turn,
            raw_ref=digest(raw),
            usage=Usage(input_tokens=20, output_tokens=10),
            model_id="none-1",
        ),
        BudgetSettled(
            turn=turn,
            released={Budget.STEPS: 1, Budget.MODEL_TOKENS: 100},
            spent={Budget.STEPS: 1, Budget.MODEL_TOKENS: 30},
        ),
    ]


def action_of(attempt_id: str, turn: int = 1, position: int = 0, key: str | None = None) -> Action:
    """One write that the model proposed; its key is its id unless another is given."""
    action_id = ids.action_id(attempt_id, turn, position)
    args = {"path": f"a{position}.py", "content": "x"}
    return Action(
        action_id=action_id,
        attempt_id=attempt_id,
        turn=turn,
        position=position,
        call_id=f"call_{position}",
        actor="scripted:none",
        type="workspace.write_file@1",
        args=args,
        args_hash=digest_of(args),
        resource=f"file:a{position}.py",
        side_effect_class=SideEffect.REVERSIBLE,
        idempotency_key=key or action_id,
        provenance=Provenance(turn=turn, context="sha256:2", lowest_trust=Trust.USER),
    )


def decided(
    action: Action, verdict: Verdict = Verdict.ALLOW, phase: str = "propose"
) -> PolicyDecided:
    """What the policy said of an action, without constraints."""
    terms = ApprovalTerms(roles=["approver"]) if verdict is Verdict.REQUIRE_APPROVAL else None
    return PolicyDecided.model_validate(
        {
            "action_id": action.action_id,
            "phase": phase,
            "operation_hash": operation_hash(action, {}),
            "decision": PolicyDecision(
                decision=verdict,
                reason_code="because",
                reasons=["because"],
                approval=terms,
                policy_version="sha256:1",
                engine="none",
                input_ref="sha256:3",
            ),
        }
    )


def bound(action: Action, tenant: str = "local") -> IntentBound:
    """The action's intent, on its key."""
    return IntentBound(
        effect_id=ids.effect_id(tenant, action.resource, action.idempotency_key),
        tenant=tenant,
        resource=action.resource,
        key=action.idempotency_key,
        operation_hash=operation_hash(action, {}),
        action_id=action.action_id,
    )


def executing(action: Action, fence: int, tenant: str = "local") -> EffectExecuting:
    """The action is about to be sent."""
    return EffectExecuting(
        effect_id=ids.effect_id(tenant, action.resource, action.idempotency_key),
        action_id=action.action_id,
        fence=fence,
        from_version="v1",
        to_version="v2",
    )


def authorized(action: Action) -> list[Payload]:
    """A turn in which one action was proposed and allowed."""
    turn = action.turn
    return [*asked(turn), *replied(turn), ActionProposed(action=action), decided(action)]
