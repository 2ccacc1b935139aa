"""What applying a candidate to the source folder takes: each path from one version to another.

A folder that is at the baseline, at the candidate, or at either of the two path by path is one that
a publication may begin on, or go on with. Anything else was changed by somebody else. Everything
here blocks.
"""

from dataclasses import dataclass

from checkrein.adapters.workspace_diff import Change, changes
from checkrein.adapters.workspace_tree import Entry
from checkrein.contracts.codec import visible
from checkrein.contracts.task import LARGEST_PUBLISHED
from checkrein.errors import CapabilityError

OP = "workspace.publish"


@dataclass(frozen=True)
class Plan:
    """The changes from baseline to candidate, and how far the source is along them.

    Attributes:
        steps: in the order in which they are made: folders, files, then what is taken away, the
            deepest first.
        done: paths that are at the candidate's version already.
        foreign: a path at neither version; None where there is none.
    """

    steps: list[Change]
    done: frozenset[str]
    foreign: str | None

    @property
    def untouched(self) -> bool:
        """Whether the source is at neither version anywhere but as the baseline was."""
        return not self.done


def plan_of(baseline: list[Entry], candidate: list[Entry], source: list[Entry]) -> Plan:
    """What is left to do, judged path by path.

    Raises:
        CapabilityError: unpublishable, a change that cannot be made by compare-and-set.
    """
    wanted = changes(baseline, candidate)
    for change in wanted:
        _check_publishable(change)
    touched = {change.path: change for change in wanted}
    now = {entry.path: entry for entry in source}
    done: set[str] = set()
    foreign: str | None = None
    for path, change in touched.items():
        found = now.get(path)
        if found == change.after:
            done.add(path)
        elif found != change.before and not _half_made(found, change):
            foreign = foreign or path
    for difference in changes(baseline, source):
        if difference.path not in touched:
            foreign = foreign or difference.path
    return Plan(sorted(wanted, key=_order), frozenset(done), foreign)


def _half_made(found: Entry | None, change: Change) -> bool:
    """Whether a file has the new content and not yet the new mode: a publication died there."""
    after = change.after
    if found is None or after is None or found.kind != "file" or after.kind != "file":
        return False
    return found.content == after.content


def unpublishable(change: Change) -> str | None:
    """Why a change cannot be made by compare-and-set; None where it can."""
    before, after = change.before, change.after
    for side in (after, before):
        if side is not None and side.kind not in {"file", "folder"}:
            what = "a link" if side.kind == "link" else "no ordinary file"
            return f"it {'is' if side is after else 'was'} {what}"
    if before is not None and after is not None and before.kind != after.kind:
        return f"it was a {before.kind} and is a {after.kind} now"
    if after is not None and after.size > LARGEST_PUBLISHED:
        return f"it has {after.size} bytes, and at most {LARGEST_PUBLISHED} are published"
    return None


def _check_publishable(change: Change) -> None:
    why = unpublishable(change)
    if why is None:
        return
    path = visible(change.path)
    raise CapabilityError(
        f"{path} cannot be published: {why}.",
        op=OP,
        code="unpublishable",
        advice=f"{path}: {why}. Only files and folders that stay what they are are published; copy "
        "this one by hand, or begin a new attempt.",
    )


def _order(change: Change) -> tuple[int, int, str]:
    depth = change.path.count("/")
    if change.after is None:
        is_folder = change.before is not None and change.before.kind == "folder"
        return (3 if is_folder else 2, -depth, change.path)
    return (0 if change.after.kind == "folder" else 1, depth, change.path)
