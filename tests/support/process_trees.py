"""Which processes there are, for tests that nothing is left running. Linux alone has /proc."""

import time
from pathlib import Path


def alive(marker: str) -> list[int]:
    """The processes whose command line holds a marker, zombies left out."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and marker in _command(folder):
            found.append(int(folder.name))
    return found


def running(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    return _state(Path(f"/proc/{pid}")) not in {"", "Z", "X"}


def below(pid: int) -> list[int]:
    """All descendants of a process."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _state(folder) not in {"", "Z", "X"}:
            children.setdefault(_parent(folder), []).append(int(folder.name))
    found: list[int] = []
    pending = [pid]
    while pending:
        found += (below := children.get(pending.pop(), []))
        pending += below
    return found


def until_gone(pids: list[int], seconds: float) -> list[int]:
    """Wait for the end of processes; those that are still running then."""
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _stat(folder: Path) -> list[bytes]:
    try:
        # The name in brackets may hold anything, brackets and blanks too.
        return (folder / "stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _state(folder: Path) -> str:
    fields = _stat(folder)
    return fields[0].decode() if fields else ""


def _parent(folder: Path) -> int:
    fields = _stat(folder)
    return int(fields[1]) if fields else 0


def _command(folder: Path) -> str:
    if _state(folder) in {"", "Z", "X"}:
        return ""
    try:
        return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
