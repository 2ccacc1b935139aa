"""Runs with many recorded decisions, written by the store's own append."""

from collections.abc import Sequence

from open_store import OpenStore

from checkrein.contracts import ids
from checkrein.contracts.action import Action, Provenance, operation_hash
from checkrein.contracts.codec import digest_of
from checkrein.contracts.context import Trust
from checkrein.contracts.decision import DecisionInput
from checkrein.contracts.event import ActionProposed, Payload, PolicyDecided
from checkrein.ports.policy import Policy
from checkrein.testing.conformance.story import asked, replied


async def decided_run(
    store: OpenStore, policy: Policy, documents: Sequence[DecisionInput]
) -> dict[str, str]:
    """One attempt whose first turn proposes an action for each document, judged by `policy`.

    Everything is stored in one append. Returns each decision's id by the action's resource.
    """
    attempt_id = await store.begun()
    fence = await store.fence(attempt_id)
    opening = [*asked(), *replied()]
    proposed: list[Payload] = []
    judged: list[Payload] = []
    blobs: list[bytes] = []
    for position, document in enumerate(documents):
        action = _action(attempt_id, position, document)
        decision = await policy.decide(document)
        blobs.append(policy.input_text(document))
        proposed.append(ActionProposed(action=action))
        judged.append(
            PolicyDecided(
                action_id=action.action_id,
                phase="propose",
                decision=decision,
                operation_hash=operation_hash(action, decision.constraints),
            )
        )
    await store.events.append(
        attempt_id, [*opening, *proposed, *judged], fence=fence, blobs=[b"{}", *blobs]
    )
    rows = await store.rows(
        "SELECT d.seq, x.resource FROM checkrein.decisions d "
        "JOIN checkrein.actions x USING (action_id) WHERE d.attempt_id = %s",
        attempt_id,
    )
    return {row["resource"]: f"{attempt_id}/{row['seq']}" for row in rows}


def _action(attempt_id: str, position: int, document: DecisionInput) -> Action:
    action_id = ids.action_id(attempt_id, 1, position)
    given = document.action
    return Action(
        action_id=action_id,
        attempt_id=attempt_id,
        turn=1,
        position=position,
        call_id=f"call_{position}",
        actor="scripted:none",
        type=given.type,
        args=given.args,
        args_hash=digest_of(given.args),
        resource=given.resource,
        side_effect_class=given.side_effect_class,
        idempotency_key=action_id,
        provenance=Provenance(turn=1, context="sha256:2", lowest_trust=Trust.USER),
    )
