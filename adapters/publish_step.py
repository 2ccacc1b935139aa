"""One step of a publication: a folder, a file or its removal, by compare-and-set. Blocks."""

import os
import stat

from checkrein.adapters.publish_plan import OP
from checkrein.adapters.workspace_diff import Change
from checkrein.adapters.workspace_paths import FILE, GuardedFolder, refusal
from checkrein.adapters.workspace_swap import ABSENT, Swap, compare_and_swap
from checkrein.adapters.workspace_tree import Entry, hash_of
from checkrein.contracts.effect import EffectStatus
from checkrein.contracts.task import LARGEST_PUBLISHED
from checkrein.errors import CapabilityError


def make(source: GuardedFolder, candidate: GuardedFolder, change: Change, effect_id: str) -> None:
    """Bring one path of the source to the candidate's version.

    Raises:
        CapabilityError: source_moved, the path is at neither version; or it cannot be written.
    """
    segments = tuple(change.path.split("/"))
    if change.after is None:
        assert change.before is not None, "a change has a side"
        _take_away(source, segments, change.before)
    elif change.after.kind == "folder":
        with source.folder(segments, op=OP, make=[]):
            pass
    else:
        _write(source, candidate, segments, change, effect_id)


def moved(path: str) -> CapabilityError:
    """What is said of a source that somebody else changed."""
    return CapabilityError(
        f"The source folder was changed since the task began: {path}. Nothing was overwritten.",
        op=OP,
        code="source_moved",
        advice=f"The source folder was changed since the task began, at {path}, and nothing was "
        "written over it. Put the folder back as it was and commit again, or begin a new task "
        "on the folder as it is now.",
    )


def _write(
    source: GuardedFolder,
    candidate: GuardedFolder,
    segments: tuple[str, ...],
    change: Change,
    effect_id: str,
) -> None:
    after = change.after
    assert after is not None, "what is written has a content"
    data = candidate.read(segments, op=OP, limit=LARGEST_PUBLISHED)
    before = ABSENT if change.before is None else change.before.content
    swap = Swap(segments, effect_id, before, data)
    if swap.to_version != after.content:
        raise CapabilityError(
            f"The candidate changed while it was published: {change.path}.",
            op=OP,
            code="state_moved",
        )
    if compare_and_swap(source, swap).status is EffectStatus.REFUSED:
        raise moved(change.path)
    _set_mode(source, segments, after)


def _set_mode(source: GuardedFolder, segments: tuple[str, ...], after: Entry) -> None:
    with source.file(segments, op=OP) as fd:
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        wanted = mode | 0o100 if after.executable else mode & ~0o111
        if bool(mode & 0o111) is not after.executable:
            os.fchmod(fd, wanted)
            os.fsync(fd)


def _take_away(source: GuardedFolder, segments: tuple[str, ...], before: Entry) -> None:
    path = "/".join(segments)
    try:
        with source.folder(segments[:-1], op=OP) as parent:
            if before.kind == "folder":
                os.rmdir(segments[-1], dir_fd=parent)
            else:
                _check_content(parent, segments[-1], path, before)
                os.unlink(segments[-1], dir_fd=parent)
            os.fsync(parent)
    except FileNotFoundError:
        return  # gone already
    except OSError as error:
        raise refusal("not_written", f"{path}: {error.strerror}.", op=OP, path=path) from error


def _check_content(parent: int, name: str, path: str, before: Entry) -> None:
    fd = os.open(name, FILE, dir_fd=parent)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode) or hash_of(fd) != before.content:
            raise moved(path)
    finally:
        os.close(fd)
