"""Sending one effect: under its permit, within its time, again only where that does no harm."""

import asyncio
from typing import NamedTuple

from checkrein.contracts.action import Guarantee
from checkrein.contracts.budget import Budget
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.contracts.event import BudgetReserved, EffectRetried
from checkrein.errors import (
    BudgetExceededError,
    CapabilityError,
    ConflictError,
    LeaseLostError,
)
from checkrein.nodes.calling import Failed, called
from checkrein.nodes.lending import masked
from checkrein.nodes.limits import for_capability, time_limit_s
from checkrein.nodes.run import Run
from checkrein.nodes.stopping import WorkStopped
from checkrein.ports.capability import Capability, Permit, Prepared
from checkrein.ports.records import ActionState

REPEATABLE = frozenset({Guarantee.ATOMIC_KEY, Guarantee.COMPARE_AND_SET})
"""Where the same send under the same key does no harm, whatever became of the one before."""


class Sent(NamedTuple):
    """How the sending of one effect ended, and how many sends it took."""

    outcome: Outcome
    tries: int


class _Try(NamedTuple):
    """One send: what it came to, and whether the same may be sent once more."""

    outcome: Outcome
    repeatable: bool


async def send(
    run: Run,
    state: ActionState,
    capability: Capability,
    prepared: Prepared,
    permit: Permit,
    doubt: Outcome | None = None,
) -> Sent:
    """Send, and repeat by the declared policy; each repeat is durable before it leaves.

    `doubt`: an earlier send of this effect whose fate is not known. Once there is one, a later no
    says nothing about it, since targets check much before they look at the key: it stays in doubt.

    Repeated are errors that state to be without effect, and, where the guarantee makes it
    harmless, answers that got lost. A repeat needs a call of the budget, and ends with a cancel.

    Raises:
        LeaseLostError: another owner has taken over.
        WorkStopped: no repeat begins any more; what was sent stays EXECUTING.
    """
    policy = capability.spec.retry
    began = asyncio.get_running_loop().time()
    for n in range(1, policy.tries + 1):
        tried = await _tried(run, capability, prepared, permit)
        if tried.outcome.status is EffectStatus.UNKNOWN_EFFECT:
            doubt = tried.outcome
        elif doubt is not None and tried.outcome.status is not EffectStatus.COMMITTED:
            tried = tried._replace(outcome=doubt)
        pause = policy.pause(n)
        left = began + policy.window_s - asyncio.get_running_loop().time()
        if not tried.repeatable or n == policy.tries or pause > left:
            return Sent(tried.outcome, n)
        if run.stop.draining:
            raise WorkStopped  # it stays EXECUTING; whoever recovers asks its target
        await run.interruptible(asyncio.sleep(pause))
        if not await _scheduled(run, state, permit, tried.outcome, n + 1, pause):
            return Sent(tried.outcome, n)
        await run.reach("before_resend")
    raise AssertionError("a policy has at least one try")


async def _scheduled(
    run: Run, state: ActionState, permit: Permit, last: Outcome, n: int, pause: float
) -> bool:
    """Record that try `n` begins; False where it may not: no budget is left, or it is cancelled."""
    retried = EffectRetried(
        effect_id=permit.effect_id,
        action_id=state.action.action_id,
        fence=permit.fence,
        n=n,
        delay_s=round(pause, 3),
        error_type=last.error_type or str(last.status).lower(),
        message=last.message[:500],
    )
    one_more = BudgetReserved(turn=state.action.turn, amounts={Budget.TOOL_CALLS: 1})
    try:
        await run.record(one_more, retried, look=False)
    except BudgetExceededError:
        return False
    except ConflictError as error:
        if error.code != "cancelled":
            raise
        return False
    return True


async def _tried(run: Run, capability: Capability, prepared: Prepared, permit: Permit) -> _Try:
    """Send once, and mask what is said by a holder of secrets."""
    tried = await _answered(run, capability, prepared, permit)
    return tried._replace(outcome=masked(run, tried.outcome, permit.secrets))


async def _answered(run: Run, capability: Capability, prepared: Prepared, permit: Permit) -> _Try:
    """Send once. Only a definite answer is definite; every other end is UNKNOWN_EFFECT."""
    harmless = capability.spec.guarantee in REPEATABLE
    handed = permit.model_copy(update={"constraints": for_capability(permit.constraints)})
    said = await called(
        capability,
        capability.send(prepared, handed, run.lease.still_owner),
        within_s=time_limit_s(capability.spec, permit.constraints),
    )
    if not isinstance(said, Failed):
        return _Try(said, harmless and said.status is EffectStatus.UNKNOWN_EFFECT)
    if said.error is None:
        silence = Outcome(
            status=EffectStatus.UNKNOWN_EFFECT,
            error_type=said.kind,
            message="the call ended without an answer",
        )
        return _Try(silence, harmless)
    if said.kind == "not_owner":
        # A holder of secrets may have put one into its words, and a chain of errors is printed.
        raise _taken_over() from (None if permit.secrets else said.error)
    repeatable = said.error.retryable and (harmless or not said.error.effect_possible)
    return _Try(of_error(said.error), repeatable)


def of_error(error: CapabilityError) -> Outcome:
    """Nothing happened, unless the error says that something may have."""
    unclear = error.effect_possible
    return Outcome(
        status=EffectStatus.UNKNOWN_EFFECT if unclear else EffectStatus.REFUSED,
        error_type=error.code,
        message=error.advice or str(error),
    )


def _taken_over() -> LeaseLostError:
    return LeaseLostError(
        "Another owner took the attempt over while this one was about to write.",
        op="ledger.send",
    )
