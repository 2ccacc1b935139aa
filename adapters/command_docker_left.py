"""Containers that outlive their harness: marked with the folder that it holds, and found again."""

import hashlib
import os
import socket
from pathlib import Path

from checkrein.adapters.throw_away import is_held

_PLACE = "checkrein.place"
_HELD = "checkrein.held"


def marks(scratch: Path) -> list[str]:
    """Words for `docker run`: whose the container is, by the scratch folder of its command."""
    place = place_of(scratch.parent)
    return ["--label", f"{_PLACE}={place}", "--label", f"{_HELD}={scratch}"]


def place_of(folder: Path) -> str:
    """This user's scratch folders on this machine, among all that an engine may serve.

    Another machine, or a process that sees another temporary folder under this name, cannot tell
    whether a folder of ours is held, and so must not take its container for one that was left.
    """
    seen = os.stat(folder)
    facts = (socket.gethostname(), os.geteuid(), seen.st_dev, seen.st_ino)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def asking(folder: Path) -> list[str]:
    """Words for docker that list our containers, each as its id and the folder that is held."""
    shown = f'{{{{.ID}}}} {{{{.Label "{_HELD}"}}}}'
    chosen = f"label={_PLACE}={place_of(folder)}"
    return ["ps", "--all", "--no-trunc", "--filter", chosen, "--format", shown]


def left_among(said: str) -> list[str]:
    """Of what docker said, the ids of those whose harness is gone. Blocking."""
    told = [line.split(" ", 1) for line in said.splitlines() if " " in line]
    return [one for one, folder in told if folder and not is_held(Path(folder))]
