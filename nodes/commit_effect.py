"""commit_effect: the one place where anything outside changes. It believes only the database."""

from checkrein.contracts.action import ActionStatus, SideEffect
from checkrein.errors import EnvironmentFault
from checkrein.nodes.guests import may_run
from checkrein.nodes.ledger import perform_write
from checkrein.nodes.perform import perform_read
from checkrein.nodes.run import Run, Step
from checkrein.nodes.settling import is_open
from checkrein.nodes.stopping import WorkStopped
from checkrein.ports.records import ActionState, Position

_SETTLED = frozenset({ActionStatus.DENIED, ActionStatus.SUPERSEDED})
"""A person or the policy has spoken: what comes of it is for the node `policy` to record."""


async def commit_effect(run: Run) -> Step:
    """Run the turn's actions in order; stop at the first that went stale.

    An action that is not settled holds back all after it but those declared independent. What a
    loop that is not ours has not come to run yet is left.
    """
    position = await run.position()
    turn = 0 if position.turn is None else position.turn.turn
    held_back = left = False
    for state in position.actions:
        if state.observed or (held_back and not _independent(run, state)):
            continue
        if not may_run(run, state):
            left = True
            continue
        if run.stop.asked:
            return Step("ran", turn)  # the top of the turn says what to do about it
        try:
            outcome = await _performed(run, await run.position(), state)
        except EnvironmentFault as error:
            if is_open(state):
                raise  # what was sent stays open; recovery asks its target again
            return await run.broken(error)
        except WorkStopped:
            return Step("ran", turn)
        if outcome == "suspend":
            held_back = True
        elif outcome != "done":
            return Step(outcome, turn)
        await run.reach("between_actions")
    if held_back:
        return Step("suspend", turn)
    if left:
        return Step("held", turn)
    return Step("ran", turn)


def _independent(run: Run, state: ActionState) -> bool:
    capability = run.ports.capabilities.get(state.action.capability)
    return capability is not None and capability.spec.independent


async def _performed(run: Run, position: Position, state: ActionState) -> str:
    if position.cancel_reason is not None and not is_open(state):
        return "ran"  # the top of the next turn ends it
    if state.effect is None and state.action.status in _SETTLED:
        return "changed"  # policy turns it into a result
    if state.action.side_effect_class is SideEffect.READ:
        return await perform_read(run, position, state)
    return await perform_write(run, position, state)
