"""Secrets as files of one folder: the file's name is the secret's, its content the value.

That is how systemd's credentials, Docker's secrets and most secret agents hand secrets over.
"""

import asyncio
import os
import re
import stat
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import SecretStr

from checkrein.adapters.masking import Masking, label
from checkrein.adapters.workspace_paths import FILE, FOLDER
from checkrein.ports.secrets import MAX_TTL_S, MAX_VALUE, MIN_VALUE, SecretLease, unavailable

SETTING = "CHECKREIN_SECRETS"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class FolderSecrets:
    """Implements checkrein.ports.secrets.SecretBroker; each lease reads the file anew.

    A file that anybody else could read or change is refused, and so is a link.
    """

    def __init__(self, folder: Path | None) -> None:
        """`folder`: None is an installation without secrets; then each lease is refused."""
        self._folder = folder

    async def lease(self, name: str, *, purpose: str, action_id: str, ttl_s: float) -> SecretLease:
        """Lend the content of a file.

        Raises:
            EnvironmentFault: secret_unavailable.
        """
        if not _NAME.fullmatch(name):
            raise unavailable(repr(name)[:80], "it is no name of a secret.")
        if not 0 < ttl_s <= MAX_TTL_S:
            raise unavailable(name, f"it would be held for more than {MAX_TTL_S:g} s.")
        value = await asyncio.to_thread(_value, self._folder, name)
        return SecretLease(
            name,
            value,
            purpose=purpose,
            action_id=action_id,
            expires_at=datetime.now(UTC) + timedelta(seconds=ttl_s),
        )

    async def names(self) -> frozenset[str]:
        """The names of the secrets that there are; whether each can be lent is seen when it is."""
        return await asyncio.to_thread(_names, self._folder)

    def masks(self, values: Mapping[str, SecretStr]) -> Masking:
        """What takes these values out of texts."""
        return Masking(values)


def _names(folder: Path | None) -> frozenset[str]:
    if folder is None or not folder.is_dir():
        return frozenset()
    return frozenset(path.name for path in folder.iterdir() if _NAME.fullmatch(path.name))


def _value(folder: Path | None, name: str) -> SecretStr:
    if folder is None:
        raise unavailable(
            name, f"there are no secrets here. Set {SETTING} to a folder that holds a file {name}."
        )
    try:
        return SecretStr(_checked(name, _content(folder, name)))
    except FileNotFoundError:
        raise unavailable(
            name, f"there is no file {folder / name}. Make it, readable for this user alone."
        ) from None
    except OSError as error:
        why = f"{folder / name} cannot be read ({error.strerror}). It must be a plain file, no link"
        raise unavailable(name, f"{why}, in a folder that is no link.") from None


def _content(folder: Path, name: str) -> bytes:
    place = os.open(folder, FOLDER)
    try:
        _check_owned(name, folder, os.fstat(place), forbidden=0o022)
        fd = os.open(name, FILE, dir_fd=place)
    finally:
        os.close(place)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise unavailable(name, f"{folder / name} is no plain file.")
        _check_owned(name, folder / name, status, forbidden=0o077)
        with open(fd, "rb", closefd=False) as stream:
            return stream.read(4 * MAX_VALUE + 2)
    finally:
        os.close(fd)


def _check_owned(name: str, path: Path, status: os.stat_result, *, forbidden: int) -> None:
    """Refuse what others could read, or put there."""
    if status.st_uid not in (0, os.geteuid()):
        raise unavailable(name, f"{path} belongs to another user. Give it to this one.")
    if status.st_mode & forbidden:
        mode = "600" if forbidden == 0o077 else "700"
        raise unavailable(
            name, f"{path} is open to others than this user. Run `chmod {mode} {path}`."
        )


def _checked(name: str, content: bytes) -> str:
    """The value; one line feed at the end is the editor's."""
    try:
        value = content.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        # Without the cause: its text would quote the value.
        raise unavailable(name, "its value is no UTF-8 text.") from None
    if "\0" in value:
        raise unavailable(name, "its value holds a NUL.")
    if not MIN_VALUE <= len(value) <= MAX_VALUE:
        far = "fewer" if len(value) < MIN_VALUE else "more"
        raise unavailable(
            name,
            f"its value has {far} characters than the {MIN_VALUE} to {MAX_VALUE} that can be lent "
            "and masked.",
        )
    if value in label(name) or label(name) in value:
        raise unavailable(name, "its value cannot be told from its name. Take another value.")
    return value
