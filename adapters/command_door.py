"""One attempt's door to commands: the chosen backend, and what all its commands are held to."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from checkrein.adapters.command_bubblewrap_words import WORKSPACE
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.contracts.environment import Isolation, Offer, offered
from checkrein.ports.command_runner import CommandResult, CommandRunner, Confinement, Mount

MOST_S = 86_400.0
"""Most seconds of a command where nothing bounds them; each names its own time besides."""

_ISOLATED = {Isolation.FILES, Isolation.NETWORK, Isolation.PROCESSES}


class CommandDoor:
    """Runs every command of an attempt, those of the model and those of verifiers.

    Attributes:
        offer: what the backend is here.
    """

    def __init__(
        self,
        runner: CommandRunner,
        offer: Offer,
        held: Confinement,
        *,
        most_at_once: int | None = None,
    ) -> None:
        """`held`: the bounds of each command; its time is the most that one may be given."""
        self.offer = offer
        self._runner = runner
        self._held = held
        self._turn = asyncio.Semaphore(most_at_once) if most_at_once else None

    @classmethod
    def local(cls, *, offline: bool = False) -> "CommandDoor":
        """The door that isolates nothing, within the usual bounds."""
        held = Confinement(timeout_s=MOST_S, network="none" if offline else "host")
        offer = offered("local", "", set(), ["none", "host"])
        return cls(LocalCommandRunner(), offer, held)

    @property
    def isolates(self) -> bool:
        """Whether commands can be kept from files, network and processes of this machine."""
        return set(self.offer.isolates) >= _ISOLATED

    @property
    def offline(self) -> bool:
        """Whether no command has a network, whatever else is said."""
        return self._held.network == "none"

    @property
    def mounts(self) -> Sequence[Mount]:
        """The folders of this machine that its commands see besides their own."""
        return self._held.mounts

    def seen(self, root: Path) -> str:
        """Where a command finds its own folder `root`: in a sandbox at one place, else as it is."""
        return str(root) if self.offer.backend == "local" else WORKSPACE

    def time_for(self, wanted_s: float) -> float:
        """The seconds that a command gets that asks for so many."""
        return min(wanted_s, self._held.timeout_s)

    async def run(
        self,
        argv: list[str],
        *,
        root: Path,
        cwd: Path,
        timeout_s: float,
        offline: bool = False,
        keep: Path | None = None,
        secrets: Mapping[str, SecretStr] | None = None,
        may_change_mounts: bool = False,
    ) -> CommandResult:
        """Run one command in its own folder `root`, which it may change.

        Args:
            argv: the program and its arguments.
            root: a copy that is the command's own; a backend may give it to another user.
            cwd: where in it the command starts.
            timeout_s: its time, at most what all commands are held to.
            offline: it gets no network, also where others do.
            keep: an existing folder for the whole outputs.
            secrets: values by name for it alone, as variables of those names in capitals; masked in
                what it prints.
            may_change_mounts: those that are `rw` are; else none is, so that what judges leaves
                no trace, and a candidate that is judged cannot leave one by it.

        Raises:
            EnvironmentFault: it could not be run as it was to be; the message names why.
        """
        network = "none" if offline or self.offline else "host"
        changed: dict[str, Any] = {
            "timeout_s": self.time_for(timeout_s),
            "writable": root,
            "network": network,
            "secrets": dict(secrets or {}),
        }
        if not may_change_mounts:
            changed["mounts"] = [m.model_copy(update={"writable": False}) for m in self.mounts]
        confinement = self._held.model_copy(update=changed)
        if self._turn is None:
            return await self._runner.run(argv, cwd=cwd, confinement=confinement, keep=keep)
        async with self._turn:
            return await self._runner.run(argv, cwd=cwd, confinement=confinement, keep=keep)
