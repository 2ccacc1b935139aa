"""Rules about what is said of a lack of progress, and of tools that failed for good."""

from collections.abc import Iterator

from checkrein.contracts import event as e
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.observation import ObservationStatus
from checkrein.contracts.progress import LADDER, Rung
from checkrein.graph.ending_rules import Facts, Problem


def notices(facts: Facts) -> Iterator[Problem]:
    """A notice names turns and calls that there were, and rungs are climbed in their order."""
    told: dict[str, int] = {}
    answered: set[int] = set()
    last: e.NoProgressNoticed | None = None
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.ModelResponded):
            answered.add(p.turn)
        elif isinstance(p, e.Observed):
            told[p.observation.action_id] = p.observation.turn
        elif isinstance(p, e.UserAnswered):
            last = None
        elif isinstance(p, e.NoProgressNoticed):
            if not p.evidence or not set(p.evidence) <= answered or max(p.evidence) >= p.turn:
                yield fact.seq, "a notice of no progress names turns that there were not"
            if any(told.get(action_id) not in p.evidence for action_id in p.action_ids):
                yield fact.seq, "a notice of no progress names calls that there were not"
            later = last is None or LADDER.index(p.rung) > LADDER.index(last.rung)
            if last is not None and not later and p.rung is not Rung.REPLAN:
                yield fact.seq, f"the rung {p.rung} follows {last.rung}"
            last = p


def failures(facts: Facts) -> Iterator[Problem]:
    """What ends as FAILED names the error of a call that came to it."""
    errors: set[str] = set()
    for fact in facts:
        p = fact.payload
        if isinstance(p, e.Observed) and p.observation.status is ObservationStatus.FAILED:
            why = p.observation.diagnostics
            errors |= {why.error_type} if why is not None else set()
        elif isinstance(p, e.AttemptEnded) and p.status is AttemptStatus.FAILED:
            named = p.error_type in errors
            yield from () if named else [(fact.seq, "it ends as failed by an error of no call")]
