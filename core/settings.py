"""What the environment says: where things live, and which database."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
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
        policy_shadow: a candidate bundle's folder: asked beside the live policy, never deciding;
            where it differs is written to `shadow.jsonl` in the home.
        policy: what decides where a task names nothing: a bundle's folder, or `opa:URL`; None is
            the shipped bundle.
        opa_token, opa_ca, opa_revisions: for the server that `policy` names, and for no other
            (docs/policies-opa.md).
        deliverers: the file that says who is told of approvals, and how (docs/delivery.md).
        token: a token of ours, which proves who speaks on the command line (docs/approvals.md).
        secrets: the folder whose files are the secrets that tasks may be lent (docs/secrets.md).
    """

    home: Path
    database_url: str | None = None
    durability: Durability = "exit"
    failpoint: str | None = None
    capabilities: str = ""
    policy: str | None = None
    policy_shadow: str | None = None
    opa_token: str | None = field(default=None, repr=False)
    opa_ca: str | None = None
    opa_revisions: frozenset[str] = frozenset()
    deliverers: str | None = None
    token: str | None = field(default=None, repr=False)
    secrets: Path | None = None

    @classmethod
    def from_env(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Read CHECKREIN_HOME, _DATABASE_URL, _DURABILITY, _FAILPOINT, _CAPABILITIES,
        _POLICY, _TOKEN, _DELIVERERS, _SECRETS and _OPA_TOKEN, _OPA_CA, _OPA_REVISIONS.

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
            policy=_policy(environ.get("CHECKREIN_POLICY", "")),
            policy_shadow=_folder(environ.get("CHECKREIN_POLICY_SHADOW", "")),
            opa_token=environ.get("CHECKREIN_OPA_TOKEN") or None,
            deliverers=_folder(environ.get("CHECKREIN_DELIVERERS", "")),
            token=environ.get("CHECKREIN_TOKEN") or None,
            secrets=Path(kept) if (kept := _folder(environ.get("CHECKREIN_SECRETS", ""))) else None,
            opa_ca=environ.get("CHECKREIN_OPA_CA") or None,
            opa_revisions=frozenset(
                part.strip()
                for part in environ.get("CHECKREIN_OPA_REVISIONS", "").split(",")
                if part.strip()
            ),
        )


def _folder(text: str) -> str | None:
    return str(Path(text).expanduser().absolute()) if text else None


def _policy(text: str) -> str | None:
    """`opa:URL` as it is, and the folder of `embedded:DIR`, absolute."""
    kind, _, rest = text.partition(":")
    if not text:
        return None
    if kind == "opa" and rest:
        return text
    if kind == "embedded" and rest:
        return str(Path(rest).expanduser().absolute())
    raise InputError(
        "CHECKREIN_POLICY is neither embedded:DIR nor opa:URL.", op="settings.from_env"
    )


def default_home() -> Path:
    """The platform's data folder; for root one outside of root's own home.

    Postgres refuses to run as root, so that its server runs as another user, which must be able
    to reach the folder; root's home stays closed.
    """
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/checkrein")
    return user_data_path("checkrein", appauthor=False)
