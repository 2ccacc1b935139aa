"""What a closed turn amounts to, as far as it tells work from going in circles. Pure.

Everything is made of the records alone, so that whoever recovers finds the same.
"""

import json
import posixpath
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from checkrein.contracts.codec import digest
from checkrein.contracts.observation import Observation, ObservationStatus
from checkrein.contracts.proposal import RawReply
from checkrein.ports.capability import PLAN
from checkrein.ports.records import TurnRecord

NEAR = 0.9
"""From this share of common words on two texts are near the same (see `alike`)."""

_BAD = frozenset({ObservationStatus.FAILED, ObservationStatus.UNKNOWN, ObservationStatus.INVALID})
_MAX_CHARS = 20_000
_WORD = re.compile(r"[\w./-]+|[^\w\s]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# What differs between two runs of one command although nothing else does.
_PASSING = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b\d+(?:\.\d+)?\s?(?:ns|us|µs|ms|s|sec|seconds)\b"
    r"|\b0x[0-9a-fA-F]{6,}\b"
)


def steady(value: Any) -> str:
    """A JSON value as text that is the same for equal values.

    It takes whatever a model wrote: numbers that canonical JSON refuses, and lone surrogates.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


Words = Counter[str]
"""The words of a text, each with how often it stands there; their order does not count."""


def words(value: Any) -> Words:
    """The words of a JSON value, made comparable.

    White space and the order of names and of lists do not count, every number is the same, and a
    path is written the shortest way.
    """
    found: Words = Counter()
    _gather(value, found)
    return found


def _gather(value: Any, found: Words) -> None:
    if isinstance(value, dict):
        for name, item in cast(dict[str, Any], value).items():
            found[f"{name}:"] += 1
            _gather(item, found)
    elif isinstance(value, list):
        for item in cast(Sequence[Any], value):
            _gather(item, found)
    elif isinstance(value, str):
        for word in _WORD.findall(value[:_MAX_CHARS]):
            plain = posixpath.normpath(word) if "/" in word else word.lower()
            found[_NUMBER.sub("0", plain)] += 1
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found["0"] += 1
    else:
        found[str(value)] += 1


def alike(one: Words, other: Words) -> bool:
    """Whether two texts are near the same, by Dice: twice what they share, by what both have."""
    both = one.total() + other.total()
    return both == 0 or 2 * (one & other).total() / both >= NEAR


@dataclass(frozen=True)
class CallFacts:
    """One call with its result."""

    observation: Observation
    args: dict[str, Any] | None

    @property
    def tool(self) -> str:
        """The capability, or the name that the model wrote."""
        return self.observation.name

    @property
    def error(self) -> str | None:
        """The error's type, where the call did not do what was asked; a denial is no error."""
        seen = self.observation
        if seen.status not in _BAD or seen.diagnostics is None:
            return None
        return seen.diagnostics.error_type

    @property
    def lasting(self) -> bool:
        """Whether it failed, and nothing of it can have happened."""
        why = self.observation.diagnostics
        failed = self.observation.status is ObservationStatus.FAILED
        return failed and why is not None and not why.effect_possible

    @property
    def changed(self) -> bool:
        """Whether it changed something outside."""
        seen = self.observation
        return seen.status is ObservationStatus.OK and seen.effect_id is not None

    @cached_property
    def words(self) -> Words:
        """The arguments, for comparing."""
        return words(self.args or {})

    @cached_property
    def exact(self) -> str:
        """Tool, arguments and status, as they are."""
        seen = self.observation
        return digest(steady([seen.name, self.args or {}, seen.status.value]).encode())

    @cached_property
    def outcome(self) -> str:
        """What the call came to, without what differs each time and means nothing.

        A failure is its type, whatever its words are.
        """
        seen = self.observation
        if seen.status not in {ObservationStatus.OK, ObservationStatus.NO_CHANGE}:
            kind = "" if seen.diagnostics is None else seen.diagnostics.error_type
            return f"{seen.name} {seen.status} {kind}"
        # Doing another thing is something new, even where the target says no more than "done".
        done = [self.exact, seen.environment_revision] if self.changed else []
        found = steady([*done, seen.structured_result])
        return f"{seen.name} {seen.status} {digest(_PASSING.sub('~', found).encode())}"

    def repeats(self, other: "CallFacts") -> bool:
        """Whether it is the same call again, with near-same arguments and the same outcome."""
        return (
            self.tool == other.tool
            and self.outcome == other.outcome
            and alike(self.words, other.words)
        )


@dataclass(frozen=True)
class TurnFacts:
    """One closed turn.

    Attributes:
        answered: a person spoke after it: whatever was before does not count any more.
        verdict: what a refused candidate lacked.
    """

    turn: int
    said: str
    calls: tuple[CallFacts, ...]
    answered: bool
    verdict: str | None = None

    @cached_property
    def plan(self) -> Words:
        """What the model says that it will do: the plan that it hands in, or its text."""
        plans = [call.args for call in self.calls if call.tool == PLAN]
        return words(plans or self.said)

    @cached_property
    def outcomes(self) -> frozenset[str]:
        """What came of it."""
        found = {call.outcome for call in self.calls}
        return frozenset(found if self.verdict is None else found | {self.verdict})

    @cached_property
    def signature(self) -> tuple[str, ...]:
        """The calls as they are, in order."""
        return tuple(call.exact for call in self.calls)


def turn_facts(record: TurnRecord, reply: RawReply) -> TurnFacts:
    """Read a closed turn. `reply` is what its raw output holds."""
    args = {place: call.args for place, call in enumerate(reply.calls)}
    return TurnFacts(
        turn=record.turn,
        said=reply.text,
        calls=tuple(
            CallFacts(seen, seen.edited_args or args.get(seen.position))
            for seen in record.observations
        ),
        answered=record.answer is not None,
        verdict=None if record.feedback is None else "\n".join(["verdict", *record.feedback.gaps]),
    )
