"""A command that judges a candidate: run in the copy, its report read as a stranger's file."""

import asyncio
import os
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

from checkrein.adapters.command_door import CommandDoor
from checkrein.adapters.throw_away import throw_away_folder
from checkrein.adapters.workspace_paths import GuardedFolder, segments_of
from checkrein.contracts.codec import visible
from checkrein.errors import CapabilityError, EnvironmentFault
from checkrein.ports.command_runner import CommandResult, Ending
from checkrein.ports.verifier import Examination

MAX_GAP = 4000
"""Longest diagnostic that the model is shown, in characters; the end of the output."""


class Ran(NamedTuple):
    """A command that has run, and the whole of it told as text, for people and for evidence."""

    result: CommandResult
    told: bytes


async def run_in_copy(
    door: CommandDoor,
    argv: list[str],
    examination: Examination,
    timeout_s: float,
    *,
    root: Path | None = None,
) -> Ran | str:
    """Run in the copy; a sentence where the program is the candidate's own and is not there.

    `root`: the folder that holds the copy, where the command needs what lies beside it.

    Raises:
        EnvironmentFault: the machine lacks the program, or cannot run it offline.
    """
    try:
        async with throw_away_folder("output") as keep:
            result = await door.run(
                argv,
                root=root or examination.copy_root,
                cwd=examination.copy_root,
                timeout_s=timeout_s,
                offline=examination.contract.offline,
                keep=keep,
            )
            return Ran(result, await asyncio.to_thread(_told, result, keep))
    except EnvironmentFault as error:
        if error.code != "program_missing" or not _of_candidate(argv[0]):
            raise
        # The program is part of the candidate, and so is its absence.
        return f"The program {visible(argv[0])} is not in the workspace or not executable."


def _of_candidate(program: str) -> bool:
    return "/" in program and not program.startswith("/")


def ending(result: CommandResult, timeout_s: float | None) -> str:
    """How a command ended, in words."""
    if result.timed_out:
        return "no end within its time" + (f" of {timeout_s:g} s" if timeout_s else "")
    if result.ended_by not in {Ending.EXIT, Ending.SIGNAL}:
        return f"ended by its {result.ended_by.replace('_', ' ')}"
    code = result.exit_code
    if code is not None and code < 0:
        return f"ended by signal {-code}"
    return f"exit status {code}"


def _told(result: CommandResult, keep: Path) -> bytes:
    held = ", ".join(result.isolated) or "nothing"
    head = (
        f"command: {visible(shlex.join(result.argv))}\n"
        f"outcome: {ending(result, None)}\nseconds: {result.duration_s:.3f}\n"
        f"run by: {result.backend}, which isolated {held}\n"
    )
    stdout, stderr = (keep / "stdout").read_bytes(), (keep / "stderr").read_bytes()
    return head.encode() + b"--- stdout ---\n" + stdout + b"\n--- stderr ---\n" + stderr


def end_of(result: CommandResult) -> str:
    """The end of what a command said, safe for a screen."""
    said = result.stdout + (b"\n" + result.stderr if result.stderr.strip() else b"")
    text = visible(said.decode("utf-8", "replace")).strip()
    return f"[...]\n{text[-MAX_GAP:]}" if len(text) > MAX_GAP else text


async def drop_report(root: Path, path: str) -> None:
    """Remove what the candidate left in the place of a report, so that only the run can make it.

    Raises:
        CapabilityError: the path leads through a link or out of the copy.
    """
    await asyncio.to_thread(_drop, root, path)


def _drop(root: Path, path: str) -> None:
    segments = segments_of(path, op="report.drop")
    try:
        with GuardedFolder(root).folder(segments[:-1], op="report.drop") as parent:
            try:
                os.unlink(segments[-1], dir_fd=parent)
            except (IsADirectoryError, PermissionError):
                shutil.rmtree(segments[-1], dir_fd=parent)
            except FileNotFoundError:
                return
    except CapabilityError as error:
        if error.code != "not_found":
            raise


async def report_of(root: Path, path: str, limit: int) -> bytes:
    """What a run left at `path`: a regular file of at most `limit` bytes, no link on the way.

    Raises:
        CapabilityError: there is none, or it is something else.
    """
    op = "report.read"
    folder, segments = GuardedFolder(root), segments_of(path, op=op)
    return await asyncio.to_thread(lambda: folder.read(segments, op=op, limit=limit))
