"""The backend `local`: commands run on this machine, in a clean environment, bounded."""

import asyncio
from pathlib import Path

from checkrein.adapters.command_groups import Groups, find_groups
from checkrein.adapters.command_offline import find_offline
from checkrein.adapters.command_order import OUTPUT_BYTES, Order
from checkrein.adapters.command_run import run_order
from checkrein.adapters.command_scratch import (
    SEARCH_PATH,
    check_argv,
    clean_environment,
    command_scratch,
)
from checkrein.contracts.environment import Isolation, Offer, offered
from checkrein.errors import EnvironmentFault
from checkrein.ports.command_runner import CommandResult, Confinement

__all__ = ["SEARCH_PATH", "LocalCommandRunner"]


class LocalCommandRunner:
    """Implements checkrein.ports.command_runner.CommandRunner by processes of this machine.

    It keeps order and is no sandbox: a command sees the machine's files as the user it runs as.
    `network: none` takes its network away; sockets that are files stay within reach.
    """

    def __init__(self, *, scratch: Path | None = None, output_bytes: int = OUTPUT_BYTES) -> None:
        """`scratch`: an existing folder in which each command gets its own HOME and TMPDIR."""
        self._scratch = scratch
        self._output_bytes = output_bytes
        self._probing = asyncio.Lock()
        self._offline: tuple[str, ...] | None = None
        self._groups: Groups | None = None

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
            EnvironmentFault: program_missing, offline_unavailable, confinement_unavailable, or
                what else is not there; the message names it.
            InputError: no list of words that a program can be given.
        """
        check_argv(argv)
        groups = await self._found_groups()
        _refuse_what_cannot_be_held(confinement, groups)
        alone = confinement.network == "none"
        wrapper = await self.offline_wrapper() if alone else ()
        async with command_scratch(self._scratch, stdin) as scratch:
            environment = clean_environment(
                str(scratch / "home"), str(scratch / "tmp"), confinement.secrets
            )
            order = Order(
                argv=argv,
                start=argv,
                confinement=confinement,
                cwd=cwd,
                environment=environment,
                scratch=scratch,
                backend="local",
                isolated=_isolated(groups, confinement, alone=alone),
                root=str(confinement.writable or ""),
                wrapper=wrapper,
                groups=groups.wanted(confinement.memory_bytes, confinement.processes),
                output_bytes=self._output_bytes,
                keep=keep,
            )
            return await run_order(order)

    async def offer(self) -> Offer:
        """What is held here: order, and where the machine allows it network, memory, processes."""
        try:
            await self.offline_wrapper()
        except EnvironmentFault:
            alone = False
        else:
            alone = True
        groups = await self._found_groups()
        held = {Isolation.NETWORK} if alone else set[Isolation]()
        held |= {Isolation.MEMORY} if groups.memory else set()
        held |= {Isolation.PROCESS_COUNT} if groups.pids else set()
        return offered("local", "", held, ["none", "host"] if alone else ["host"])

    async def offline_wrapper(self) -> tuple[str, ...]:
        """What takes the network away from a command here; found out once.

        Raises:
            EnvironmentFault: offline_unavailable, naming what is missing.
        """
        async with self._probing:
            if self._offline is None:
                self._offline = await find_offline(SEARCH_PATH)
            return self._offline

    async def _found_groups(self) -> Groups:
        if self._groups is None:
            self._groups = await asyncio.to_thread(find_groups)
        return self._groups


def _refuse_what_cannot_be_held(confinement: Confinement, groups: Groups) -> None:
    lacks: list[str] = []
    if confinement.mounts:
        lacks.append("mounts, as they see this machine's own folders alone")
    if confinement.memory_bytes is not None and groups.memory is None:
        lacks.append("a bound of memory, as this user may make no control group")
    if lacks:
        raise EnvironmentFault(
            f"Commands that run without a sandbox cannot have {' and '.join(lacks)}. Install "
            "bubblewrap, or take it out of the task.",
            op="command.run",
            code="confinement_unavailable",
        )


def _isolated(groups: Groups, confinement: Confinement, *, alone: bool) -> list[Isolation]:
    held = {
        Isolation.NETWORK: alone,
        Isolation.MEMORY: groups.memory is not None and confinement.memory_bytes is not None,
        Isolation.PROCESS_COUNT: groups.pids is not None,
    }
    return [item for item in Isolation if held.get(item)]
