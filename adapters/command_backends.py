"""All backends of this process, and the door of one attempt: asked once, chosen by its contract."""

import asyncio
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Set
from pathlib import Path

from checkrein.adapters.command_bubblewrap import BubblewrapCommandRunner
from checkrein.adapters.command_docker import DockerCommandRunner
from checkrein.adapters.command_door import MOST_S, CommandDoor
from checkrein.adapters.command_runner import LocalCommandRunner
from checkrein.adapters.environment import Machine, Negotiated, negotiated
from checkrein.adapters.environment_mounts import absent_mounts
from checkrein.adapters.environment_refusals import hidden_in_reach, missing, question
from checkrein.contracts.check_tests import PytestCheck, hides_tests
from checkrein.contracts.environment import (
    Backend,
    ChosenEnvironment,
    Concession,
    EnvironmentSpec,
    Offer,
)
from checkrein.contracts.task import TaskContract
from checkrein.errors import EnvironmentFault, InputError
from checkrein.ports.command_runner import MIB, CommandResult, CommandRunner, Confinement, Mount

NEEDING = frozenset({"workspace.run_command"})
"""Capabilities that cannot be had without commands."""

_OP = "environment.choose"
_ASK_S = 20.0
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9})+|\d{1,9}")


class CommandBackends:
    """The backends, each made once for all attempts of a process."""

    def __init__(self) -> None:
        """Nothing is looked at before it is asked for."""
        self._bubblewrap = BubblewrapCommandRunner()
        self._docker = DockerCommandRunner()
        self._local = LocalCommandRunner()

    async def offers(self) -> list[Offer]:
        """What each is here, the most isolating first."""
        runners = (self._bubblewrap, self._docker, self._local)
        return list(await asyncio.gather(*(runner.offer() for runner in runners)))

    async def door(
        self, contract: TaskContract, secrets: Set[str] = frozenset()
    ) -> tuple[CommandDoor, ChosenEnvironment | None]:
        """The door for one attempt; what was chosen, where commands are needed at all.

        `secrets`: names of those that this installation has.

        Raises:
            InputError: environment_missing, naming all that is not there and what to do;
                hidden_in_reach, without a sandbox a model's commands could read hidden tests.
            EnvironmentFault: sandbox_unproven, a sandbox is here and did not work this time, so
                that its place is not taken by none.
        """
        if contract.environment is not None:
            return await self._by_contract(contract, contract.environment, secrets)
        if not needs_commands(contract):
            return CommandDoor.local(offline=contract.offline), None
        return await self._usual(contract)

    async def _usual(self, contract: TaskContract) -> tuple[CommandDoor, ChosenEnvironment]:
        """A sandbox where this machine has one, else none, which is on record with the reason."""
        held = Confinement(timeout_s=MOST_S, network="none" if contract.offline else "host")
        offer = await self._bubblewrap.offer()
        if not offer.lack:
            return CommandDoor(self._bubblewrap, offer, held), chosen(offer)
        if offer.unsure:
            raise EnvironmentFault(
                f"{offer.lack} Commands are not run without the sandbox instead: for that, write "
                "`environment: {backends: [local], network: host}` into the task.",
                op=_OP,
                code="sandbox_unproven",
                retryable=True,
            )
        if hides_tests(contract.success) and NEEDING & set(contract.capabilities):
            raise hidden_in_reach(offer.lack)
        bare = await self._local.offer()
        return CommandDoor(self._local, bare, held), chosen(bare, [f"bubblewrap: {offer.lack}"])

    async def _by_contract(
        self, contract: TaskContract, spec: EnvironmentSpec, secrets: Set[str]
    ) -> tuple[CommandDoor, ChosenEnvironment]:
        found = await self._negotiated(contract, spec, secrets)
        agreed = spec.agreed
        if found.offer is None and agreed is not None and agreed.to == "local":
            bare = await self._negotiated(contract, as_local(spec), secrets)
            # Of what it lacks all is told, as if the contract had named it too.
            found = Negotiated(bare.offer, {**found.lacks, **bare.lacks})
        by = None if agreed is None else agreed.by
        if found.offer is not None:
            runner = self._runner(found.offer.backend, spec)
            door = CommandDoor(
                runner, found.offer, held_by(contract, spec), most_at_once=spec.concurrency
            )
            return door, chosen(found.offer, found.told, by if found.lacks else None)
        narrow = spec.on_missing == "narrow" or (agreed is not None and agreed.to == "narrow")
        if narrow and not contract.runs_checks:
            withdrawn = sorted(NEEDING & set(contract.capabilities))
            door = CommandDoor(_NoCommands(), _NONE, Confinement(timeout_s=MOST_S, network="none"))
            less = ChosenEnvironment(withdrawn=withdrawn, lacks=found.told, agreed_by=by)
            return door, less
        if spec.on_missing == "ask" and agreed is None:
            raise await self._question(contract, spec, found, secrets)
        raise missing(found.told, narrow=narrow)

    async def _negotiated(
        self, contract: TaskContract, spec: EnvironmentSpec, secrets: Set[str]
    ) -> Negotiated:
        wanted = [offer for offer in await self.offers() if offer.backend in spec.backends]
        machine = await self._machine(spec, wanted, secrets)
        own_python = any(isinstance(check, PytestCheck) for check in contract.success)
        return negotiated(spec, wanted, machine, own_python=own_python)

    async def _question(
        self,
        contract: TaskContract,
        spec: EnvironmentSpec,
        found: Negotiated,
        secrets: Set[str],
    ) -> InputError:
        """What a person can agree to, of what this machine can really do."""
        bare = await self._negotiated(contract, as_local(spec), secrets)
        choices: list[Concession] = [] if bare.offer is None else ["local"]
        if not contract.runs_checks:
            choices.append("narrow")
        return question(found.told, choices) if choices else missing(found.told, narrow=False)

    def _runner(self, backend: Backend, spec: EnvironmentSpec) -> CommandRunner:
        if backend == "docker":
            return DockerCommandRunner(image=spec.image)
        return self._bubblewrap if backend == "bubblewrap" else self._local

    async def _machine(
        self, spec: EnvironmentSpec, offers: list[Offer], secrets: Set[str]
    ) -> Machine:
        usable = [o for o in offers if not o.lack and o.backend != "docker"]
        tools: dict[Backend, dict[str, str | None]] = {}
        for offer in usable:
            runner = self._runner(offer.backend, spec)
            told = await asyncio.gather(*(_version(runner, tool) for tool in spec.tools))
            tools[offer.backend] = dict(zip(spec.tools, told, strict=True))
        return Machine(
            os=sys.platform,
            arch=platform.machine(),
            tools=tools,
            packages={name: _installed(name) for name in spec.packages},
            secrets=secrets,
            absent=await asyncio.to_thread(absent_mounts, spec),
        )


def as_local(spec: EnvironmentSpec) -> EnvironmentSpec:
    """The same without a sandbox."""
    return spec.model_copy(update={"backends": ["local"]})


def needs_commands(contract: TaskContract) -> bool:
    """Whether a task can come to run commands."""
    return contract.runs_checks or bool(NEEDING & set(contract.capabilities))


def chosen(
    offer: Offer, lacks: list[str] | None = None, agreed_by: str | None = None
) -> ChosenEnvironment:
    """What is recorded of the backend that was chosen."""
    return ChosenEnvironment(
        backend=offer.backend,
        version=offer.version,
        isolates=offer.isolates,
        does_not=offer.does_not,
        lacks=lacks or [],
        agreed_by=agreed_by,
    )


def held_by(contract: TaskContract, spec: EnvironmentSpec) -> Confinement:
    """What every command of a task is held to, by its environment contract."""
    alone = contract.offline or spec.network == "none"
    return Confinement(
        timeout_s=float(spec.timeout_s or MOST_S),
        network="none" if alone else "host",
        mounts=[
            # Where its links lead now, which is what was looked at.
            Mount(
                source=Path(os.path.realpath(m.path)),
                target=f"/mnt/{m.name}",
                writable=m.mode == "rw",
            )
            for m in spec.mounts
        ],
        memory_bytes=None if spec.memory_mb is None else spec.memory_mb * MIB,
        processes=spec.processes or 1024,
        cpu_s=spec.cpu_s,
        storage_bytes=None if spec.storage_mb is None else spec.storage_mb * MIB,
        tmp_bytes=(spec.storage_mb or 512) * MIB,
    )


_NONE = Offer(backend="local", lack="nothing that the task allows can run commands here")


class _NoCommands:
    """Where commands were withdrawn; nothing that is offered reaches it."""

    async def run(
        self,
        argv: list[str],
        *,
        cwd: Path,
        confinement: Confinement,
        stdin: bytes = b"",
        keep: Path | None = None,
    ) -> CommandResult:
        raise EnvironmentFault(
            "Commands were withdrawn: what the task's environment needs is not there.",
            op=_OP,
            code="sandbox_unavailable",
        )

    async def offer(self) -> Offer:
        return _NONE


async def _version(runner: CommandRunner, tool: str) -> str | None:
    """What a program says of itself, asked where commands will run."""
    confinement = Confinement(timeout_s=_ASK_S, network="none")
    try:
        result = await runner.run([tool, "--version"], cwd=Path("/"), confinement=confinement)
    except EnvironmentFault:
        return None
    said = (result.stdout or result.stderr).decode("utf-8", "replace")
    found = _VERSION.search(said)
    return found[0] if result.passed and found else None


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
