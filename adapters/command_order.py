"""What one command is started with: its backend's words for the supervisor."""

from dataclasses import dataclass, field
from pathlib import Path

from checkrein.contracts.environment import Isolation
from checkrein.ports.command_runner import Confinement

OUTPUT_BYTES = 1 << 20
"""Most bytes of each stream that are kept in memory: its first half and its last half."""


@dataclass(frozen=True)
class Order:
    """What is to be run, and how.

    Attributes:
        argv: the command, as it was asked for.
        start: what the supervisor starts: the command itself, or a sandbox with it.
        sandbox: `start` is one, and what runs in it tells how the command ended.
        wrapper: what is put before the supervisor.
        cwd: where the supervisor starts.
        groups: by folder of a control group to be made, what is written into its files.
        pass_fds: descriptors that `start` gets besides.
        root: the writable folder as the command sees it.
        keep: a folder for the whole outputs.
    """

    argv: list[str]
    start: list[str]
    confinement: Confinement
    cwd: Path
    environment: dict[str, str]
    scratch: Path
    backend: str
    isolated: list[Isolation]
    root: str = ""
    sandbox: bool = False
    wrapper: tuple[str, ...] = ()
    groups: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    pass_fds: tuple[int, ...] = ()
    output_bytes: int = OUTPUT_BYTES
    keep: Path | None = None
