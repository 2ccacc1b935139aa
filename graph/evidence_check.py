"""Checking an evidence folder where there is no database: bytes, chain, rules, and agreement.

What is proved: the folder is whole and tells one story, and no part of it was changed by itself.
Whoever forges all of it anew also makes another head of the chain; so compare the head with one
that was noted elsewhere (`checkrein status` prints it).
"""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from checkrein.contracts.codec import Frozen
from checkrein.contracts.event import GENESIS, Event, check_chain
from checkrein.contracts.evidence import ChainHead
from checkrein.errors import CheckreinError
from checkrein.graph import evidence_files as files
from checkrein.graph.evidence_folder import (
    Finding,
    finding,
    looked_up,
    read,
    read_manifest,
    unsealed,
)
from checkrein.graph.evidence_package import assembled
from checkrein.graph.facts import Fact, read_facts
from checkrein.graph.rebuilt import Rebuilt
from checkrein.graph.trace_rules import grade

SHOWN = 8
"""Differing places of one file that are named."""


def check(folder: Path) -> list[Finding]:
    """Everything that is wrong with an evidence folder; nothing means that it proves what it says.

    Files that are not as sealed are named, and nothing is concluded from them.

    Raises:
        InputError: the folder cannot be read, or holds no package at all.
    """
    looked_up(folder)
    manifest = read_manifest(folder)
    if isinstance(manifest, Finding):
        return [manifest]
    broken = list(unsealed(folder, manifest))
    if broken:
        return broken
    missing = sorted({files.EVIDENCE, files.EVENTS, files.CHECKPOINT} - set(manifest.files))
    if missing:
        return [finding(name, "complete", "every package has it") for name in missing]
    try:
        return list(_told(folder, manifest))
    except (OSError, CheckreinError) as error:
        return [finding(files.EVENTS, "readable", str(error))]


def _told(folder: Path, manifest: files.Manifest) -> Iterator[Finding]:
    """What the sealed files say, and whether it is one story."""
    trace = _events(read(folder, files.EVENTS))
    if isinstance(trace, Finding):
        yield trace
        return
    end = ChainHead(seq=len(trace), hash=trace[-1].hash if trace else GENESIS)
    chain = check_chain(trace, end.seq, end.hash)
    for gap in chain:
        yield _at(gap.seq, "chain", gap.problem)
    if manifest.head != end:
        problem = f"its head is not the end of {files.EVENTS}: that was cut, or the head edited"
        yield finding(files.MANIFEST, "chain", problem)
    for fault in grade(trace):
        yield _at(fault.seq, fault.rule, fault.problem)
    facts, unread = read_facts(trace)
    if chain or unread:
        return
    yield from _agreement(folder, manifest, facts)


def _events(data: bytes) -> list[Event] | Finding:
    events: list[Event] = []
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        try:
            event = Event.model_validate_json(line)
            whole = files.lines([event]) == line
        except (ValidationError, CheckreinError, RecursionError):
            return finding(files.EVENTS, "readable", f"line {number} is no event")
        if not whole:
            return finding(files.EVENTS, "canonical", f"line {number} is not in canonical form")
        events.append(event)
    return events


def _agreement(folder: Path, manifest: files.Manifest, facts: list[Fact]) -> Iterator[Finding]:
    """Whether the other files are exactly what the events amount to."""
    rebuilt = Rebuilt.of(facts)
    if rebuilt.ended is None:
        yield finding(files.EVENTS, "ended", "the attempt has not ended; it proves nothing yet")
        return
    package = assembled(facts, manifest.head, _sizes(manifest, facts))
    named = files.blobs_of(facts) | {files.artifact_path(a): a.hash for a in package.artifacts}
    for path, ref in named.items():
        seal = manifest.files.get(path)
        if seal is None:
            yield finding(path, "complete", "an event names it, and it is not there")
        elif seal.sha256 != ref:
            yield finding(path, "agrees", "it is not what the event that names it says")
    own = {files.EVIDENCE, files.EVENTS, files.CHECKPOINT}
    for path in sorted(set(manifest.files) - set(named) - own):
        yield finding(path, "closed", "no event names it")
    yield from _same(folder, files.EVIDENCE, package)
    yield from _same(folder, files.CHECKPOINT, files.checkpoint_of(rebuilt, manifest.head))


def _sizes(manifest: files.Manifest, facts: list[Fact]) -> dict[str, int]:
    """Bytes of the artifacts that no event describes, as they lie there."""
    return {
        artifact.hash: manifest.files[path].size
        for artifact in files.artifacts_of(facts, {})
        if (path := files.artifact_path(artifact)) in manifest.files
    }


def _same(folder: Path, path: str, expected: Frozen) -> Iterator[Finding]:
    """Whether a file holds what the events amount to, and where it does not."""
    data = read(folder, path)
    if data == files.json_bytes(expected):
        return
    try:
        found = type(expected).model_validate_json(data)
    except (ValidationError, RecursionError):
        problem = f"it is no {type(expected).__name__} of this version"
        yield finding(path, "readable", problem)
        return
    places = list(_differing(found.model_dump(mode="json"), expected.model_dump(mode="json"), ""))
    for place in places[:SHOWN]:
        yield finding(path, "agrees", f"{place} is not what the events say")
    if len(places) > SHOWN:
        yield finding(path, "agrees", f"{len(places) - SHOWN} more places differ")
    if not places:
        yield finding(path, "canonical", "it is not in canonical form, so it was edited")


def _differing(found: object, expected: object, place: str) -> Iterator[str]:
    """Places, as JSON pointers, at which two JSON values differ."""
    if isinstance(found, dict) and isinstance(expected, dict):
        one, other = cast(dict[str, object], found), cast(dict[str, object], expected)
        for key in sorted({*one, *other}):
            yield from _differing(one.get(key), other.get(key), f"{place}/{key}")
    elif isinstance(found, list) and isinstance(expected, list):
        items = zip_longest(cast(list[object], found), cast(list[object], expected))
        for n, (item, wanted) in enumerate(items):
            yield from _differing(item, wanted, f"{place}/{n}")
    elif found != expected:
        yield place


def _at(seq: int, rule: str, problem: str) -> Finding:
    return finding(f"{files.EVENTS}:{seq}", rule, problem)
