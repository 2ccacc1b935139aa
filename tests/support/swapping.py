"""A workspace with an enemy: somebody swaps its folders and files while an operation is under way.

Outside of the root lie files of the same names with a secret in them, so that whoever followed a
link would succeed, and be seen.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SECRET = "the-secret-of-outside"
ONLY_OUTSIDE = "only-outside.txt"
INSIDE = b"one\ntwo\nthree\n"


@dataclass
class World:
    """A root, what lies outside of it, and a place to which things are moved away."""

    base: Path
    root: Path = field(init=False)
    outside: Path = field(init=False)
    away: Path = field(init=False)

    def __post_init__(self) -> None:
        self.root, self.outside = self.base / "project", self.base / "outside"
        self.away = self.base / "away"
        self.fill()
        (self.outside / "deep").mkdir(parents=True)
        for name in ("app.py", ONLY_OUTSIDE, "deep/x.txt"):
            (self.outside / name).write_text(f"{SECRET}\none\ntwo\n", encoding="utf-8")
            (self.outside / name).chmod(0o640)

    def fill(self) -> None:
        """Bring the inside back to what it was in the beginning."""
        for place in (self.root, self.away):
            shutil.rmtree(place, ignore_errors=True)
        self.away.mkdir(parents=True)
        (self.root / "src" / "deep").mkdir(parents=True)
        (self.root / "src" / "app.py").write_bytes(INSIDE)
        (self.root / "src" / "deep" / "x.txt").write_bytes(b"x\n")

    def outside_now(self) -> list[tuple[Any, ...]]:
        """All that could be changed of what lies outside."""
        found: list[tuple[Any, ...]] = []
        for path in sorted([self.outside, *self.outside.rglob("*")]):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found.append((str(path), status.st_mode, status.st_uid, status.st_nlink, content))
        return found


@dataclass(frozen=True)
class Attack:
    """Something that is put in the place of a folder or a file, and taken away again."""

    at: str
    put: Callable[[World, Path], object]

    def do(self, world: World) -> None:
        """Swap; does nothing where the thing is not there now."""
        place = world.root / self.at
        aside = world.away / "aside"
        if place.exists() and not place.is_symlink() and not aside.exists():
            place.rename(aside)
            self.put(world, place)

    def undo(self, world: World) -> None:
        """Swap back."""
        place, aside = world.root / self.at, world.away / "aside"
        if not aside.exists():
            return
        if place.is_symlink() or place.is_fifo() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        aside.rename(place)


def _link(to: str) -> Callable[[World, Path], None]:
    return lambda world, place: place.symlink_to(to.format(base=world.base))


ATTACKS = {
    "folder to link": Attack("src", _link("{base}/outside")),
    "folder to relative link": Attack("src", _link("../outside")),
    "folder to magic link": Attack("src", _link("/proc/self/root{base}/outside")),
    "file to link": Attack("src/app.py", _link("{base}/outside/app.py")),
    "file to pipe": Attack("src/app.py", lambda _, place: os.mkfifo(place)),
    "file to folder": Attack("src/app.py", lambda _, place: place.mkdir()),
    "folder moved away": Attack("src", lambda _, place: None),
    "folder to file": Attack("src", lambda _, place: place.write_text("x", encoding="utf-8")),
    "root to link": Attack(".", _link("{base}/outside")),
}
"""What can take the place of what was looked at, between the look and the use."""

_CALLS = (
    "open stat lstat fstat listdir scandir readlink mkdir rename unlink rmdir symlink fsync read "
    "fchmod dup"
)


class Steps:
    """Counts the calls of an operation into the file system, and does something before one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.before: dict[int, Callable[[], None]] = {}
        self._busy = True
        for name in _CALLS.split():
            monkeypatch.setattr(os, name, self._counted(getattr(os, name)))

    def start(self, before: dict[int, Callable[[], None]]) -> None:
        """Begin to count at 0."""
        self.count, self.before, self._busy = 0, before, False

    def stop(self) -> int:
        """Count no longer; returns how many calls there were."""
        self._busy = True
        return self.count

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            if not self._busy:
                self._busy = True
                try:
                    todo = self.before.get(self.count)
                    self.count += 1
                    if todo is not None:
                        todo()
                finally:
                    self._busy = False
            return call(*args, **kwargs)

        return counted


_SWAPPER = """
import os, sys, time
base, kind, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
at = {"folder": "project/src", "file": "project/src/app.py"}[kind]
to = {"folder": "outside", "file": "outside/app.py"}[kind]
os.chdir(base)
for n in range(times):
    try:
        os.rename(at, "away/aside")
        os.symlink(os.path.join(base, to), at)
        time.sleep(0.0002)
        os.unlink(at)
        os.rename("away/aside", at)
    except OSError:  # the operation under test moved something, too: begin again
        if os.path.islink(at):
            os.unlink(at)
        if os.path.exists("away/aside") and not os.path.exists(at):
            os.rename("away/aside", at)
    time.sleep(0.0002)
"""


def swapper(world: World, kind: str, times: int) -> "subprocess.Popen[bytes]":
    """A process that swaps a folder or a file for a link to outside, and back, so many times."""
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _SWAPPER, str(world.base), kind, str(times)]
    )
