"""Reads, and what reads and writes share: the check right before an action runs."""

import asyncio
from typing import Any

from checkrein.contracts.action import Action
from checkrein.contracts.approval import ApprovalStatus
from checkrein.contracts.codec import digest
from checkrein.contracts.decision import Verdict
from checkrein.contracts.event import (
    ApprovalGranted,
    ApprovalStale,
    Payload,
    PermissionUsed,
    PlanAccepted,
    ResultAccepted,
    RetryScheduled,
)
from checkrein.contracts.observation import ObservationStatus
from checkrein.errors import BudgetExceededError, CapabilityError, CheckreinError
from checkrein.nodes import exhaustion, metering, observations
from checkrein.nodes.authorize import Ruling, authorize
from checkrein.nodes.calling import Failed, called
from checkrein.nodes.consent import lacking
from checkrein.nodes.limits import REDACT, for_capability, redacted, time_limit_s
from checkrein.nodes.offering import alternatives
from checkrein.nodes.run import Run
from checkrein.nodes.stopping import WorkStopped
from checkrein.ports.capability import (
    PLAN,
    RESULT,
    Capability,
    CapabilitySpec,
    Description,
    ReadResult,
)
from checkrein.ports.records import ActionState, Position


async def checked(
    run: Run,
    position: Position,
    state: ActionState,
    description: Description,
    version: str,
    *,
    resent: bool = False,
) -> tuple[Ruling, list[Payload] | None]:
    """Authorise once more, right before sending.

    `resent`: the effect was marked EXECUTING before, so that its grant is spent already and a
    denial does not undo it.

    Returns the ruling and the events that must be stored with the send: the decision and, where
    one was asked for, the grant that is spent. No events: the answer was no longer yes, and what
    follows from that has been recorded.
    """
    ruling = await authorize(run, position, state.action, description, "dispatch", state)
    if ruling.decision.denies:
        others = alternatives(run, position, state.action.capability)
        result = [] if resent else [observations.denied(state.action, ruling.decision, others)]
        await run.record(ruling.event, *result, blobs=(ruling.input_text,))
        return ruling, None
    spec = run.ports.capabilities[state.action.capability].spec
    if spec.type != state.action.type:
        # Judged, shown and approved was another contract under the same name.
        result = [] if resent else [observations.failed(state.action, _another_contract(spec))]
        await run.record(ruling.event, *result, blobs=(ruling.input_text,))
        return ruling, None
    if ruling.decision.decision is not Verdict.REQUIRE_APPROVAL:
        return ruling, [ruling.event]
    permission = ruling.decision.covered_by
    if resent and state.permission is not None:
        return ruling, [ruling.event]
    if state.approval is None and permission is not None:
        used = PermissionUsed(
            permission_id=permission,
            action_id=state.action.action_id,
            operation_hash=ruling.operation_hash,
        )
        return ruling, [ruling.event, used]
    request = state.approval
    spendable = ApprovalStatus.USED if resent else ApprovalStatus.GRANTED
    if request is None or request.status is not spendable:
        await run.record(ruling.event, blobs=(ruling.input_text,))
        return ruling, None
    if resent:
        return ruling, [ruling.event]
    lack = lacking(run, position, state, ruling, version)
    if lack is not None:
        stale = ApprovalStale(
            approval_id=request.approval_id,
            action_id=state.action.action_id,
            approved_version=request.resource_version,
            found_version=version,
            why=lack.why,
        )
        await run.record(ruling.event, stale, blobs=(ruling.input_text,))
        return ruling, None
    granted = ApprovalGranted(
        approval_id=request.approval_id,
        action_id=state.action.action_id,
        operation_hash=ruling.operation_hash,
        resource_version=version,
    )
    return ruling, [ruling.event, granted]


def _another_contract(spec: CapabilitySpec) -> CapabilityError:
    return CapabilityError(
        f"{spec.name} is {spec.type} now. Nothing was sent.",
        op="perform.checked",
        code="contract_changed",
        advice=f"The tool has changed since (it is {spec.type} now), so nothing was sent. Look at "
        "its description and call it again.",
    )


async def _read(
    run: Run,
    action: Action,
    capability: Capability,
    constraints: dict[str, Any],
    cost: metering.CallCost,
) -> ReadResult:
    """Read, again after passing faults: a read that ran out of time has changed nothing.

    Bounded by the number of tries, by the policy's window of time, and by the budget of calls.

    Raises:
        CapabilityError: it failed for good, or for as long as it is worth trying.
        WorkStopped: it was broken off; nothing of it is recorded.
    """
    policy = capability.spec.retry
    began = asyncio.get_running_loop().time()
    for n in range(1, policy.tries + 1):
        reading = called(
            capability,
            capability.read(action.args, for_capability(constraints)),
            passing=(CheckreinError,),
            within_s=time_limit_s(capability.spec, constraints),
        )
        found = await run.interruptible(reading)
        if not isinstance(found, Failed):
            return found
        failure = found.told(capability, f"{capability.spec.name}.read")
        delay_s = policy.pause(n)
        late = asyncio.get_running_loop().time() + delay_s > began + policy.window_s
        if not failure.retryable or n == policy.tries or late:
            raise failure
        retry = RetryScheduled(
            turn=action.turn,
            what=action.action_id,
            try_number=n + 1,
            delay_s=round(delay_s, 3),
            error_type=failure.code,
        )
        if not await _fits(run, retry, cost):
            raise failure
        await run.interruptible(asyncio.sleep(delay_s))
    raise AssertionError("a policy has at least one try")


async def _fits(run: Run, retry: RetryScheduled, cost: metering.CallCost) -> bool:
    """Record that another try follows, and book the one before it; False where none is left."""
    turn = retry.turn
    try:
        await run.record(cost.again(turn), cost.repeats(turn, 1), retry, look=False)
    except BudgetExceededError:
        return False
    return True


def _accepted(capability: Capability, action: Action, version: str) -> list[Payload]:
    """What a person's yes to a plan or a result means beyond its own action."""
    if capability.spec.name == PLAN:
        return [PlanAccepted(action_id=action.action_id, plan=action.args_hash)]
    if capability.spec.name == RESULT:
        return [ResultAccepted(action_id=action.action_id, state_digest=version)]
    return []


async def out_of_calls(run: Run, error: BudgetExceededError, cost: metering.CallCost) -> str:
    """Record that one more call does not fit, and suspend."""
    await exhaustion.refused(run, error, cost.each | cost.once)
    return "suspend"


async def perform_read(run: Run, position: Position, state: ActionState) -> str:
    """Run a READ: the same gate, no effect row, its result in one transaction."""
    action = state.action
    capability = run.ports.capabilities[action.capability]
    description = await called(
        capability, capability.describe(action.args), passing=(CheckreinError,)
    )
    if isinstance(description, Failed):
        error = description.told(capability, f"{capability.spec.name}.describe")
        await run.record(observations.failed(action, error, capability.spec.trust))
        return "done"
    ruling, events = await checked(run, position, state, description, description.resource_version)
    if events is None:
        return "changed"
    blobs = [ruling.input_text]
    cost = metering.of_call(position, capability.spec)
    try:
        # A read that a former owner had begun was perhaps made: it is booked.
        lost = metering.booked(position, action.turn)
        await run.record(*lost, cost.first(action.turn), look=False)
    except BudgetExceededError as error:
        return await out_of_calls(run, error, cost)
    await run.reach("before_read")
    try:
        found = await _read(run, action, capability, ruling.decision.constraints, cost)
    except WorkStopped:
        await run.record(cost.settled(action.turn, 1))
        raise
    except CapabilityError as error:
        result = observations.failed(action, error, capability.spec.trust)
    else:
        events += _accepted(capability, action, description.resource_version)
        limits = ruling.decision.constraints
        # A whole original would hold what is hidden in the part that is shown.
        original = None if limits.get(REDACT) else found.original
        if original is not None:
            blobs.append(original)
        result = observations.of_action(
            action,
            ObservationStatus.OK,
            result=redacted(found.result, limits),
            version=found.version,
            trust=found.trust or capability.spec.trust,
            original_ref=None if original is None else digest(original),
            private=True if capability.spec.private else None,
        )
    await run.reach("after_read")
    await run.record(*events, cost.settled(action.turn, 1), result, blobs=tuple(blobs))
    return "done"
