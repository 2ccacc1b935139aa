"""The three finishes as three facts: the model stopped, the verifier accepted, a person signed."""

from collections.abc import Iterable

from checkrein.contracts import event as e
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.evidence import Acceptance, Finishes
from checkrein.graph.rebuilt import Rebuilt
from checkrein.ports.records import Milestone


def finishes_of(rebuilt: Rebuilt) -> Finishes:
    """As a whole trace tells them."""
    return Finishes(
        protocol_final=rebuilt.protocol_final,
        task_accepted=rebuilt.task_accepted,
        user_accepted=rebuilt.accepted,
    )


def finishes_told(milestones: Iterable[Milestone]) -> Finishes:
    """As the few events tell them that reach a finish or take one back."""
    final = accepted = None
    people: list[Acceptance] = []
    for fact in milestones:
        p = fact.payload
        if isinstance(p, e.CandidateSealed):
            final = fact.at
        elif isinstance(p, e.VerificationFinished) and p.repair:
            final = None
        elif isinstance(p, e.AttemptEnded) and p.status is AttemptStatus.CANDIDATE_VERIFIED:
            accepted = fact.at
        elif isinstance(p, e.UserAccepted):
            said = p.model_dump(exclude={"v", "type"})
            people.append(Acceptance.model_validate({**said, "at": fact.at}))
    return Finishes(protocol_final=final, task_accepted=accepted, user_accepted=people)
