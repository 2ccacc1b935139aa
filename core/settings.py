"""What the environment says: where things live, and which database."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from platformdirs import user_data_path

from checkrein.errors import InputError

Durability = Literal["sync", "async", "exit"]


@dataclass(frozen=True)
class Settings:
    """Settings of one process.

    Attributes:
        home: holds the embedded Postgres, working copies and artifacts.
        database_url: your own Postgres; None is the embedded one.
        durability: when LangGraph saves its own checkpoint (docs/decisions/0002).
        failpoint: `PLACE` or `PLACE:N` at which tests end the process; None in production.
        capabilities: `MODULE:OBJECT`s, comma separated: capabilities of yours for every command.
    """

    home: Path
    database_url: str | None = None
    durability: Durability = "exit"
    failpoint: str | None = None
    capabilities: str = ""

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Read CHECKREIN_HOME, _DATABASE_URL, _DURABILITY, _FAILPOINT and _CAPABILITIES.

        Raises:
            InputError: a value is unusable.
        """
        durability = environ.get("CHECKREIN_DURABILITY") or "exit"
        if durability not in get_args(Durability):
            raise InputError(
                f"CHECKREIN_DURABILITY={durability} is none of {', '.join(get_args(Durability))}.",
                op="settings.from_env",
            )
        given = environ.get("CHECKREIN_HOME")
        return cls(
            home=Path(given).expanduser().absolute() if given else default_home(),
            database_url=environ.get("CHECKREIN_DATABASE_URL") or None,
            durability=durability,  # type: ignore[arg-type] # checked above
            failpoint=environ.get("CHECKREIN_FAILPOINT") or None,
            capabilities=environ.get("CHECKREIN_CAPABILITIES", ""),
        )


def default_home() -> Path:
    """The platform's data folder; for root one outside of root's own home.

    Postgres refuses to run as root, so that its server runs as another user, which must be able
    to reach the folder; root's home stays closed.
    """
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/checkrein")
    return user_data_path("checkrein", appauthor=False)
