"""Judging one action: what the policy says of it, and what follows from that."""

from typing import NamedTuple

from checkrein.contracts import ids
from checkrein.contracts.action import Action, Provenance
from checkrein.contracts.codec import digest_of, visible
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import Verdict
from checkrein.contracts.event import ActionProposed, Observed, Payload
from checkrein.contracts.proposal import ToolProposal
from checkrein.errors import CheckreinError
from checkrein.nodes import observations
from checkrein.nodes.authorize import authorize
from checkrein.nodes.calling import Failed, called
from checkrein.nodes.compensation import compensated
from checkrein.nodes.offering import alternatives, proposer
from checkrein.nodes.requests import request
from checkrein.nodes.run import Run
from checkrein.ports.capability import Description
from checkrein.ports.records import Position


class Judged(NamedTuple):
    """Events about one action, by the order in which those of a whole turn are stored."""

    proposed: Payload
    judged: list[Payload]
    result: Observed | None
    blob: bytes

    def events(self) -> list[Payload]:
        """All of them, for an action that is stored alone."""
        return [self.proposed, *self.judged, *([self.result] if self.result else [])]


class Origin(NamedTuple):
    """Where an action comes from.

    Attributes:
        purpose: the model's own words about it.
        revision, edited_by: set where a person changed the arguments.
    """

    turn: int
    context: str
    lowest_trust: Trust
    purpose: str
    revision: int = 0
    edited_by: str | None = None


async def judge(run: Run, position: Position, proposal: ToolProposal, origin: Origin) -> Judged:
    """Make an action of a proposal, and ask the policy about it.

    Raises:
        CapabilityError: the capability cannot name what the proposal is about.
    """
    capability = run.ports.capabilities[proposal.capability]
    described = await called(
        capability, capability.describe(proposal.args), passing=(CheckreinError,)
    )
    if isinstance(described, Failed):
        raise described.told(capability, "policy.describe")
    undoes = await compensated(run, position, proposal)
    action = _action(run, position, proposal, origin, described, undoes)
    ruling = await authorize(run, position, action, described, "propose")
    judged: list[Payload] = [ruling.event]
    result: Observed | None = None
    if ruling.decision.denies:
        result = observations.denied(
            action, ruling.decision, alternatives(run, position, action.capability)
        )
    elif ruling.decision.decision is Verdict.REQUIRE_APPROVAL and not ruling.decision.covered_by:
        asked = await request(
            run, action, ruling.decision, ruling.operation_hash, purpose=origin.purpose
        )
        if isinstance(asked, Observed):
            result = asked
        else:
            judged.append(asked)
    return Judged(ActionProposed(action=action), judged, result, ruling.input_text)


def _action(
    run: Run,
    position: Position,
    proposal: ToolProposal,
    origin: Origin,
    description: Description,
    undoes: str | None,
) -> Action:
    capability = run.ports.capabilities[proposal.capability]
    action_id = ids.action_id(run.attempt_id, origin.turn, proposal.position, origin.revision)
    return Action(
        action_id=action_id,
        attempt_id=run.attempt_id,
        turn=origin.turn,
        position=proposal.position,
        revision=origin.revision,
        call_id=visible(proposal.call_id),
        actor=proposer(position),
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
        edited_by=origin.edited_by,
        provenance=Provenance(
            turn=origin.turn, context=origin.context, lowest_trust=origin.lowest_trust
        ),
    )
