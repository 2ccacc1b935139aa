"""Whether files of an evidence folder are what its events amount to, and where they differ."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from checkrein.contracts.codec import Frozen
from checkrein.contracts.evidence import EvidencePackage, FinalCommit, Handover, Stands
from checkrein.graph import evidence_files as files
from checkrein.graph.evidence_folder import Finding, finding, read

SHOWN = 8
"""Differing places of one file that are named."""


def same_noun(folder: Path, path: str, expected: Frozen) -> Iterator[Finding]:
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


def same_bytes(folder: Path, path: str, expected: bytes) -> Iterator[Finding]:
    """Whether a file that is made of the package is what it makes."""
    if read(folder, path) != expected:
        yield finding(path, "agrees", "it is not what is made of the package; it was edited")


def handed_over(folder: Path, package: EvidencePackage) -> Handover | Finding:
    """What the exporter said of the state, if it can be said of this package."""
    data = read(folder, files.HANDOVER)
    try:
        found = Handover.model_validate_json(data)
    except (ValidationError, RecursionError):
        return finding(files.HANDOVER, "readable", "it is no Handover of this version")
    if files.json_bytes(found) != data:
        return finding(files.HANDOVER, "canonical", "it is not in canonical form")
    accepted = package.finishes.task_accepted is not None and package.candidate is not None
    verified = package.candidate.state_digest if accepted and package.candidate else None
    says = {
        Stands.STANDS: found.found is not None and found.found == verified,
        Stands.MOVED: verified is not None and found.found not in {None, verified},
        Stands.UNREACHABLE: verified is not None and found.found is None,
        Stands.UNVERIFIED: verified is None and found.found is None,
    }
    if found.verified != verified or not says[found.state]:
        return finding(files.HANDOVER, "agrees", "it says something else than was verified")
    return found


def commit_binds(package: EvidencePackage, commit: FinalCommit, contract: object) -> str | None:
    """Why a final commit is not of what this package verified; `contract`: that of the commit."""
    of, candidate = commit.attempt.commit, package.candidate
    if of is None or candidate is None or package.finishes.task_accepted is None:
        return "it commits what was not verified"
    wanted = (package.attempt.attempt_id, candidate.state_digest, candidate.candidate_hash)
    if (of.attempt_id, of.state_digest, of.candidate_hash) != wanted:
        return "it commits another candidate than was verified here"
    if commit.attempt.task_id != package.task.task_id or contract != package.contract:
        return "it belongs to another task"
    if package.finishes.task_accepted > commit.committed_at:
        return "it was made before the candidate was verified"
    return None


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
