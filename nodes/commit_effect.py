"""commit_effect: the one place where anything outside changes. It believes only the database."""

from checkrein.contracts.action import ActionStatus, SideEffect
from checkrein.errors import EnvironmentFault
from checkrein.nodes.ledger import OPEN, perform_write
from checkrein.nodes.perform import perform_read
from checkrein.nodes.run import Run, Step
from checkrein.ports.records import ActionState, Position


async def commit_effect(run: Run) -> Step:
    """Run the turn's actions in order; stop at the first that must wait, or went stale."""
    position = await run.position()
    turn = 0 if position.turn is None else position.turn.turn
    for state in position.actions:
        if state.observed:
            continue
        try:
            outcome = await _performed(run, position, state)
        except EnvironmentFault as error:
            if state.effect is not None and state.effect.status in OPEN:
                raise  # what was sent stays open; recovery asks its target again
            return await run.broken(error)
        if outcome != "done":
            return Step(outcome, turn)
        await run.reach("between_actions")
    return Step("ran", turn)


async def _performed(run: Run, position: Position, state: ActionState) -> str:
    if position.cancel_reason is not None and state.effect is None:
        return "ran"  # the top of the next turn ends it
    if state.effect is None and state.action.status is ActionStatus.DENIED:
        return "changed"  # policy turns it into a result
    if state.action.side_effect_class is SideEffect.READ:
        return await perform_read(run, position, state)
    return await perform_write(run, position, state)
