"""policy: every proposal of the turn is judged before anything of the turn runs."""

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.codec import visible
from checkrein.contracts.context import Trust
from checkrein.contracts.event import AttemptEnded, Payload
from checkrein.contracts.proposal import ToolProposal
from checkrein.errors import BudgetExceededError, CapabilityError, EnvironmentFault
from checkrein.nodes import exhaustion, observations
from checkrein.nodes.answered import taken_up
from checkrein.nodes.judging import Judged, Origin, judge
from checkrein.nodes.proposals import read_reply
from checkrein.nodes.run import Run, Step
from checkrein.nodes.waiting import undecided
from checkrein.ports.records import Position, TurnState

PURPOSE_LIMIT = 2_000
"""Characters of the model's own words that a request shows."""

DENIED_TURNS = 3
"""After so many turns in a row of nothing but denials the attempt ends POLICY_BLOCKED."""


async def policy(run: Run) -> Step:
    """Record what is proposed and decided; then say whether to ask, to run, or to go on."""
    position = await run.position()
    turn = position.turn
    if turn is None or turn.status == "CLOSED" or turn.raw_ref is None:
        return Step("answered")
    try:
        if not position.actions and not position.observed:
            await run.reach("before_decisions")
            await _first_look(run, position, turn)
        else:
            await _second_look(run, position)
    except EnvironmentFault as error:
        return await run.broken(error)
    except BudgetExceededError as error:  # no more requests may be outstanding
        await exhaustion.refused(run, error, {})
        return Step("suspend", turn.turn)
    await run.reach("after_decisions")
    return await _routed(run, turn)


async def _routed(run: Run, turn: TurnState) -> Step:
    position = await run.position()
    if undecided(position):
        return Step("ask", turn.turn)
    if any(not state.observed for state in position.actions):
        return Step("run", turn.turn)
    # A commit has one thing to do; without it there is nothing else to try.
    most = DENIED_TURNS if position.attempt.commit is None else 1
    if position.denied_turns >= most:
        await run.record(
            AttemptEnded(
                status=AttemptStatus.POLICY_BLOCKED,
                detail=f"every action of the last {position.denied_turns} turns was refused"
                if most > 1
                else "the final commit was refused",
                error_type=_why(position),
            )
        )
        return Step("blocked", turn.turn)
    return Step("answered", turn.turn)


def _why(position: Position) -> str:
    """The reason's code of the last denial; a person's no has none."""
    last = position.actions[-1]
    denied = last.decision is not None and last.decision.denies
    return last.decision.reason_code if denied and last.decision else "rejected_by_person"


async def _first_look(run: Run, position: Position, turn: TurnState) -> None:
    """Judge the whole turn and store it in one transaction: actions, decisions, requests."""
    assert turn.raw_ref is not None
    reply = await run.stored_reply(turn.raw_ref)
    purpose = visible(read_reply(reply.raw).text)[:PURPOSE_LIMIT]
    origin = Origin(turn.turn, turn.sent, Trust(turn.lowest_trust), purpose)
    judged: list[Judged] = []
    results: list[Payload] = [*observations.of_unusable(run.attempt_id, turn.turn, reply.proposals)]
    for proposal in reply.proposals:
        if not isinstance(proposal, ToolProposal):
            continue
        try:
            found = await judge(run, position, proposal, origin)
        except CapabilityError as error:
            results.append(observations.unusable(run.attempt_id, turn.turn, proposal, error))
            continue
        judged.append(found)
        results += [found.result] if found.result else []
    # Actions first: the turn closes when the last of its calls has its result.
    await run.record(
        *(one.proposed for one in judged),
        *(event for one in judged for event in one.judged),
        *results,
        blobs=tuple(one.blob for one in judged),
    )


async def _second_look(run: Run, position: Position) -> None:
    """After a pause: turn what people said into results, and ask again what went stale."""
    for state in position.actions:
        if state.observed or state.effect is not None:
            continue  # done, or in the ledger: commit_effect asks ledger and target first
        await taken_up(run, position, state)
