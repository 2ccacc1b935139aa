"""The ladder for a run that goes in circles: re-plan, shrink, switch, review, and then a person."""

from typing import NamedTuple

from checkrein.contracts.progress import LADDER, ProgressRules, Rung, Signal, Skipped
from checkrein.nodes.no_progress import Found
from checkrein.ports.records import Noticed

ADVICE = {
    Rung.REPLAN: "Do not do the same once more. Say in one sentence what those turns have shown, "
    "then make another plan that follows from it.",
    Rung.SHRINK: "Take the smallest part of the goal that can be done and checked by itself, and "
    "do only that.",
    Rung.SWITCH: "Reach the goal another way, by other tools.",
    Rung.REVIEW: "Read what the reviewer says, and act on it or say why not.",
}
"""What the model is asked on each rung but the last, which asks a person."""

_SEEN = {
    Signal.REPEATED_CALL: "the same call was made with near-same arguments and came to the same",
    Signal.CYCLE: "the same few calls were made over and over",
    Signal.REPEATED_ERROR: "the same error came again and again",
    Signal.UNCHANGED_PLAN: "the model said the same and nothing came of it",
    Signal.NO_NEW_FACT: "nothing was found that was not known, and nothing was changed",
}


class Climb(NamedTuple):
    """The rung that is climbed now, and those that were passed over."""

    rung: Rung
    skipped: list[Skipped]


def climbed(
    last: Noticed | None, turn: int, steps: int, rules: ProgressRules, *, reviewer: bool
) -> Climb | None:
    """The next rung, or None while the last one still has its turns.

    Args:
        turn: the coming turn.
        steps: the turns that may still be taken, this one included. Each rung takes at least one,
            and one is left when a person is asked: so the person is reached before the budget ends.
    """
    goes_on = last is not None and not last.answered and turn - last.turn <= rules.calm
    if last is not None and last.turn >= turn:
        return None  # said already: this turn is being prepared once more
    start = LADDER.index(last.rung) + 1 if goes_on and last is not None else 0
    waits = goes_on and last is not None and turn - last.turn < rules.patience
    skipped: list[Skipped] = []
    for rung in LADDER[start:-1]:
        if rung is Rung.REVIEW and not reviewer:
            skipped.append(Skipped(rung=rung, why="the task names no reviewer"))
        elif steps <= 1:
            skipped.append(Skipped(rung=rung, why="no turn is left for it"))
        elif waits and steps - 1 > _rungs_left(rung, reviewer):
            return None
        else:
            return Climb(rung, skipped)
    if waits and steps > 1:
        return None
    return Climb(Rung.PERSON, skipped)


def _rungs_left(first: Rung, reviewer: bool) -> int:
    """How many rungs there are from one on, before the person."""
    left = LADDER[LADDER.index(first) : -1]
    return sum(rung is not Rung.REVIEW or reviewer for rung in left)


def withheld(found: Found, offered: list[str]) -> list[str]:
    """What is not offered for a while: what was repeated, unless nothing else would be left."""
    repeated = {call.tool for call in found.calls}
    if not any(name not in repeated for name in offered):
        return []
    return [name for name in offered if name in repeated]


def question(found: Found, skipped: list[Skipped]) -> str:
    """What the person is asked, with the evidence named."""
    turns = ", ".join(map(str, found.turns))
    tools = ", ".join(dict.fromkeys(call.tool for call in found.calls))
    passed = "; ".join(f"{item.rung.value} was left out, since {item.why}" for item in skipped)
    return (
        f"There is no progress: in turns {turns} {_SEEN[found.signal]}"
        + (f" ({tools})" if tools else "")
        + (f". Of the means before this question {passed}" if passed else "")
        + ". How should it go on?"
    )
