"""Going in circles, by five signals. Pure functions over closed turns; nothing is remembered.

Each signal looks at the newest turns: as soon as one of them brings something new, it is silent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from checkrein.contracts.progress import ProgressRules, Signal
from checkrein.nodes.turn_facts import CallFacts, TurnFacts, alike

_LONGEST_PERIOD = 4


@dataclass(frozen=True)
class Found:
    """One signal with its evidence: the turns, oldest first, and the calls in them."""

    signal: Signal
    turns: list[int]
    calls: list[CallFacts]


@dataclass(frozen=True)
class Seen:
    """The turns that count, with what each of them brought.

    Attributes:
        turns: since a person spoke last.
        fresh: whether a turn's result was not known before, at each place.
        working: turns that did more than wait, with their freshness.
        polling: tools that wait for something.
    """

    turns: list[TurnFacts]
    fresh: list[bool]
    working: list[tuple[TurnFacts, bool]]
    polling: frozenset[str]

    @property
    def at_work(self) -> bool:
        """Whether the newest turn did more than wait."""
        return bool(self.working) and self.working[-1][0] is self.turns[-1]


def noticed(history: Sequence[TurnFacts], rules: ProgressRules) -> Found | None:
    """The first signal that shows in the newest turns, or None while there is progress."""
    seen = _seen(history, frozenset(rules.polling))
    if not seen.turns:
        return None
    return next((found for look in _SIGNALS if (found := look(seen, rules)) is not None), None)


def _seen(history: Sequence[TurnFacts], polling: frozenset[str]) -> Seen:
    spoken = max((n for n, turn in enumerate(history, start=1) if turn.answered), default=0)
    turns = list(history[spoken:])
    known: set[str] = set()
    for turn in history[:spoken]:
        known |= turn.outcomes
    fresh: list[bool] = []
    for turn in turns:
        fresh.append(not turn.outcomes <= known)
        known |= turn.outcomes
    working = [
        (turn, new)
        for turn, new in zip(turns, fresh, strict=True)
        if not turn.calls or any(call.tool not in polling for call in turn.calls)
    ]
    return Seen(turns, fresh, working, polling)


def _repeated_call(seen: Seen, rules: ProgressRules) -> Found | None:
    """The same tool, turn after turn, with near-same arguments and the same outcome."""
    for call in seen.turns[-1].calls:
        need = rules.polls if call.tool in seen.polling else rules.repeats
        again: list[tuple[int, CallFacts]] = [(seen.turns[-1].turn, call)]
        for turn, newer in zip(seen.turns[-2::-1], seen.fresh[:0:-1], strict=True):
            # What something new came of is no repeat, and a change is reason to look again.
            same = next((old for old in turn.calls if call.repeats(old)), None)
            if newer or same is None or len(again) == need:
                break
            again.append((turn.turn, same))
        if len(again) >= need:
            again.reverse()
            return Found(Signal.REPEATED_CALL, [n for n, _ in again], [c for _, c in again])
    return None


def _cycle(seen: Seen, rules: ProgressRules) -> Found | None:
    """Two to four turns gone through again and again, and nothing new after the first round."""
    if not seen.at_work:
        return None
    acting = [(turn, new) for turn, new in seen.working if turn.calls]
    for period in range(2, _LONGEST_PERIOD + 1):
        tail = acting[-period * rules.cycles :]
        if len(tail) < period * rules.cycles or any(new for _, new in tail[period:]):
            continue
        rounds = [turn.signature for turn, _ in tail]
        goes_round = all(rounds[n] == rounds[n - period] for n in range(period, len(rounds)))
        if goes_round and len(set(rounds[:period])) > 1:
            return _of_turns(Signal.CYCLE, [turn for turn, _ in tail])
    return None


def _repeated_error(seen: Seen, rules: ProgressRules) -> Found | None:
    """The same error of the same tool, whatever the arguments, with nothing new in between."""
    if not seen.at_work:
        return None
    for call in seen.turns[-1].calls:
        if call.error is None or call.tool in seen.polling:
            continue
        again: list[tuple[int, CallFacts]] = []
        for turn, new in reversed(seen.working):
            same = next(
                (c for c in turn.calls if (c.tool, c.error) == (call.tool, call.error)), None
            )
            if same is not None:
                again.insert(0, (turn.turn, same))
            if len(again) == rules.errors:
                return Found(Signal.REPEATED_ERROR, [n for n, _ in again], [c for _, c in again])
            if new:
                break
    return None


def _unchanged_plan(seen: Seen, rules: ProgressRules) -> Found | None:
    """The model says the same, turn after turn, and nothing new comes of it."""
    tail = seen.working[-rules.plan :]
    if not seen.at_work or len(tail) < rules.plan or any(new for _, new in tail):
        return None
    plan = tail[-1][0].plan
    if not plan or not all(alike(plan, turn.plan) for turn, _ in tail):
        return None
    return _of_turns(Signal.UNCHANGED_PLAN, [turn for turn, _ in tail])


def _no_new_fact(seen: Seen, rules: ProgressRules) -> Found | None:
    """Nothing is found that was not known already, and nothing is changed."""
    tail = seen.working[-rules.facts :]
    if not seen.at_work or len(tail) < rules.facts or any(new for _, new in tail):
        return None
    return _of_turns(Signal.NO_NEW_FACT, [turn for turn, _ in tail])


def _of_turns(signal: Signal, turns: list[TurnFacts]) -> Found:
    return Found(signal, [t.turn for t in turns], [call for t in turns for call in t.calls])


_SIGNALS: tuple[Callable[[Seen, ProgressRules], Found | None], ...] = (
    _repeated_call,
    _cycle,
    _repeated_error,
    _unchanged_plan,
    _no_new_fact,
)
"""From the most telling to the broadest."""
