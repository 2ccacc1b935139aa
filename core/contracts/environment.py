"""The environment contract: where a task's commands may run, and what must be there."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from checkrein.contracts.codec import Frozen

Backend = Literal["bubblewrap", "docker", "local"]
"""What runs commands; `local` keeps order and isolates nothing."""

BACKENDS: tuple[Backend, ...] = ("bubblewrap", "docker", "local")
"""All of them, the most isolating that needs no image first."""

ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$", max_length=64)]
Least = Annotated[str, Field(pattern=r"^(>=\s*)?\d{1,9}(\.\d{1,9}){0,3}$", max_length=64)]
"""A least version such as `>=2.30`."""

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9*.:-]+$", max_length=253)]


class Isolation(StrEnum):
    """One thing that a backend can keep a command from, or bound."""

    FILES = "files"
    NETWORK = "network"
    PROCESSES = "processes"
    SOCKETS = "sockets"
    USER = "user"
    SYSTEM_CALLS = "system_calls"
    MEMORY = "memory"
    PROCESS_COUNT = "process_count"
    TEMPORARY_STORAGE = "temporary_storage"


class MountSpec(Frozen):
    """A folder beside the task file that commands see at /mnt/NAME.

    Attributes:
        path: relative to the task file's folder until the loader makes it absolute.
    """

    path: str = Field(min_length=1, max_length=4096)
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=64)
    mode: Literal["ro", "rw"] = "ro"


Concession = Literal["local", "narrow"]
"""What a person can agree to: commands without a sandbox, or none at all."""

CONCESSIONS: dict[str, Concession] = {"local": "local", "narrow": "narrow"}
"""By the word that a person says."""


class Agreement(Frozen):
    """A person's word that less than the task's environment will do. The name is asserted."""

    to: Concession
    by: str = Field(pattern=r"^[\w.@+-]{1,128}$")


class EnvironmentSpec(Frozen):
    """What the commands of a task need and are held to.

    Attributes:
        backends: which may run them, the preferred first; others may not.
        image: what docker runs, pinned by its digest.
        tools: program to least version, asked of the program itself.
        packages: distributions that this Python must have, to least version.
        network: `none`, `host`, or hosts that alone may be reached, which no backend can enforce.
        idle_s: a time without output after which a command is ended, which no backend can enforce.
        secrets: names of secrets that must be set up here; the task's own `secrets` lends them.
        on_missing: `fail` starts nothing; `narrow` withdraws what needs commands; `ask` starts
            nothing before a person has agreed to less.
        agreed: what a person agreed to; it counts only where something is missing.
    """

    backends: list[Backend] = Field(default=["bubblewrap", "docker"], min_length=1, max_length=3)
    os: Literal["linux", "darwin"] | None = None
    arch: Literal["x86_64", "aarch64"] | None = None
    image: str | None = Field(default=None, max_length=512)
    tools: dict[ToolName, Least] = Field(default_factory=dict[ToolName, Least], max_length=32)
    packages: dict[ToolName, Least] = Field(default_factory=dict[ToolName, Least], max_length=64)
    network: Literal["none", "host"] | list[HostName] = "none"
    mounts: list[MountSpec] = Field(default_factory=list[MountSpec], max_length=16)
    cpu_s: int | None = Field(default=None, ge=1, le=86_400, strict=True)
    memory_mb: int | None = Field(default=None, ge=16, le=1_048_576, strict=True)
    processes: int | None = Field(default=None, ge=1, le=32_768, strict=True)
    storage_mb: int | None = Field(default=None, ge=1, le=1_048_576, strict=True)
    gpu: bool = False
    timeout_s: int | None = Field(default=None, ge=1, le=3_600, strict=True)
    idle_s: int | None = Field(default=None, ge=1, le=3_600, strict=True)
    concurrency: int | None = Field(default=None, ge=1, le=64, strict=True)
    persistence: Literal["none"] = "none"
    secrets: list[ToolName] = Field(default_factory=list[ToolName], max_length=32)
    on_missing: Literal["fail", "narrow", "ask"] = "fail"
    agreed: Agreement | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "EnvironmentSpec":
        if len(set(self.backends)) != len(self.backends):
            raise ValueError("backends names one backend twice")
        names = [mount.name for mount in self.mounts]
        if len(set(names)) != len(names):
            raise ValueError("mounts gives one name twice")
        if self.agreed is not None and self.on_missing != "ask":
            raise ValueError("agreed answers a question that on_missing does not ask: write `ask`")
        return self

    def agreed_to(self, to: Concession, by: str) -> "EnvironmentSpec":
        """The same with a person's word. `by`: who says so, asserted and not proved.

        Raises:
            ValueError: `by` is no name of a person.
        """
        return self.model_copy(update={"agreed": Agreement(to=to, by=by)})


class Offer(Frozen):
    """What one backend is on this machine.

    Attributes:
        lack: why it cannot be used, and how to get it; empty where it can.
        unsure: the lack is a fault of the moment: whether it is there, nobody can say.
        isolates: what it keeps commands from, or bounds.
        does_not: the rest of Isolation, so that nobody has to compare.
        networks: the networks that it can give a command.
        tested: whether this project's suite runs against it; else only its words are checked.
    """

    backend: Backend
    version: str = ""
    lack: str = ""
    unsure: bool = False
    isolates: list[Isolation] = Field(default_factory=list[Isolation])
    does_not: list[Isolation] = Field(default_factory=list[Isolation])
    networks: list[Literal["none", "host"]] = Field(default_factory=list[Literal["none", "host"]])
    tested: bool = True


def offered(
    backend: Backend,
    version: str,
    isolates: set[Isolation],
    networks: list[Literal["none", "host"]],
    *,
    tested: bool = True,
) -> Offer:
    """An offer of a backend that is there."""
    return Offer(
        backend=backend,
        version=version,
        isolates=[item for item in Isolation if item in isolates],
        does_not=[item for item in Isolation if item not in isolates],
        networks=networks,
        tested=tested,
    )


def lacking(backend: Backend, why: str, *, unsure: bool = False) -> Offer:
    """An offer of a backend that is not there, or of which nobody can say whether it is."""
    return Offer(backend=backend, lack=why, unsure=unsure, does_not=list(Isolation))


class ChosenEnvironment(Frozen):
    """Where the commands of an attempt run.

    Attributes:
        isolates: what the backend keeps them from, or bounds.
        does_not: what it does not.
        withdrawn: granted capabilities that are not offered, as what they need is not there.
        lacks: what was missing, of each backend that was wanted before this one.
        agreed_by: who agreed to less than the task's environment.
    """

    backend: Backend | None = None
    version: str = ""
    isolates: list[Isolation] = Field(default_factory=list[Isolation])
    does_not: list[Isolation] = Field(default_factory=list[Isolation])
    withdrawn: list[str] = Field(default_factory=list[str], max_length=256)
    lacks: list[str] = Field(default_factory=list[str], max_length=256)
    agreed_by: str | None = None
