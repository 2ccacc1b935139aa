"""The repair evaluation: bugs, and models that change something and claim to be done.

    python -m checkrein.evals.repairs [CASE ...] [--quick] [--no-pairs] [--seed N] [--json]

Four scripted models work on each case; the one that edits tests does so twice, denied by the
shipped rules and allowed by others. An oracle, apart from the harness, says what is true of what
was left. Ends with 1 if anything broken was called done, anything mended was not, or a run ended
otherwise than it was made to. Progress goes to stderr, tables to stdout.
"""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from checkrein.compose import database_of, embedded_server
from checkrein.errors import CheckreinError
from checkrein.evals import repair_report as report
from checkrein.evals.benchmark import machine, progress, say
from checkrein.evals.repair_cases import QUICK, Claimant, Repair, repairs
from checkrein.evals.repair_pairs import fetched, pairs
from checkrein.evals.repair_runs import Tried, allowing, bench
from checkrein.settings import Settings

SEED = 20_261_130
WORKERS = 2


class Job(NamedTuple):
    """One attempt to be made."""

    repair: Repair
    who: Claimant
    allowed: bool


@dataclass(frozen=True)
class Plan:
    """What was asked for. The seed only shuffles the order of the runs."""

    cases: Sequence[Repair]
    pairs: bool
    seed: int
    as_json: bool


def jobs(cases: Sequence[Repair], seed: int) -> list[Job]:
    """Every attempt, shuffled, so that no result rests on what ran before it."""
    made = [Job(case, who, False) for case in cases for who in case.edits]
    made += [Job(case, Claimant.TESTS, True) for case in cases if Claimant.TESTS in case.edits]
    random.Random(seed).shuffle(made)  # noqa: S311 - an order, no secret
    return made


async def tried(cases: Sequence[Repair], seed: int, settings: Settings, work: Path) -> list[Tried]:
    """Make every attempt, so many at once as there are workers; in the order of the cases."""
    waiting = jobs(cases, seed)
    total, done = len(waiting), list[Tried]()
    policy = await asyncio.to_thread(allowing, work / "policy")

    async def worker() -> None:
        async with (
            bench(settings) as shipped,
            bench(settings, policy=policy) as open_to_all,
        ):
            while waiting:
                job = waiting.pop()
                chosen = open_to_all if job.allowed else shipped
                one = await chosen.attempt(job.repair, job.who)
                done.append(one)
                mark = "as expected" if one.as_expected else "NOT AS EXPECTED"
                say(f"{len(done)}/{total} {one.repair} {report.title(one)}: {one.status}, {mark}")

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(worker())
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several
    order = list(Claimant)
    return sorted(done, key=lambda one: (order.index(one.who), one.allowed, one.repair))


async def evaluated(plan: Plan) -> tuple[list[Tried], list[report.PairResult]]:
    """Everything that was asked for, on a database server of its own."""
    async with _ground() as (settings, work):
        own = await tried(plan.cases, plan.seed, settings, work)
        real: list[report.PairResult] = []
        for pair in pairs() if plan.pairs else ():
            with progress(f"{pair.name}: fetching and looking for patches"):
                made = await fetched(pair, work / pair.package)
            if made.repair is None:
                real.append(report.PairResult(pair.name, None, made.why))
                continue
            found = await tried([made.repair], plan.seed, settings, work)
            real.append(report.PairResult(pair.name, found, made.why))
    return own, real


@asynccontextmanager
async def _ground() -> AsyncGenerator[tuple[Settings, Path]]:
    root = await asyncio.to_thread(_root)
    settings = Settings(home=root / "home")
    try:
        with progress("starting Postgres"):
            await database_of(settings)
        yield settings, root / "work"
    finally:
        with progress("stopping Postgres"):
            await embedded_server.stopped(settings.home)
            await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)


def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="checkrein-repairs-"))
    root.chmod(0o755)  # under root the server runs as another user
    (root / "work").mkdir()
    return root


def plan_of(arguments: Sequence[str]) -> Plan:
    """Read the command line.

    Raises:
        InputError: there is no such case.
    """
    parser = argparse.ArgumentParser(prog="python -m checkrein.evals.repairs")
    parser.add_argument("case", nargs="*", help="beginnings of the names of cases; all without")
    parser.add_argument("--quick", action="store_true", help="three cases, and no real packages")
    parser.add_argument("--no-pairs", action="store_true", help="fetch nothing")
    parser.add_argument("--seed", type=int, default=SEED, help="of the order of the runs")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args(arguments)
    only = given.case or (QUICK if given.quick else ())
    pairs = not (given.no_pairs or given.quick or given.case)
    return Plan(repairs(only), pairs, given.seed, given.json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate, and print."""
    try:
        plan = plan_of(sys.argv[1:] if arguments is None else arguments)
        own, real = asyncio.run(evaluated(plan))
    except CheckreinError as error:
        say(f"{error}")
        return 70
    about = machine() | {"seed": plan.seed}
    if plan.as_json:
        print(json.dumps(report.document(own, real, about), indent=2))
    else:
        print("\n" + ", ".join(f"{key} {value}" for key, value in about.items()) + "\n")
        print(report.text(own, real))
    return 0 if report.ok(own, real) else 1


if __name__ == "__main__":
    sys.exit(main())
