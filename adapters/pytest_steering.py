"""The files that decide how pytest runs, which a candidate must leave as they were.

Whoever writes them decides what is collected, what counts as passed and what runs besides.
"""

import configparser
import tomllib
from pathlib import Path
from typing import Any

from checkrein.contracts.codec import visible
from checkrein.ports.workspace import Workspace

_OWN_INI = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini")
_WHOLE = ("conftest.py", *_OWN_INI)
# Files that hold other things as well: of them only the part that pytest reads.
_SECTIONS = {"pyproject.toml": "tool.pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}

MAX_CONFIG = 1 << 20
"""Largest configuration that is read, in bytes."""


async def steering_changed(workspace: Workspace, copy: Path, laid: frozenset[str]) -> list[str]:
    """Paths of such files that are not as they were; `laid` came from the author since.

    Raises:
        EnvironmentFault: the workspace cannot be read.
        IntegrityError: its baseline has been altered.
    """
    whole = [f"**/{name}" for name in _WHOLE]
    found = [path for path in await workspace.changed(whole) if path not in laid]
    parts = [f"**/{name}" for name in _SECTIONS]
    for path in await workspace.changed(parts):
        section = _SECTIONS.get(path.rpartition("/")[2])
        if section is None or path in laid:
            continue
        before = await workspace.original(path)
        if _part(before, section) != _part(_read(copy / path), section):
            found.append(path)
    return sorted(set(found))


async def named_changed(workspace: Workspace, files: list[str], laid: frozenset[str]) -> list[str]:
    """Files of named tests that are not as they were: their author is then the candidate.

    Raises: as steering_changed.
    """
    if not files:
        return []
    # Exact paths: a name may hold what a pattern would take for a wildcard.
    changed = set(await workspace.changed(["**"])) - laid
    return sorted(path for path in set(files) if path in changed)


def config_of(copy: Path) -> str | None:
    """The configuration that pytest finds in the copy's root, as it finds it."""
    for name in _OWN_INI:
        if (copy / name).is_file():
            return name
    for name, section in _SECTIONS.items():
        if _part(_read(copy / name), section) is not None:
            return name
    return None


def _read(path: Path) -> bytes | None:
    """A configuration's bytes; None where it is none, a link, or too large to be one."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_CONFIG:
        return None
    return path.read_bytes()


def _part(data: bytes | None, section: str) -> Any:
    """What pytest reads of a file; the whole of it where it cannot be read as what it should be."""
    if data is None:
        return None
    try:
        text = data.decode("utf-8")
        if section == "tool.pytest":
            return tomllib.loads(text).get("tool", {}).get("pytest")
        parser = configparser.RawConfigParser()
        parser.read_string(text)
        return dict(parser[section]) if parser.has_section(section) else None
    except (ValueError, AttributeError, configparser.Error):
        return visible(data.decode("utf-8", "replace"))
