"""A real OPA for comparisons and tests: found, or built once with Go.

    python -m checkrein.evals.opa_binary

prints where it lies. Without OPA and without Go it says how to get one and ends with 0, since
nothing is broken then; where Go is there and cannot build it, it ends with 1.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from checkrein.errors import EnvironmentFault

VERSION = "1.22.3"
"""What is built; docs/policies-opa.md names it too."""

OLDEST = (1, 21, 3)
"""Older ones are passed over, as the adapter would refuse them."""

FOLDER = Path(".opa/bin")
"""Where it is built, below the project's folder; git does not see it."""

HOW = (
    f"No OPA here. Get one: `make opa` builds {VERSION} with Go 1.25 or newer, "
    "or set OPA_BIN to an opa of 1.21.3 or newer."
)

_MODULE = "github.com/open-policy-agent/opa"
_BUILD_S = 1_800
_MAIN = f"""package main

import (
	"os"

	"{_MODULE}/cmd"
)

func main() {{
	if err := cmd.RootCommand.Execute(); err != nil {{
		os.Exit(1)
	}}
}}
"""


def found(root: Path | None = None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The OPA to use: OPA_BIN, else the one on PATH, else the one built below `root`. Blocking.

    Raises:
        EnvironmentFault: OPA_BIN names none that can be used.
    """
    if given := environ.get("OPA_BIN"):
        if not usable(Path(given)):
            raise EnvironmentFault(
                f"OPA_BIN={given} is no OPA of 1.21.3 or newer. Name another one, or unset it.",
                op="opa.find",
                code="opa_too_old",
            )
        return Path(given)
    on_path = shutil.which("opa", path=environ.get("PATH"))
    built = (root or Path.cwd()) / FOLDER / "opa"
    places = [Path(on_path)] if on_path else []
    return next((place for place in [*places, built] if usable(place)), None)


def usable(place: Path) -> bool:
    """Whether a program is an OPA that is new enough. Blocking."""
    if not place.is_file():
        return False
    try:
        told = subprocess.run(  # noqa: S603 - a fixed line
            [str(place), "version"], capture_output=True, text=True, timeout=30, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    match = re.match(r"Version: ([0-9]+)\.([0-9]+)\.([0-9]+)", told)
    return match is not None and tuple(int(part) for part in match.groups()) >= OLDEST


def built(root: Path) -> Path:
    """Build OPA with Go below `root`. Blocking, for minutes the first time.

    Raises:
        EnvironmentFault: there is no Go, or it cannot build it; the message ends with its words.
    """
    go = shutil.which("go")
    if go is None:
        raise EnvironmentFault(HOW, op="opa.build", code="no_go")
    folder = (root / FOLDER).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="checkrein-opa-") as scratch:
        # Built aside and moved: another run must never find half of it.
        environment = {**os.environ, "CGO_ENABLED": "0", "GOBIN": scratch}
        words = _run([go, "install", f"{_MODULE}@v{VERSION}"], Path(scratch), environment)
        if words is not None:
            words = _by_module(go, Path(scratch), environment)
        made = Path(scratch) / "opa"
        if words is not None or not usable(made):
            raise EnvironmentFault(
                f"Go cannot build OPA {VERSION}: {words or 'it does not run'}",
                op="opa.build",
                code="opa_build",
            )
        aside = folder / f"opa.{os.getpid()}"
        shutil.copy2(made, aside)
        aside.replace(folder / "opa")
    return folder / "opa"


def _by_module(go: str, scratch: Path, environment: Mapping[str, str]) -> str | None:
    """By a small module of our own, for a Go that does not install a module by its version."""
    place = scratch / "module"
    place.mkdir()
    (place / "main.go").write_text(_MAIN, encoding="utf-8")
    for line in (
        ["mod", "init", "checkrein.invalid/opa"],
        ["get", f"{_MODULE}@v{VERSION}"],
        ["mod", "tidy"],
        ["build", "-o", str(scratch / "opa"), "."],
    ):
        if (words := _run([go, *line], place, environment)) is not None:
            return words
    return None


def _run(line: list[str], folder: Path, environment: Mapping[str, str]) -> str | None:
    """What a failed command said last; None where it worked."""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed line
            line,
            cwd=folder,
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=_BUILD_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    return None if done.returncode == 0 else done.stderr.strip()[-2_000:]


def main() -> int:
    """Find or build."""
    root = Path.cwd()
    try:
        place = found(root)
        if place is None and shutil.which("go") is None:
            print(HOW)
            return 0
        if place is None:
            print(f"building OPA {VERSION} with Go, once ...", file=sys.stderr, flush=True)
            place = built(root)
    except EnvironmentFault as fault:
        print(fault, file=sys.stderr)
        return 1
    print(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
