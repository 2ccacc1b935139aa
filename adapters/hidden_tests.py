"""Hidden tests: a folder of a person's, laid over a verifier's own copy and over nothing else."""

import os
import shutil
import stat
from pathlib import Path

from checkrein.contracts.attempt import WorkspaceRef
from checkrein.errors import EnvironmentFault

MAX_FILES = 20_000
"""Most files and folders that are laid over a copy."""

_OP = "hidden.lay"


def lay_over(hidden: str, copy: Path, workspace: WorkspaceRef) -> frozenset[str]:
    """Copy the folder's files over the copy, in place of what lies there; returns their paths.

    Nothing that the candidate left is followed: a link in the way is replaced. Blocking.

    Raises:
        EnvironmentFault: the folder is not there, lies where a model can reach it, or cannot be
            read. The message names nothing in it.
    """
    source = Path(hidden)
    _check_apart(source, workspace)
    try:
        return frozenset(_lay(source.resolve(strict=True), copy))
    except OSError as error:
        raise EnvironmentFault(
            f"The folder of hidden tests cannot be laid over the copy: {error.strerror}. "
            "See that it is a readable folder.",
            op=_OP,
            code="hidden_unusable",
        ) from error


def _check_apart(source: Path, workspace: WorkspaceRef) -> None:
    real = source.resolve()
    for place in {workspace.root, workspace.source}:
        work = Path(place).resolve()
        if real.is_relative_to(work) or work.is_relative_to(real):
            raise EnvironmentFault(
                "The folder of hidden tests and the workspace lie one in the other, so that a "
                "model could read them. Put the tests elsewhere.",
                op=_OP,
                code="hidden_in_workspace",
            )


def _lay(source: Path, copy: Path) -> list[str]:
    laid: list[str] = []
    seen = 0
    for folder, folders, files in os.walk(source, onerror=_raised):
        folders[:] = [name for name in folders if name != "__pycache__"]
        linked = [name for name in folders if Path(folder, name).is_symlink()]
        if linked:
            raise EnvironmentFault(
                "The folder of hidden tests holds a link to a folder, whose tests would be left "
                "out. Put the files themselves there.",
                op=_OP,
                code="hidden_unusable",
            )
        below = os.path.relpath(folder, source)
        target = copy if below == "." else copy / below
        _make_folder(target)
        seen += 1 + len(files)
        if seen > MAX_FILES:
            raise EnvironmentFault(
                f"The folder of hidden tests holds more than {MAX_FILES} files.",
                op=_OP,
                code="hidden_too_large",
            )
        for name in files:
            file = Path(folder, name)
            # A link of the author's means what it leads to; pipes and the like are no tests.
            if stat.S_ISREG(file.stat().st_mode):
                _clear(target / name)
                shutil.copyfile(file, target / name)
                laid.append(os.path.normpath(os.path.join(below, name)))
    return laid


def _raised(error: OSError) -> None:
    raise error


def _make_folder(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        _clear(path)
        path.mkdir()


def _clear(path: Path) -> None:
    """Remove whatever lies there; a link itself, never what it leads to."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
