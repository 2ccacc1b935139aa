"""Control groups of the kernel, where this process may make them: memory and processes of a tree.

Both hierarchies are known, the old one (a folder for each controller) and the unified one. A group
is made for one command by its supervisor, and removed by it afterwards.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Groups:
    """Where groups may be made.

    Attributes:
        memory: the folder below which memory can be bounded; None where it cannot.
        pids: the same for the number of processes.
        unified: they are one hierarchy, so that one group does both.
    """

    memory: Path | None = None
    pids: Path | None = None
    unified: bool = False

    def wanted(self, memory_bytes: int | None, processes: int) -> dict[str, dict[str, str]]:
        """By folder that is to be made, what is written into which of its files."""
        name = f"checkrein-{os.getpid()}-{secrets.token_hex(6)}"
        found: dict[str, dict[str, str]] = {}
        if self.pids is not None:
            found[str(self.pids / name)] = {"pids.max": str(processes)}
        if self.memory is not None and memory_bytes is not None:
            limits = found.setdefault(str(self.memory / name), {})
            key = "memory.max" if self.unified else "memory.limit_in_bytes"
            limits[key] = str(memory_bytes)
            if self.unified:
                limits["memory.swap.max"] = "0"
        return found


def find_groups(root: Path = _ROOT) -> Groups:
    """Look where this process may make groups, by making one and removing it."""
    own = _own()
    if (root / "cgroup.controllers").exists():
        place = _first([root / own.get("", "").lstrip("/"), root], {"memory.max", "pids.max"})
        return Groups(place, place, unified=True)
    memory = _first(_places(root, "memory", own), {"memory.limit_in_bytes"})
    pids = _first(_places(root, "pids", own), {"pids.max"})
    return Groups(memory, pids)


def _own() -> dict[str, str]:
    """By controller, the group that this process is in."""
    found: dict[str, str] = {}
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return found
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller] = path
    return found


def _places(root: Path, controller: str, own: dict[str, str]) -> list[Path]:
    # Below our own group, so that what bounds us bounds the command as well.
    return [root / controller / own.get(controller, "/").lstrip("/"), root / controller]


def _first(places: list[Path], needed: set[str]) -> Path | None:
    for place in places:
        trial = place / f"checkrein-{os.getpid()}-{secrets.token_hex(6)}"
        try:
            trial.mkdir()
        except OSError:
            continue
        try:
            if all(os.access(trial / name, os.W_OK) for name in needed):
                return place
        finally:
            trial.rmdir()
    return None
