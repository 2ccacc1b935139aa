"""Events, read: each with its payload as a noun, and what is wrong where that cannot be."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pydantic import ValidationError

from checkrein.contracts.event import Event, Payload

LAST_YEAR = 9000
"""Times from here on are refused: a deadline after them could not be computed."""


class Fact(NamedTuple):
    """One event with its payload, read."""

    event: Event
    payload: Payload

    @property
    def seq(self) -> int:
        """The event's place in its trace."""
        return self.event.seq

    @property
    def at(self) -> datetime:
        """When it was appended."""
        return self.event.time


@dataclass(frozen=True)
class Fault:
    """What is wrong with a trace: the rule that it breaks, and at which event."""

    rule: str
    seq: int
    problem: str


def read_facts(events: Iterable[Event]) -> tuple[list[Fact], list[Fault]]:
    """Read every payload; one that is not of its type, or of no type that is known, is a fault."""
    facts: list[Fact] = []
    faults: list[Fault] = []
    for event in events:
        try:
            fact = Fact(event, event.read())
            timed = fact.at.utcoffset() is not None and fact.at.year < LAST_YEAR
        except (ValidationError, ValueError, RecursionError):
            problem = f"its payload is no {event.type} that this version knows, or it has no time"
            faults.append(Fault("readable", event.seq, problem))
            continue
        if fact.payload.type != event.type or not timed:
            problem = f"it says {event.type} at {event.at} and holds a {fact.payload.type}"
            faults.append(Fault("readable", event.seq, problem))
            continue
        facts.append(fact)
    return facts, faults
