"""Checking an evidence folder where there is no database: bytes, chain, rules, and agreement.

What is proved: the folder is whole and tells one story, and no part of it was changed by itself.
Whoever forges all of it anew also makes another head of a chain, and whoever leaves the final
commit out leaves its chain out; so compare the heads with those that were noted elsewhere
(`checkrein status` prints them).
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from checkrein.contracts.evidence import EvidencePackage
from checkrein.errors import CheckreinError
from checkrein.graph import evidence_files as files
from checkrein.graph.evidence_agreement import commit_binds, handed_over, same_bytes, same_noun
from checkrein.graph.evidence_derived import derived, diff_path
from checkrein.graph.evidence_folder import (
    Finding,
    finding,
    looked_up,
    read,
    read_manifest,
    unsealed,
)
from checkrein.graph.evidence_package import CommitTrace, assembled
from checkrein.graph.evidence_trace import Trace, read_trace
from checkrein.graph.facts import Fact
from checkrein.graph.rebuilt import Rebuilt

OWN = frozenset({files.EVIDENCE, files.EVENTS, files.CHECKPOINT, files.HANDOVER})
"""Files that every package has, named by no event."""


def check(folder: Path, heads: Collection[str] = ()) -> list[Finding]:
    """Everything that is wrong with an evidence folder; nothing means that it proves what it says.

    Files that are not as sealed are named, and nothing is concluded from them.

    Args:
        heads: hashes that were noted elsewhere; where any are given, the chains of the folder must
            end in just these.

    Raises:
        InputError: the folder cannot be read, or holds no package at all.
    """
    looked_up(folder)
    manifest = read_manifest(folder)
    if isinstance(manifest, Finding):
        return [manifest]
    try:
        broken = list(unsealed(folder, manifest))
    except (OSError, ValueError) as error:
        return [finding(files.MANIFEST, "readable", f"the folder cannot be walked: {error}")]
    if broken:
        return broken
    missing = sorted(OWN - set(manifest.files))
    if missing:
        return [finding(name, "complete", "every package has it") for name in missing]
    try:
        return [*_told(folder, manifest), *_noted(manifest, heads)]
    except (OSError, CheckreinError) as error:
        return [finding(files.EVENTS, "readable", str(error))]


def _told(folder: Path, manifest: files.Manifest) -> Iterator[Finding]:
    """What the sealed files say, and whether it is one story."""
    trace = read_trace(files.EVENTS, read(folder, files.EVENTS))
    yield from trace.findings
    if trace.facts is not None and manifest.head != trace.head:
        problem = f"its head is not the end of {files.EVENTS}: that was cut, or the head edited"
        yield finding(files.MANIFEST, "chain", problem)
    commit = None
    if files.COMMIT_EVENTS in manifest.files:
        commit = read_trace(files.COMMIT_EVENTS, read(folder, files.COMMIT_EVENTS))
        yield from commit.findings
        if commit.facts is None:
            return
    if manifest.commit_head != (None if commit is None else commit.head):
        problem = f"its commit_head is not the end of {files.COMMIT_EVENTS}"
        yield finding(files.MANIFEST, "chain", f"{problem}: that was put in, cut or taken out")
    if trace.facts is not None:
        yield from _agreement(folder, manifest, trace.facts, commit)


def _noted(manifest: files.Manifest, heads: Collection[str]) -> Iterator[Finding]:
    """Whether the chains end where somebody noted that they did."""
    if not heads:
        return
    ends = {head.hash: path for path, head in manifest.heads.items()}
    for head in sorted(set(heads) - set(ends)):
        yield finding(files.MANIFEST, "noted", f"no chain of this folder ends in {head}")
    for head in sorted(set(ends) - set(heads)):
        yield finding(ends[head], "noted", f"it ends in {head}, which was not noted")


def _agreement(
    folder: Path, manifest: files.Manifest, facts: list[Fact], commit: Trace | None
) -> Iterator[Finding]:
    """Whether the other files are exactly what the events amount to."""
    rebuilt = Rebuilt.of(facts)
    if rebuilt.ended is None:
        yield finding(files.EVENTS, "ended", "the attempt has not ended; it proves nothing yet")
        return
    if rebuilt.attempt is not None and rebuilt.attempt.commit is not None:
        yield finding(
            files.EVENTS, "work", "it is the trace of a final commit, and not of the work"
        )
        return
    made = None
    if commit is not None and commit.facts is not None:
        made = CommitTrace(commit.facts, commit.head)
        if (problem := _unmade(commit.facts)) is not None:
            yield finding(files.COMMIT_EVENTS, "ended", problem)
            return
    every = [*facts, *(made.facts if made else ())]
    package = assembled(facts, manifest.head, _sizes(manifest, every), made)
    if made is not None and package.final_commit is not None:
        contract = Rebuilt.of(made.facts).started
        problem = commit_binds(package, package.final_commit, contract and contract.contract)
        if problem is not None:
            yield finding(files.COMMIT_EVENTS, "commit_binds", problem)
    named = files.blobs_of(every) | {files.artifact_path(a): a.hash for a in package.artifacts}
    yield from _named(manifest, named)
    yield from same_noun(folder, files.EVIDENCE, package)
    yield from same_noun(folder, files.CHECKPOINT, files.checkpoint_of(rebuilt, manifest.head))
    yield from _derived(folder, manifest, package, set(named))


def _named(manifest: files.Manifest, named: dict[str, str]) -> Iterator[Finding]:
    """Files that events name by their digest."""
    for path, ref in named.items():
        seal = manifest.files.get(path)
        if seal is None:
            yield finding(path, "complete", "an event names it, and it is not there")
        elif seal.sha256 != ref:
            yield finding(path, "agrees", "it is not what the event that names it says")


def _derived(
    folder: Path, manifest: files.Manifest, package: EvidencePackage, named: set[str]
) -> Iterator[Finding]:
    """Files that are made of the package, and those that nothing makes or names."""
    handover = handed_over(folder, package)
    if isinstance(handover, Finding):
        yield handover
        return
    path = diff_path(package)
    diff = read(folder, path) if path is not None and path in manifest.files else None
    made = derived(package, handover, diff)
    for name, data in made.items():
        if name in manifest.files:
            yield from same_bytes(folder, name, data)
        else:
            yield finding(name, "complete", "every package has it")
    for name in sorted(set(manifest.files) - named - set(made) - {*OWN, files.COMMIT_EVENTS}):
        yield finding(name, "closed", "no event names it")


def _unmade(facts: list[Fact]) -> str | None:
    """Why the trace of a commit attempt is none of a commit that was made."""
    rebuilt = Rebuilt.of(facts)
    if rebuilt.attempt is None or rebuilt.attempt.commit is None:
        return "it is no trace of a commit attempt"
    return None if rebuilt.task_accepted else "the commit has not been made"


def _sizes(manifest: files.Manifest, facts: list[Fact]) -> dict[str, int]:
    """Bytes of the artifacts that no event describes, as they lie there."""
    return {
        artifact.hash: manifest.files[path].size
        for artifact in files.artifacts_of(facts, {})
        if (path := files.artifact_path(artifact)) in manifest.files
    }
