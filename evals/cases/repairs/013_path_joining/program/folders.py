"""Paths that must stay in a folder; by their text alone, links are not followed."""

import posixpath


class OutsideError(ValueError):
    """The path leads out of the folder."""


def inside(folder: str, path: str) -> str:
    """The whole path of something in a folder.

    Raises:
        OutsideError: it is not in there.
    """
    root = posixpath.normpath(folder)
    whole = posixpath.normpath(posixpath.join(root, path))
    if not whole.startswith(root):
        raise OutsideError(f"{path} leads out of {root}")
    return whole


def relative(folder: str, path: str) -> str:
    """A path as seen from the folder that it lies in."""
    return posixpath.relpath(inside(folder, path), folder)
