"""Judging a cell: what was found, held against what is promised."""

from dataclasses import dataclass

from checkrein.evals.crash_ground import ANY, Ground
from checkrein.evals.crash_matrix import Cell
from checkrein.evals.crash_process import Facts

_STOPPED = ("RECONCILE_REQUIRED", "CANCELLING")
_UNSPENT = {"GRANTED", "USED"}


@dataclass(frozen=True)
class Verdict:
    """One cell's end.

    Attributes:
        way: the status on the way that a person had to end, if there was one.
        effects: how many the target counted; None: it does not count.
        problems: everything that is not as promised.
    """

    cell: ANY
    status: str
    way: str
    effects: int | None
    problems: tuple[str, ...]
    seconds: float

    @property
    def right(self) -> bool:
        """Whether all is as promised."""
        return not self.problems

    @property
    def statuses(self) -> str:
        """The status on the way and in the end."""
        return f"{self.way} > {self.status}" if self.way else self.status


async def judged(ground: Ground, facts: Facts, seconds: float) -> Verdict:
    """The verdict on one cell, once all its processes have ended."""
    cell = ground.cell
    effects = await ground.effects()
    problems = [*ground.died]
    if facts.status:
        problems += _of_end(cell, facts, ground.seen)
        problems += _of_effects(cell, facts, effects)
        problems += _of_records(cell, facts, asked=ground.arena.claims)
        problems += _of_model(cell, facts, ground.model_calls())
    way = next((status for status in ground.seen if status in _STOPPED), "")
    return Verdict(cell, facts.status or "-", way, effects, tuple(problems), seconds)


def _of_end(cell: ANY, facts: Facts, seen: list[str]) -> list[str]:
    wanted = cell.expected
    found: list[str] = []
    if facts.status != wanted.final:
        why = f" ({facts.error} {facts.detail})".rstrip() if facts.error or facts.detail else ""
        found.append(f"it ended {facts.status}, not {wanted.final}{why}")
    elif facts.error:
        found.append(f"it ended with the error {facts.error}: {facts.detail}")
    if wanted.way is not None and wanted.way not in seen:
        found.append(f"it was never {wanted.way}")
    # After a fault it may be that going on is enough, once what was gone is back.
    if wanted.way is None and isinstance(cell, Cell) and set(_STOPPED) & set(seen):
        found.append(f"it needed a person: {', '.join(seen)}")
    if facts.kinds.get("attempt_ended", 0) != 1:
        found.append(f"{facts.kinds.get('attempt_ended', 0)} attempt_ended")
    return found


def _of_effects(cell: ANY, facts: Facts, effects: int | None) -> list[str]:
    wanted = cell.expected
    found: list[str] = []
    if effects is not None and effects != wanted.effects:
        found.append(f"{effects} effects at the target, not {wanted.effects}")
    if facts.ledger != wanted.ledger:
        found.append(f"the ledger holds {facts.ledger}, not {wanted.ledger}")
    if facts.by_hand != int(wanted.by_hand):
        found.append(f"{facts.by_hand} effects settled by hand, not {int(wanted.by_hand)}")
    said = facts.kinds.get("action_deduplicated", 0)
    if said != int(wanted.deduplicated):
        found.append(f"action_deduplicated {said} times, not {int(wanted.deduplicated)}")
    receipts = facts.kinds.get("effect_committed", 0) + facts.kinds.get("effect_reconciled", 0)
    if receipts != len(wanted.ledger):
        found.append(f"{receipts} receipts")
    return found


def _of_records(cell: ANY, facts: Facts, *, asked: bool) -> list[str]:
    found = [f"the trace: {problem}" for problem in facts.broken]
    held = {name: amount for name, amount in facts.reserved.items() if amount}
    if held:
        found.append(f"budgets still reserved: {held}")
    if len(facts.observed) != len(set(facts.observed)):
        found.append("a call was observed twice")
    if not cell.boundary.cancels and len(facts.observed) != 2:
        found.append(f"{len(facts.observed)} of 2 calls observed")
    wanted = ["USED"] if asked and cell.expected.ledger else []
    spent = [status for status in facts.approvals if status in _UNSPENT]
    if len(facts.approvals) != int(asked) or spent != wanted:
        found.append(f"approvals {facts.approvals}, spent should be {wanted}")
    if facts.kinds.get("approval_decided", 0) > 1:
        found.append("it was approved twice")
    return found


def _of_model(cell: ANY, facts: Facts, calls: list[str]) -> list[str]:
    """Every kill comes after an output was stored, so that none is paid twice."""
    wanted = ["turn 1"] if cell.boundary.cancels else ["turn 1", "turn 2"]
    found = [] if calls == wanted else [f"the model was called for {calls}, not {wanted}"]
    if facts.steps != len(wanted):
        found.append(f"{facts.steps} steps spent, not {len(wanted)}")
    return found
