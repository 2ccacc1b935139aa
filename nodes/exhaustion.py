"""Budgets that run out: what is told near the limit, and what is left undone at it."""

from checkrein.contracts.budget import Budget
from checkrein.contracts.check import kind_of
from checkrein.contracts.event import BudgetExhausted, BudgetWarning
from checkrein.contracts.proposal import ToolProposal
from checkrein.errors import BudgetExceededError, ConflictError
from checkrein.nodes.run import Run
from checkrein.nodes.waiting import undecided
from checkrein.ports.records import Position

CHECKED_AT_THE_TOP = (
    Budget.STEPS,
    Budget.WALL_TIME_S,
    Budget.MODEL_TOKENS,
    Budget.INPUT_TOKENS,
    Budget.OUTPUT_TOKENS,
    Budget.MONEY,
)
"""Budgets without which no turn begins."""

MOST_UNFINISHED = 50
"""Items of a list of what is unfinished; the last one then says how many more there are."""


async def warned(run: Run, position: Position) -> None:
    """Record, once until it is raised, each budget of which little is left."""
    for near in position.near:
        if near.warned:
            continue
        told = near.model_dump(exclude={"warned"})
        try:
            await run.record(BudgetWarning.model_validate(told))
        except ConflictError as error:
            if error.code != "illegal_transition":
                raise  # another attempt that shares the budget was faster


def short(position: Position) -> tuple[Budget, int] | None:
    """The first budget that is used up at the top of a turn, and what would be needed of it."""
    for budget in CHECKED_AT_THE_TOP:
        line = position.budgets.get(budget)
        # What a lost call still holds is settled by the next one.
        if line is not None and line.left + position.held.get(budget, 0) < 1:
            return budget, 1
    return None


async def exhausted(run: Run, budget: Budget, needed: int) -> None:
    """Record that so much does not fit, with what is unfinished."""
    run.seen = None
    position = await run.position()
    line = position.budgets[budget]
    await run.record(
        BudgetExhausted(
            budget=budget,
            limit=line.limit,
            left=line.left,
            needed=max(needed, 1),
            pool=line.pool or run.attempt_id,
            unfinished=await unfinished(run, position),
        )
    )


async def refused(run: Run, error: BudgetExceededError, needed: dict[Budget, int]) -> None:
    """Record a reservation that the store refused, by the budget that it named."""
    budget = Budget(str(error.context["detail"]))
    await exhausted(run, budget, needed.get(budget, 1))


async def unfinished(run: Run, position: Position) -> list[str]:
    """What is still to be done: calls and requests of the open turn, and checks that did not pass.

    Never empty: the contract has a check, and an attempt whose checks have passed has ended.
    """
    asked = {state.action.action_id for state in undecided(position)}
    found = [
        f"{state.action.capability} of {state.action.resource}"
        + (" waits for a person's answer" if state.action.action_id in asked else " is not done")
        for state in position.actions
        if not state.observed
    ]
    found += await _unjudged(run, position)
    found += _unproven(run, position)
    kept = [text[:200] for text in found[:MOST_UNFINISHED]]
    if len(found) > MOST_UNFINISHED:
        kept[-1] = f"and {len(found) - MOST_UNFINISHED + 1} more"
    return kept


async def _unjudged(run: Run, position: Position) -> list[str]:
    """Calls of an open turn that the policy has not judged yet."""
    turn = position.turn
    if turn is None or turn.raw_ref is None or turn.status != "RESPONDED" or position.actions:
        return []
    reply = await run.stored_reply(turn.raw_ref)
    return [
        f"{proposal.capability} is not judged"
        for proposal in reply.proposals
        if isinstance(proposal, ToolProposal)
    ]


def _unproven(run: Run, position: Position) -> list[str]:
    """Checks that have not passed: those that failed, or all where nothing was handed in yet."""
    if position.verification is not None:
        bad = [check for check in position.verification.checks if check.status != "PASS"]
        if bad:
            return [f"{check.name} did not pass: {check.gap}" for check in bad]
    kinds = [kind_of(check) for check in run.contract.success]
    return [f"check {place} ({kind}) has not passed" for place, kind in enumerate(kinds, start=1)]
