"""The backend `bubblewrap`: commands run in namespaces of their own, with few files in sight."""

import asyncio
import json
import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from checkrein.adapters.command_bubblewrap_words import WORKSPACE, Inside, inside_words
from checkrein.adapters.command_groups import Groups, find_groups
from checkrein.adapters.command_order import OUTPUT_BYTES, Order
from checkrein.adapters.command_run import run_order
from checkrein.adapters.command_scratch import (
    SEARCH_PATH,
    check_argv,
    clean_environment,
    command_scratch,
    give_folder,
)
from checkrein.adapters.command_seccomp import filter_for
from checkrein.contracts.environment import Isolation, Offer, lacking, offered
from checkrein.errors import EnvironmentFault
from checkrein.ports.command_runner import CommandResult, Confinement

_OP = "command.bubblewrap"
_GET = (
    "Install it (Debian, Ubuntu: `apt-get install bubblewrap`; Fedora: `dnf install bubblewrap`) "
    "and allow user namespaces, or run as root."
)
_PROBE_S = 20.0
_ABSENT = "sandbox_unavailable"
# What a kernel says that lets this user have none. All else may pass, and is no word on that.
_REFUSED = re.compile(
    r"not permitted|[Pp]ermission|not implemented|not supported|user namespaces|"
    r"namespace failed: (?:No space|Invalid argument|nesting depth)"
)
# Above all that systemd, containers and people are given, so that nothing else is this user.
_FIRST_USER, _USERS = 0x70000000, 1 << 20
# Process 1 of the sandbox and bubblewrap itself are of the same control group.
_OWN_PROCESSES = 2


@dataclass(frozen=True)
class _Found:
    """What the machine has for it."""

    program: str
    version: str
    groups: Groups
    seccomp: bytes | None
    isolates: frozenset[Isolation]


class BubblewrapCommandRunner:
    """Implements checkrein.ports.command_runner.CommandRunner by bubblewrap.

    A command has its own user, processes, network, sockets and mounts. It sees the system's
    programs, this Python, its own folder at /workspace, and nothing else of this machine.
    """

    def __init__(
        self,
        *,
        scratch: Path | None = None,
        output_bytes: int = OUTPUT_BYTES,
        path: str = SEARCH_PATH,
    ) -> None:
        """`path`: where `bwrap` is looked for."""
        self._scratch = scratch
        self._output_bytes = output_bytes
        self._path = path
        self._probing = asyncio.Lock()
        self._found: _Found | None = None

    async def run(
        self,
        argv: list[str],
        *,
        cwd: Path,
        confinement: Confinement,
        stdin: bytes = b"",
        keep: Path | None = None,
    ) -> CommandResult:
        """Run to the end or to a limit; no process of it is left afterwards.

        Raises:
            EnvironmentFault: sandbox_unavailable, sandbox_unproven or sandbox_broken,
                program_missing, or what else is not there; the message names it.
            InputError: no list of words that a program can be given.
        """
        check_argv(argv)
        async with self._probing:
            found = await self._looked()
        return await self._run(found, argv, cwd, confinement, stdin, keep)

    async def offer(self) -> Offer:
        """What it isolates here; believed only after a command really ran in it."""
        try:
            async with self._probing:
                found = await self._looked()
        except EnvironmentFault as fault:
            return lacking("bubblewrap", str(fault), unsure=fault.code != _ABSENT)
        return offered("bubblewrap", found.version, set(found.isolates), ["none", "host"])

    async def _looked(self) -> _Found:
        # Only what works is remembered: what does not may work when it is asked again.
        if self._found is None:
            self._found = await self._probed()
        return self._found

    async def _probed(self) -> _Found:
        if sys.platform != "linux":
            raise _unavailable("it is a part of Linux, and this is another system")
        program = await asyncio.to_thread(shutil.which, "bwrap", path=self._path)
        if program is None:
            raise _unavailable(f"the program bwrap is not in {self._path}")
        groups = await asyncio.to_thread(find_groups)
        seccomp = filter_for(platform.machine())
        # Where a root caller drops to a user of its own, or the kernel counts by namespace, the
        # number of processes is bounded without control groups as well.
        counted = groups.pids is not None or os.geteuid() == 0 or _kernel() >= (5, 14)
        isolates = set(Isolation)
        isolates -= set() if seccomp else {Isolation.SYSTEM_CALLS}
        isolates -= set() if counted else {Isolation.PROCESS_COUNT}
        found = _Found(program, "", groups, seccomp, frozenset(isolates))
        await self._tried(found, ["python", "-c", "import json"])
        version = await asyncio.to_thread(_version_of, program)
        return replace(found, version=version)

    async def _tried(self, found: _Found, argv: list[str]) -> None:
        confinement = Confinement(timeout_s=_PROBE_S, network="none")
        try:
            result = await self._run(found, argv, Path("/"), confinement, b"", None)
        except EnvironmentFault as fault:
            if fault.code == "sandbox_broken" and _REFUSED.search(str(fault)):
                raise _unavailable(str(fault)) from fault
            raise _unproven(str(fault)) from fault
        if not result.passed:
            said = result.stderr[-400:].decode("utf-8", "replace").strip()
            late = result.timed_out
            how = f"no end within {_PROBE_S:g} s" if late else f"exit {result.exit_code}"
            raise _unproven(f"{argv[0]} did not run in it ({how}): {said}")

    async def _run(
        self,
        found: _Found,
        argv: list[str],
        cwd: Path,
        confinement: Confinement,
        stdin: bytes,
        keep: Path | None,
    ) -> CommandResult:
        where = await asyncio.to_thread(_inside_path, cwd, confinement)
        async with command_scratch(self._scratch, stdin) as scratch:
            user = _FIRST_USER + secrets.randbelow(_USERS) if os.geteuid() == 0 else None
            inside = Inside(argv, where, user, confinement, found.groups)
            with ExitStack() as held:
                words, fds = await asyncio.to_thread(_prepared, found, inside, scratch, held)
                order = Order(
                    argv=argv,
                    start=[found.program, *words],
                    confinement=confinement,
                    cwd=Path("/"),
                    environment=clean_environment("/home/sandbox", "/tmp", confinement.secrets),  # noqa: S108 - its own
                    scratch=scratch,
                    backend="bubblewrap",
                    isolated=_held(found, confinement),
                    root=WORKSPACE if confinement.writable is not None else "",
                    sandbox=True,
                    groups=found.groups.wanted(
                        confinement.memory_bytes, confinement.processes + _OWN_PROCESSES
                    ),
                    pass_fds=fds,
                    output_bytes=self._output_bytes,
                    keep=keep,
                )
                return await run_order(order)


def _prepared(
    found: _Found, inside: Inside, scratch: Path, held: ExitStack
) -> tuple[list[str], tuple[int, ...]]:
    """Write what the sandbox needs; bubblewrap's words, and the descriptors that it reads."""
    (scratch / "inside.json").write_text(json.dumps(inside.order()), encoding="ascii")
    if inside.user is not None and inside.confinement.writable is not None:
        give_folder(inside.confinement.writable, inside.user)
    fds: tuple[int, ...] = ()
    if found.seccomp is not None:
        (scratch / "filter").write_bytes(found.seccomp)
        fds = (os.open(scratch / "filter", os.O_RDONLY | os.O_CLOEXEC),)
        held.callback(os.close, fds[0])
    return inside_words(inside, scratch, *fds), fds


def _version_of(program: str) -> str:
    try:
        said = subprocess.run(  # noqa: S603 - the program that was found, and fixed words
            [program, "--version"], capture_output=True, timeout=_PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unproven(f"it does not tell its version: {error}") from error
    return (said.stdout.decode("utf-8", "replace").split() or [""])[-1]


def _inside_path(cwd: Path, confinement: Confinement) -> str:
    """Where a folder of the writable one lies inside.

    Raises:
        EnvironmentFault: command_not_started, it is not there, or lies elsewhere.
    """
    if confinement.writable is None:
        return "/"
    root, place = os.path.realpath(confinement.writable), os.path.realpath(cwd)
    if os.path.isdir(place) and (place == root or place.startswith(root + os.sep)):
        return WORKSPACE + place[len(root) :]
    raise EnvironmentFault(
        f"No process can be started in {cwd}: it is no folder of {confinement.writable}, which is "
        "all that a sandboxed command sees.",
        op=_OP,
        code="command_not_started",
    )


def _held(found: _Found, confinement: Confinement) -> list[Isolation]:
    """What is held for this very command."""
    without = {Isolation.NETWORK} if confinement.network == "host" else set[Isolation]()
    without |= {Isolation.MEMORY} if confinement.memory_bytes is None else set()
    return [item for item in Isolation if item in found.isolates - without]


def _kernel() -> tuple[int, int]:
    major, minor = platform.release().split(".")[:2]
    return int(major), int("".join(c for c in minor if c.isdigit()) or "0")


def _unavailable(why: str) -> EnvironmentFault:
    return EnvironmentFault(f"bubblewrap cannot be used here: {why}. {_GET}", op=_OP, code=_ABSENT)


def _unproven(why: str) -> EnvironmentFault:
    """It is there, and did not do what it does elsewhere: perhaps for this once."""
    return EnvironmentFault(
        f"bubblewrap is here, and a first command in it failed: {why}. Try again, with less load "
        "on this machine; `checkrein doctor` tells how it stands.",
        op=_OP,
        code="sandbox_unproven",
        retryable=True,
    )
