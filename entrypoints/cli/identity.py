"""Who speaks: a name that is only asserted (`--as`), or one that a token of ours proves.

A token is taken from CHECKREIN_TOKEN or from a file, and never from the command line, where every
program of the machine can read it.
"""

import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from checkrein.entrypoints.cli import words
from checkrein.entrypoints.cli.console import warn
from checkrein.errors import InputError

if TYPE_CHECKING:
    from checkrein.compose import Parts
    from checkrein.contracts.approval import Approver

MAX_FILE = 4096
"""Most bytes of a file with a token."""

_LIKE_A_TOKEN = re.compile(r"ckr_[A-Za-z0-9_-]{20,}")
"""A token of ours, whole or cut."""


@dataclass(frozen=True)
class Claim:
    """Who somebody says they are, before the database was asked.

    Attributes:
        name: as `--as` gives it; None where nobody is named.
        secret: their token, where there is one.
    """

    name: str | None = None
    secret: str | None = field(default=None, repr=False)

    @property
    def nobody(self) -> bool:
        """Whether there is neither a name nor a token."""
        return self.name is None and self.secret is None

    async def proved(self, parts: "Parts", scope: str) -> "Approver":
        """The person, authenticated where a token that is good for `scope` says so.

        Raises as graph.identity.speaker does.
        """
        from checkrein.contracts.token import TokenScope
        from checkrein.graph.identity import speaker

        return await speaker(parts.tokens, self.name, self.secret, TokenScope(scope))


def claim(who: str | None, token_file: Path | None) -> Claim:
    """What `--as`, `--token-file` and CHECKREIN_TOKEN say; the file comes before the variable.

    Raises:
        InputError: the name or the token is of no usable form, or the file cannot be read.
    """
    return Claim(None if who is None else words.person(who), _secret(token_file))


def claim_or_me(who: str | None, token_file: Path | None) -> Claim:
    """As `claim`; where there is neither name nor token, it is the user of this process."""
    found = claim(who, token_file)
    return Claim(words.myself()) if found.nobody else found


async def check_tenant(parts: "Parts", attempt_id: str, who: "Approver") -> None:
    """Refuse the attempts of other tenants to whoever a token signs in to one.

    Raises:
        InputError: other_tenant.
    """
    if who.tenant is not None and (await parts.events.contract(attempt_id)).tenant != who.tenant:
        raise InputError(
            f"There is no attempt {attempt_id} for {who.tenant}, the tenant of {who.name}'s token.",
            op="cli.identity",
            code="other_tenant",
        )


def refuse_tokens(args: Sequence[str]) -> None:
    """Refuse a command line that holds a token, before anything is made of it.

    Raises:
        InputError: token_on_command_line. The token is not repeated.
    """
    if any(_LIKE_A_TOKEN.search(arg) for arg in args):
        raise InputError(
            "A token stands on the command line, where other programs of this machine can read "
            "it. Revoke it (`checkrein token list` names its id), and give the next one by "
            "CHECKREIN_TOKEN or --token-file.",
            op="cli.identity",
            code="token_on_command_line",
        )


def _secret(token_file: Path | None) -> str | None:
    from checkrein.contracts.token import is_token
    from checkrein.settings import Settings

    secret, where = Settings.from_env().token, "CHECKREIN_TOKEN"
    if token_file is not None:
        secret, where = _read(token_file), str(token_file)
    if secret is None:
        return None
    if not is_token(secret):
        _unusable(f"{where} holds no token of Checkrein's: one begins with ckr_ and is 47 long")
    return secret


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_FILE + 1)
            mode = file.stat().st_mode
    except (OSError, ValueError) as error:
        _unusable(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}")
    if len(data) > MAX_FILE:
        _unusable(f"{file} is larger than {MAX_FILE:,} bytes, and no token is")
    # A warning only: secrets that a cluster mounts are open to all of their container.
    if stat.S_ISREG(mode) and mode & (stat.S_IRGRP | stat.S_IROTH):
        warn(f"{file} can be read by others (mode {mode & 0o777:o}); close it: chmod 600 {file}")
    return data.decode("utf-8", "replace").strip()


def _unusable(problem: str) -> NoReturn:
    raise InputError(f"{problem}.", op="cli.identity", code="token_unusable")
