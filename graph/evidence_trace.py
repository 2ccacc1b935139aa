"""Reading a trace from an evidence folder: its form, its chain, and the rules that it must keep."""

from typing import NamedTuple

from pydantic import ValidationError

from checkrein.contracts.event import GENESIS, Event, check_chain
from checkrein.contracts.evidence import ChainHead
from checkrein.errors import CheckreinError
from checkrein.graph import evidence_files as files
from checkrein.graph.evidence_folder import Finding, finding
from checkrein.graph.facts import Fact, read_facts
from checkrein.graph.trace_rules import grade


class Trace(NamedTuple):
    """What a file of events holds.

    Attributes:
        facts: None where they cannot be relied on to say anything.
        head: the end of the chain as it is.
        findings: what is wrong with it.
    """

    facts: list[Fact] | None
    head: ChainHead
    findings: list[Finding]


def read_trace(file: str, data: bytes) -> Trace:
    """Read events, and grade them by what stands in them alone."""
    events = _events(file, data)
    if isinstance(events, Finding):
        return Trace(None, ChainHead(seq=0, hash=GENESIS), [events])
    head = ChainHead(seq=len(events), hash=events[-1].hash if events else GENESIS)
    chain = check_chain(events, head.seq, head.hash)
    found = [finding(f"{file}:{gap.seq}", "chain", gap.problem) for gap in chain]
    found += [finding(f"{file}:{fault.seq}", fault.rule, fault.problem) for fault in grade(events)]
    facts, unread = read_facts(events)
    return Trace(None if chain or unread else facts, head, found)


def _events(file: str, data: bytes) -> list[Event] | Finding:
    events: list[Event] = []
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        try:
            event = Event.model_validate_json(line)
            whole = files.lines([event]) == line
        except (ValidationError, CheckreinError, RecursionError):
            return finding(file, "readable", f"line {number} is no event")
        if not whole:
            return finding(file, "canonical", f"line {number} is not in canonical form")
        events.append(event)
    return events
