"""policy: every proposal of the turn is judged before anything of the turn runs."""

from checkrein.contracts import ids
from checkrein.contracts.action import Action, ActionStatus, Provenance
from checkrein.contracts.approval import Answer, ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.codec import digest_of, visible
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import Verdict
from checkrein.contracts.event import ActionProposed, AttemptEnded, Observed, Payload
from checkrein.contracts.proposal import ToolProposal
from checkrein.errors import CapabilityError, CheckreinError, EnvironmentFault
from checkrein.nodes import observations
from checkrein.nodes.authorize import authorize
from checkrein.nodes.calling import Failed, called
from checkrein.nodes.compensation import compensated
from checkrein.nodes.proposals import read_reply
from checkrein.nodes.requests import request
from checkrein.nodes.run import Run, Step
from checkrein.nodes.waiting import undecided
from checkrein.ports.capability import Description
from checkrein.ports.records import ActionState, Position, TurnState

SPENT = frozenset({ApprovalStatus.STALE, ApprovalStatus.USED, ApprovalStatus.REVOKED})
"""Requests that nobody can answer any more, and that say nothing against asking again."""

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
    await run.reach("after_decisions")
    return await _routed(run, turn)


async def _routed(run: Run, turn: TurnState) -> Step:
    position = await run.position()
    if undecided(position):
        return Step("ask", turn.turn)
    if any(not state.observed for state in position.actions):
        return Step("run", turn.turn)
    if position.denied_turns >= DENIED_TURNS:
        await run.record(
            AttemptEnded(
                status=AttemptStatus.POLICY_BLOCKED,
                detail=f"every action of the last {position.denied_turns} turns was refused",
            )
        )
        return Step("blocked", turn.turn)
    return Step("answered", turn.turn)


async def _first_look(run: Run, position: Position, turn: TurnState) -> None:
    """Judge the whole turn and store it in one transaction: actions, decisions, requests."""
    assert turn.raw_ref is not None
    reply = await run.stored_reply(turn.raw_ref)
    purpose = visible(read_reply(reply.raw).text)[:PURPOSE_LIMIT]
    proposed: list[Payload] = []
    judged: list[Payload] = []
    results: list[Payload] = [*observations.of_unusable(run.attempt_id, turn.turn, reply.proposals)]
    blobs: list[bytes] = []
    for proposal in reply.proposals:
        if not isinstance(proposal, ToolProposal):
            continue
        capability = run.ports.capabilities[proposal.capability]
        try:
            described = await called(
                capability, capability.describe(proposal.args), passing=(CheckreinError,)
            )
            if isinstance(described, Failed):
                raise described.told(capability, "policy.describe")
            undoes = await compensated(run, position, proposal)
            action = _action(run, position, turn, proposal, described, undoes)
        except CapabilityError as error:
            results.append(observations.unusable(run.attempt_id, turn.turn, proposal, error))
            continue
        ruling = await authorize(run, position, action, described, "propose")
        proposed.append(ActionProposed(action=action))
        judged.append(ruling.event)
        blobs.append(ruling.input_text)
        if ruling.decision.denies:
            results.append(observations.denied(action, ruling.decision))
        elif ruling.decision.decision is Verdict.REQUIRE_APPROVAL:
            asked = await request(
                run, action, ruling.decision, ruling.operation_hash, purpose=purpose
            )
            (results if isinstance(asked, Observed) else judged).append(asked)
    # Actions first: the turn closes when the last of its calls has its result.
    await run.record(*proposed, *judged, *results, blobs=tuple(blobs))


def _action(
    run: Run,
    position: Position,
    turn: TurnState,
    proposal: ToolProposal,
    description: Description,
    undoes: str | None,
) -> Action:
    capability = run.ports.capabilities[proposal.capability]
    action_id = ids.action_id(run.attempt_id, turn.turn, proposal.position)
    return Action(
        action_id=action_id,
        attempt_id=run.attempt_id,
        turn=turn.turn,
        position=proposal.position,
        call_id=visible(proposal.call_id),
        actor=position.attempt.model,
        type=capability.spec.type,
        args=proposal.args,
        args_hash=digest_of(proposal.args),
        resource=description.resource,
        side_effect_class=capability.spec.side_effect,
        # What undoes an effect is one act, however often it is proposed.
        idempotency_key=capability.idempotency_key(action_id, proposal.args)
        if undoes is None
        else f"compensate-{undoes}",
        compensates=undoes,
        provenance=Provenance(
            turn=turn.turn, context=turn.sent, lowest_trust=Trust(turn.lowest_trust)
        ),
    )


async def _second_look(run: Run, position: Position) -> None:
    """After a pause: turn what people said into results, and ask again what went stale."""
    events: list[Payload] = []
    for state in position.actions:
        if state.observed or state.effect is not None:
            continue  # done, or in the ledger: commit_effect asks ledger and target first
        event = await _looked_at_again(run, state)
        if event is not None:
            events.append(event)
    await run.record(*events)


async def _looked_at_again(run: Run, state: ActionState) -> Payload | None:
    action, approval = state.action, state.approval
    if approval is not None and approval.status is ApprovalStatus.REJECTED:
        reason = state.grant.reason if state.grant and state.grant.answer is Answer.REJECT else ""
        return observations.rejected(action, reason)
    if approval is not None and approval.status is ApprovalStatus.EXPIRED:
        return observations.rejected(action, "nobody answered in time")
    if state.decision is None or state.operation_hash is None:
        return None
    if action.status is ActionStatus.DENIED:
        return observations.denied(action, state.decision)
    answered = approval is None or approval.status in SPENT
    if action.status is not ActionStatus.WAITING_APPROVAL or not answered:
        return None
    return await request(
        run,
        action,
        state.decision,
        state.operation_hash,
        purpose="" if approval is None else approval.purpose,
        follows=approval,
    )
