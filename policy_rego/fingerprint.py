"""Whether a folder has changed, told by names, sizes and times: cheap enough for every second."""

import os
import time
from contextlib import suppress
from pathlib import Path

from checkrein.policy_rego.bundle_files import MAX_FILES

MOST_ENTRIES = 4 * MAX_FILES
"""Entries of the folder that a look takes in; a bundle has fewer."""

Fingerprint = tuple[tuple[str, int, int, int, int], ...]


SETTLED_S = 0.1
"""Seconds after which a file counts as written; clocks of file systems tick far more often."""


def settled(found: Fingerprint) -> bool:
    """Whether the newest change in it lies back far enough to be told from the next one."""
    newest = max((changed for _, _, _, changed, _ in found), default=0)
    # One of the future is of a clock that was set, and tells nothing.
    return not 0 <= time.time_ns() - newest < SETTLED_S * 1e9


def fingerprint(folder: Path) -> Fingerprint:
    """Names, sizes, times and file numbers of what lies in a folder; cheap, and bounded. Blocking.

    A folder that cannot be listed has an empty one, and reading it then says why.
    """
    found: list[tuple[str, int, int, int, int]] = []
    for current, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if len(found) >= MOST_ENTRIES:
                return tuple(found)
            place = os.path.join(current, name)
            with suppress(OSError):  # gone since it was listed, which the next look shows
                seen = os.stat(place)
                facts = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)
                found.append((place, *facts))
    return tuple(found)
