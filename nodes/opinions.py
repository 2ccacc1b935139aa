"""A model's opinion as a check: reserved before it is asked for, booked after, and asked for once.

The same state is not judged twice by the same check, whatever brings the attempt back to its gate:
a judge costs money, and one that is asked until it agrees proves nothing.
"""

from checkrein.contracts.budget import Budget
from checkrein.contracts.check import Check, kind_of
from checkrein.contracts.event import BudgetReserved, BudgetSettled, JudgeAnswered, Payload
from checkrein.contracts.proposal import Usage
from checkrein.contracts.verification import CheckResult, CheckStatus, check_id
from checkrein.errors import BudgetExceededError, EnvironmentFault
from checkrein.nodes import exhaustion, metering
from checkrein.nodes.lending import judged_with_secrets
from checkrein.nodes.run import Run
from checkrein.nodes.stopping import WorkStopped
from checkrein.ports.verifier import Bill, Examination, PaidVerifier, Verifier


class OutOfBudget(Exception):  # noqa: N818 - a control signal, no error
    """A judge's call does not fit, which is on record; the gate waits."""


async def known(run: Run, sealed: str, check: Check) -> CheckResult | None:
    """What a judge said already of this very state."""
    answers = await run.lease.records.opinions(run.attempt_id, sealed)
    return answers.get(check_id(check))


async def opinion(
    run: Run,
    turn: int,
    check: Check,
    verifier: Verifier,
    examination: Examination,
) -> CheckResult:
    """Run a check that may ask a model, within the budgets.

    Raises:
        OutOfBudget: the worst case does not fit; nobody was asked.
        EnvironmentFault: the machine lacks what the check needs.
        WorkStopped: it was broken off.
    """
    bill = None
    if isinstance(verifier, PaidVerifier):
        bill = await run.interruptible(verifier.bill(check, examination))
    if bill is None:
        return await judged_with_secrets(run, turn, check, verifier, examination)
    held = await _reserved(run, turn, bill)
    await run.reach("before_judge")
    try:
        result = await judged_with_secrets(run, turn, check, verifier, examination)
    except (WorkStopped, EnvironmentFault):
        # It may have been paid: settled at the worst case, never at zero.
        await run.record(BudgetSettled(turn=turn, released=held, spent=held))
        raise
    await run.reach("after_judge")
    result = result.model_copy(update=named(check) | {"check_id": check_id(check)})
    spent = await _spent(run, bill, held, result)
    told: list[Payload] = [BudgetSettled(turn=turn, released=held, spent=spent)]
    if result.status is not CheckStatus.ERROR:
        told.append(
            JudgeAnswered(
                turn=turn,
                check_id=check_id(check),
                state_digest=examination.state_digest,
                result=result,
            )
        )
    await run.record(*told)
    return result


def named(check: Check) -> dict[str, object]:
    """What a check is called and proves, which is not its verifier's to say."""
    return {"kind": kind_of(check), "strength": check.strength}


async def _reserved(run: Run, turn: int, bill: Bill) -> dict[Budget, int]:
    position = await run.position()
    held = metering.of_advice(run.contract, position, bill.model, bill.most)
    # A call of a process that died may have been paid.
    lost = metering.lost(turn, position.held)
    try:
        await run.record(*lost, BudgetReserved(turn=turn, amounts=held))
    except BudgetExceededError as error:
        await exhaustion.refused(run, error, held)
        raise OutOfBudget from error
    return held


async def _spent(
    run: Run, bill: Bill, held: dict[Budget, int], result: CheckResult
) -> dict[Budget, int]:
    """What the call came to; the worst case where nobody knows."""
    tokens = [result.measured.get(name) for name in ("input_tokens", "output_tokens")]
    if tokens[0] is None or tokens[1] is None:
        return held
    used = Usage(input_tokens=tokens[0], output_tokens=tokens[1])
    return metering.of_advice(run.contract, await run.position(), bill.model, used)
