"""A command's own folder while it runs, and the environment that it is given."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from checkrein.adapters.throw_away import throw_away_folder
from checkrein.errors import EnvironmentFault, InputError

SEARCH_PATH = (
    f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)
"""Where programs are looked for: beside this Python first, so that `python` is this one."""

_OP = "command.run"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
# They would change what starts the command, before anything holds it.
_STEERING = re.compile(r"(?:LD_|PYTHON|GLIBC_|MALLOC_|BASH_|DOCKER_).*|ENV|IFS|SHELLOPTS", re.I)


def check_argv(argv: list[str]) -> None:
    """Refuse what cannot be a command.

    Raises:
        InputError: the argument list is empty or holds a NUL.
    """
    if not argv or any("\0" in part for part in argv):
        raise InputError(
            "A command needs at least a program, and no argument may hold a NUL.",
            op=_OP,
            code="bad_argv",
        )


def clean_environment(home: str, tmp: str, secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    """The whole environment of a command; nothing of ours is handed on.

    Raises:
        InputError: a secret's name is no variable, or one that steers how programs start.
    """
    clean = {
        "PATH": SEARCH_PATH,
        "HOME": home,
        "TMPDIR": tmp,
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    lent: dict[str, str] = {}
    for name, secret in secrets.items():
        variable, value = name.upper(), secret.get_secret_value()
        if not _NAME.fullmatch(variable) or variable in clean or _STEERING.fullmatch(variable):
            raise InputError(
                f"A secret cannot be given to a command as {variable[:40]!r}: choose a name that "
                "is no variable which steers how programs are found or started.",
                op=_OP,
                code="bad_secret_name",
            )
        if not value or "\0" in value:
            raise InputError(
                f"The secret {name} is empty or holds a NUL.", op=_OP, code="bad_secret"
            )
        lent[variable] = value
    return {**clean, **lent}


@asynccontextmanager
async def command_scratch(parent: Path | None, stdin: bytes) -> AsyncGenerator[Path]:
    """A folder with home, tmp and the command's standard input; gone afterwards.

    Raises:
        EnvironmentFault: no_temporary_folder or no_scratch, there is no room for it.
    """
    async with throw_away_folder("run", parent) as scratch:
        await asyncio.to_thread(_laid, scratch, stdin)
        yield scratch


def _laid(scratch: Path, stdin: bytes) -> None:
    try:
        for name in ("home", "tmp"):
            (scratch / name).mkdir()
        (scratch / "stdin").write_bytes(stdin)
    except OSError as error:
        raise EnvironmentFault(
            f"What a command needs cannot be written to {scratch}: {error.strerror}. Make room "
            "there.",
            op=_OP,
            code="no_scratch",
        ) from error


def give_folder(folder: Path, user: int) -> None:
    """Make a user the owner of a folder and all below it; of links themselves, not their targets.

    Only root can; and only of a copy that is thrown away.
    """
    os.chown(folder, user, user, follow_symlinks=False)
    for _, folders, files, at in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            os.chown(name, user, user, dir_fd=at, follow_symlinks=False)
