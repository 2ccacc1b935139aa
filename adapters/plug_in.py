"""Objects that a person names as MODULE:OBJECT: code of theirs, imported into this process."""

import importlib
import os
import re
import sys
import threading
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

from checkrein.errors import InputError
from checkrein.ports.capability import Capability, CapabilitySpec

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_FORM = re.compile(rf"({_NAME}(?:\.{_NAME})*):({_NAME}(?:\.{_NAME})*)")
_MAX_LENGTH = 256
_PATH_IN_USE = threading.RLock()
"""sys.path is the whole process's, and a server imports in several threads."""

_METHODS = ("idempotency_key", "describe", "read", "prepare", "send", "version", "lookup")


def load_object(text: str) -> object:
    """Import MODULE and return its OBJECT, a name or names joined by dots.

    The current directory is searched first while the module is imported.

    Raises:
        InputError: the text is malformed, there is no such module or object, or importing the
            module failed (code plug_in_unusable).
    """
    form = _FORM.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if form is None:
        raise _refused(
            f"{text[:80]!r} names no object. Write MODULE:OBJECT with names of Python, at most "
            f"{_MAX_LENGTH} characters, for example shop.tools:refund."
        )
    name, path = form.groups()
    found: Any = _module(name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise _refused(f"{text}: there is no {part} in {_shown(found)}. Is it spelled so?")
        found = getattr(found, part)
    return cast(object, found)


def load_capabilities(text: str) -> list[Capability]:
    """Load a comma separated list of MODULE:OBJECT, each a Capability or a list of them.

    Raises:
        InputError: an object cannot be loaded, or is no Capability (code plug_in_unusable).
    """
    if not text.strip():
        return []
    found: list[Capability] = []
    for part in text.split(","):
        named = part.strip()
        loaded = load_object(named)
        # Of a list, each member is checked by itself.
        several = isinstance(loaded, list | tuple)
        members = cast("list[object] | tuple[object, ...]", loaded) if several else (loaded,)
        found += [check_form(member, named) for member in members]
    return found


def check_form(found: object, named: str) -> Capability:
    """Return an object that has the form of a capability.

    Raises:
        InputError: it lacks something of it (code plug_in_unusable).
    """
    if isinstance(found, type):
        raise _refused(f"{named} is the class {found.__name__}. Name an instance of it.")
    missing = [name for name in _METHODS if not callable(getattr(found, name, None))]
    if not isinstance(getattr(found, "spec", None), CapabilitySpec):
        missing.insert(0, "spec")
    if missing:
        raise _refused(
            f"{named} is a value of type {type(found).__name__}, which is no Capability: "
            f"it lacks {', '.join(missing)}. Give a tool or a function to checkrein.govern, "
            "decorate an async function with checkrein.capability, or write the methods of "
            "checkrein.ports.capability.Capability."
        )
    return cast(Capability, found)


def _module(name: str) -> ModuleType:
    try:
        with _PATH_IN_USE, _current_directory_first():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _failed(name, error) from error
        raise _refused(
            f"There is no module {error.name}. It is searched for in {os.getcwd()} and among the "
            "installed packages; change to its folder, or install it beside Checkrein."
        ) from error
    except (Exception, SystemExit) as error:  # whatever code of others does, it is told once
        raise _failed(name, error) from error


@contextmanager
def _current_directory_first() -> Generator[None]:
    here = os.getcwd()
    # Python remembers the folders' listings; a module written just now must be found.
    importlib.invalidate_caches()
    if here in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)


def _failed(name: str, error: BaseException) -> InputError:
    """What went wrong in the module, with the line of it that is the last to be known."""
    if isinstance(error, SyntaxError):
        place = f"{error.filename}, line {error.lineno}"
    else:
        frames = traceback.extract_tb(error.__traceback__)
        theirs = [f for f in frames if not f.filename.startswith("<") and f.filename != __file__]
        known = [f for f in theirs if "importlib" not in f.filename]
        place = f"{known[-1].filename}, line {known[-1].lineno}" if known else "its import"
    return _refused(
        f"Importing {name} failed with {type(error).__name__}: {str(error)[:300]} ({place}). "
        f'Mend it until `python -c "import {name}"` succeeds.'
    )


def _shown(found: object) -> str:
    if isinstance(found, ModuleType):
        return f"the module {found.__name__} ({getattr(found, '__file__', None) or 'no file'})"
    return f"the {type(found).__name__}"


def _refused(message: str) -> InputError:
    return InputError(message, op="plug_in.load", code="plug_in_unusable")
