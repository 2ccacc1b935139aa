"""The governed loop against LangChain's own, on one Postgres, in one run.

    python -m checkrein.evals.benchmark [--quick] [--only ours|theirs] [--json]

docs/benchmarks.md says what the numbers mean. Progress goes to stderr, tables to stdout.
"""

import argparse
import asyncio
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from checkrein.compose import database_of, embedded_server
from checkrein.errors import CheckreinError
from checkrein.evals import benchmark_ours as ours
from checkrein.evals import benchmark_report as report
from checkrein.evals.benchmark_meter import Meter, metered
from checkrein.evals.benchmark_runs import (
    WARM_UP,
    Case,
    Contender,
    Durability,
    Mode,
    Sample,
    Side,
)
from checkrein.settings import Settings

OURS: tuple[Durability, ...] = get_args(Durability)
THEIRS: tuple[Durability, ...] = ("sync", "exit")
"""Theirs survives a crash in sync; exit is for information."""


@dataclass(frozen=True)
class Plan:
    """How many actions, how often, and which sides."""

    repetitions: dict[int, int]
    sides: tuple[Side, ...]

    def cases(self, mode: Mode, actions: int) -> Iterator[Case]:
        """The cases of one mode and length, which take turns."""
        for side in self.sides:
            for durability in OURS if side == "ours" else THEIRS:
                yield Case(side, mode, durability, actions)


FULL = {20: 3, 100: 3, 500: 1}
QUICK = {20: 1, 100: 1}


@dataclass(frozen=True)
class Arena:
    """A server and a folder of the benchmark's own."""

    login: str
    home: Path
    folder: Path


async def measured(plan: Plan) -> dict[Case, list[Sample]]:
    """Run the whole plan on a server of its own, which is gone afterwards."""
    results: dict[Case, list[Sample]] = {}
    async with arena() as ground:
        for mode in get_args(Mode):
            async with AsyncExitStack() as stack:
                await _measured_mode(plan, mode, ground, stack, results)
    return results


async def _measured_mode(
    plan: Plan, mode: Mode, ground: Arena, stack: AsyncExitStack, results: dict[Case, list[Sample]]
) -> None:
    """All lengths of one mode. The cases take turns, so that a slow minute hits them all."""
    open_sides: dict[tuple[Side, Durability], tuple[Contender, Meter]] = {}
    for case in plan.cases(mode, WARM_UP):
        with progress(f"{case.title}, warm-up"):
            contender, meter = await _opened(case, ground, stack)
            await contender.play(WARM_UP)
        open_sides[case.side, case.durability] = contender, meter
    for actions, repetitions in plan.repetitions.items():
        for repetition in range(1, repetitions + 1):
            for case in plan.cases(mode, actions):
                contender, meter = open_sides[case.side, case.durability]
                with progress(f"{case.title}, run {repetition} of {repetitions}"):
                    sample = await _sampled(contender, meter, actions)
                results.setdefault(case, []).append(sample)
                say(f"{case.title}: {actions / sample.seconds:.0f} actions/s")


async def _sampled(contender: Contender, meter: Meter, actions: int) -> Sample:
    before = await meter.read()
    seconds = await contender.play(actions)
    return Sample(seconds, (await meter.read()).since(before))


async def _opened(case: Case, ground: Arena, stack: AsyncExitStack) -> tuple[Contender, Meter]:
    contender: Contender
    schemas: tuple[str | None, str]
    if case.side == "ours":
        contender = await stack.enter_async_context(
            ours.opened(ground.home, ground.folder, case.mode, case.durability)
        )
        schemas = (ours.STORE, ours.CHECKPOINTS)
    else:
        theirs: Any = importlib.import_module("checkrein.evals.benchmark_theirs")
        contender = await stack.enter_async_context(
            theirs.opened(ground.login, ground.folder, case.mode, case.durability)
        )
        schemas = (None, str(theirs.CHECKPOINTS))
    return contender, await stack.enter_async_context(metered(ground.login, *schemas))


@asynccontextmanager
async def arena() -> AsyncGenerator[Arena]:
    """Start an embedded Postgres in a temporary home; stop and remove it at the end."""
    root = _root()
    home = root / "home"
    try:
        with progress("starting Postgres"):
            database = await database_of(Settings(home=home))
        yield Arena(database.login, home, root / "work")
    finally:
        with progress("stopping Postgres"):
            await embedded_server.stopped(home)
            await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)


def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="checkrein-bench-"))
    root.chmod(0o755)  # under root the server runs as another user
    return root


class progress:  # noqa: N801 - it is used as a function
    """Say what goes on, at once and then every second, until the block ends."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        self._started = time.monotonic()
        say(f"{self._what} ...")
        self._ticker = asyncio.get_running_loop().create_task(self._tick())

    def __exit__(self, *_: object) -> None:
        self._ticker.cancel()

    async def _tick(self) -> None:
        with suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(1)
                say(f"{self._what} ... {time.monotonic() - self._started:.0f} s")


def say(text: str) -> None:
    """One line of progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def machine() -> dict[str, str | int | None]:
    """What the numbers depend on."""
    names = ("langgraph", "langgraph-checkpoint-postgres", "langchain", "psycopg")
    found: dict[str, str | int | None] = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for name in names:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def plan_of(arguments: Sequence[str]) -> tuple[Plan, bool]:
    """Read the command line; returns the plan, and whether programs read the result."""
    parser = argparse.ArgumentParser(prog="python -m checkrein.evals.benchmark")
    parser.add_argument("--quick", action="store_true", help="20 and 100 actions, once each")
    parser.add_argument("--only", choices=get_args(Side), help="one side alone")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args(arguments)
    only: Side | None = given.only
    sides: tuple[Side, ...] = get_args(Side) if only is None else (only,)
    if "theirs" in sides and importlib.util.find_spec("langchain") is None:
        parser.error("langchain is missing: pip install 'checkrein[bench]', or give --only ours")
    return Plan(QUICK if given.quick else FULL, sides), bool(given.json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print; it never fails for a slow number."""
    plan, for_programs = plan_of(sys.argv[1:] if arguments is None else arguments)
    try:
        found = report.lines(asyncio.run(measured(plan)))
    except CheckreinError as error:
        say(f"{error}")
        return 70
    about = machine()
    if for_programs:
        print(json.dumps(report.document(found, about), indent=2))
        return 0
    print("\n" + ", ".join(f"{key} {value}" for key, value in about.items()) + "\n")
    print("All but the first four columns are per action.\n\n" + report.table(found) + "\n")
    if against := report.ratios(found):
        print("Ours against theirs, each in its fastest crash-safe mode:\n\n" + against + "\n")
    for name, least, most, times in report.growth(found):
        print(f"{name}: an action takes {times:.2f} times the bytes at {most} as at {least}")
    for aim, met in report.aims(found).items():
        print(f"aim {aim}: {'met' if met else 'not met'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
