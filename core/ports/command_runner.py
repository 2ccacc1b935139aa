"""The one door through which commands run."""

from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field, SecretStr

from checkrein.contracts.codec import Frozen
from checkrein.contracts.environment import Isolation, Offer

MIB = 1 << 20
WHOLE_BYTES = 64 * MIB
"""Most bytes of each output that are kept whole; a command that prints more is ended."""


class Ending(StrEnum):
    """What ended a command. Only `exit` and `signal` are its own doing."""

    EXIT = "exit"
    SIGNAL = "signal"
    TIME_LIMIT = "time_limit"
    OUTPUT_LIMIT = "output_limit"
    MEMORY_LIMIT = "memory_limit"
    PROCESS_LIMIT = "process_limit"
    CPU_LIMIT = "cpu_limit"
    FILE_LIMIT = "file_limit"
    STORAGE_LIMIT = "storage_limit"


class Mount(Frozen):
    """A folder of this machine that a command sees at another place."""

    source: Path
    target: str
    writable: bool = False


class Confinement(Frozen):
    """What one command is held to. A backend that cannot hold it refuses it before it runs.

    Attributes:
        timeout_s: time for the whole tree.
        network: `none` is no network but the command's own.
        writable: a folder that is the command's own: it works in it, and may write all of it.
            Where a backend drops to another user, the folder is given to that user.
        mounts: what it sees besides.
        memory_bytes: of the whole tree where control groups are to be had, else of each process.
        processes: most processes and threads at one time.
        cpu_s: of each process.
        file_bytes: largest file that it may write.
        tmp_bytes: size of its /tmp, of its home and of its shared memory, each.
        storage_bytes: how much more its writable folder may hold.
        whole_bytes: most bytes of each output, after which it is ended.
        secrets: values by name, which the command alone has, as environment variables of those
            names in capitals; in all that is returned or kept of its output each stands as
            `[secret NAME]`.
    """

    timeout_s: float = Field(gt=0)
    network: Literal["none", "host"] = "host"
    writable: Path | None = None
    mounts: list[Mount] = Field(default_factory=list[Mount])
    memory_bytes: int | None = Field(default=None, ge=MIB)
    processes: int = Field(default=1024, ge=1)
    cpu_s: int | None = Field(default=None, ge=1)
    file_bytes: int = Field(default=1 << 30, ge=1)
    tmp_bytes: int = Field(default=512 * MIB, ge=4096)
    storage_bytes: int | None = Field(default=None, ge=1)
    whole_bytes: int = Field(default=WHOLE_BYTES, ge=1)
    secrets: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr], repr=False)


class CommandResult(Frozen):
    """What a command did. Output beyond the runner's bound is cut, and says so in its middle.

    Attributes:
        exit_code: negative for a signal; None where a limit ended it.
        limits_met: limits that it ran into, whatever it did then.
        backend: what ran it.
        isolated: what that backend kept it from, or bounded.
        root: the folder of `Confinement.writable`, as the command saw it.
    """

    argv: list[str]
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    duration_s: float
    ended_by: Ending
    limits_met: list[Ending] = Field(default_factory=list[Ending])
    backend: str = "local"
    isolated: list[Isolation] = Field(default_factory=list[Isolation])
    root: str = ""

    @property
    def timed_out(self) -> bool:
        """Whether its time was over."""
        return self.ended_by is Ending.TIME_LIMIT

    @property
    def passed(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.ended_by is Ending.EXIT and self.exit_code == 0


class CommandRunner(Protocol):
    """Runs argv lists, never shell text, in a clean environment, and ends the whole tree."""

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

        Args:
            argv: the program and its arguments.
            cwd: where it starts, in `confinement.writable` where that is given.
            confinement: what it is held to.
            stdin: all that it can read on its standard input.
            keep: an existing folder for the whole outputs, as the files stdout and stderr.

        Raises:
            EnvironmentFault: the program is not there, or something of the confinement cannot be
                had here; the message names what is missing. `retryable` where a sandbox broke.
            InputError: no list of words that a program can be given.
        """
        ...

    async def offer(self) -> Offer:
        """What this backend is here, or why it cannot be used; what works is remembered."""
        ...
