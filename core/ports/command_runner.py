"""The one door through which commands run."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from pydantic import SecretStr

from checkrein.contracts.codec import Frozen


class CommandResult(Frozen):
    """What a command did. Output beyond the runner's bound is cut, and says so at its end.

    Attributes:
        exit_code: negative for a signal; None where the time limit ended it.
    """

    argv: list[str]
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool
    duration_s: float


class CommandRunner(Protocol):
    """Runs argv lists, never shell text, in a clean environment, and ends the whole tree."""

    async def run(
        self,
        argv: list[str],
        *,
        cwd: Path,
        timeout_s: float,
        offline: bool = False,
        stdin: bytes = b"",
        secrets: Mapping[str, SecretStr] = MappingProxyType({}),
    ) -> CommandResult:
        """Run to the end or to the time limit; no process of it is left afterwards.

        `stdin`: all that it can read on its standard input. `secrets`: values by name, which the
        command alone has, as environment variables of those names in capitals; in what it prints
        each stands as `[secret NAME]`.

        Raises:
            EnvironmentFault: the program is not there, or `offline` cannot be had here; the
                message names what is missing.
        """
        ...
