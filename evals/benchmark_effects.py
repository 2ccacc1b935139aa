"""What a governed effect costs: commits, round trips, effects a second side by side, recovery.

    python -m checkrein.evals.benchmark_effects [--quick] [--json]

docs/benchmarks.md says what the numbers mean. Progress goes to stderr, tables to stdout.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg

from checkrein.errors import CheckreinError
from checkrein.evals import benchmark_ours as ours
from checkrein.evals.benchmark import Arena, arena, machine, progress, say
from checkrein.evals.benchmark_recovery import recovery
from checkrein.evals.benchmark_runs import Durability

# Rows of one transaction carry its id, so that counting ids counts commits.
_COMMITS = """
SELECT count(DISTINCT e.xmin::text) AS commits
FROM checkrein.events e
JOIN LATERAL (SELECT min(seq) AS bound FROM checkrein.events b WHERE b.attempt_id = e.attempt_id
              AND b.type = 'intent_bound') AS first ON true
JOIN LATERAL (SELECT min(seq) AS received FROM checkrein.events r WHERE r.attempt_id = e.attempt_id
              AND r.type = 'effect_committed') AS last ON true
WHERE e.attempt_id = %s AND e.seq BETWEEN first.bound AND last.received
"""
_CHECKPOINTS = """
SELECT (SELECT count(DISTINCT xmin::text) FROM langgraph.checkpoints WHERE thread_id = %s) AS own
"""
_NEWEST = "SELECT attempt_id FROM checkrein.attempts ORDER BY started_at DESC LIMIT 1"


@dataclass(frozen=True)
class Cost:
    """What one mode of LangGraph's checkpoints costs.

    Attributes:
        commits: durable commits of ours from binding one effect to its receipt.
        langgraph: LangGraph's own commits for the whole action, besides.
        round_trips: requests to Postgres for one governed action, all connections together.
    """

    durability: str
    commits: int
    langgraph: float
    round_trips: float


@dataclass(frozen=True)
class Rate:
    """Effects a second, with so many attempts at once in so many processes."""

    processes: int
    attempts: int
    effects_per_s: float


class Trips:
    """Counts the statements that this process sends to Postgres while it is open."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> "Trips":
        self._execute = psycopg.AsyncCursor.execute

        async def counted(*args: Any, **more: Any) -> Any:
            self.count += 1
            return await self._execute(*args, **more)

        # Every store, lease and saver sends through it; nothing of ours could be handed a counter.
        psycopg.AsyncCursor.execute = counted  # type: ignore[method-assign] # put back at the end
        return self

    def __exit__(self, *_: object) -> None:
        psycopg.AsyncCursor.execute = self._execute  # type: ignore[method-assign] # put back


async def costs(ground: Arena, actions: int) -> list[Cost]:
    """Count, in each durability mode, what one action asks of Postgres."""
    found: list[Cost] = []
    for durability in ("exit", "async", "sync"):
        with progress(f"counting commits and round trips, {durability}"):
            found.append(await _cost(ground, durability, actions))
    return found


async def _cost(ground: Arena, durability: Durability, actions: int) -> Cost:
    async with ours.opened(ground.home, ground.folder / "c", "allowed", durability) as side:
        await side.play(2)
        with Trips() as short:
            await side.play(2)
        with Trips() as long:
            await side.play(2 + actions)
        async with await psycopg.AsyncConnection.connect(ground.login) as connection:
            attempt = await _value(connection, _NEWEST)
            commits = await _value(connection, _COMMITS, attempt)
            own = await _value(connection, _CHECKPOINTS, attempt)
    return Cost(durability, commits, own / (2 + actions), (long.count - short.count) / actions)


async def _value(connection: psycopg.AsyncConnection[Any], query: str, *given: object) -> Any:
    row = await (await connection.execute(query.encode(), given)).fetchone()
    assert row is not None
    return row[0]


async def rates(ground: Arena, actions: int, repetitions: int) -> list[Rate]:
    """Effects a second with 1, 4 and 16 attempts at once, and with two processes of 4."""
    found: list[Rate] = []
    for attempts in (1, 4, 16):
        with progress(f"{attempts} attempts at once"):
            seconds = [await _together(ground, attempts, actions) for _ in range(repetitions)]
        found.append(Rate(1, attempts, attempts * actions / statistics.median(seconds)))
    with progress("two processes of 4 attempts"):
        seconds = [await _two_processes(ground, actions) for _ in range(repetitions)]
    found.append(Rate(2, 8, 8 * actions / statistics.median(seconds)))
    return found


async def _together(ground: Arena, attempts: int, actions: int) -> float:
    async with sides(ground, attempts) as found:
        await asyncio.gather(*(side.play(1) for side in found))
        began = time.perf_counter()
        await asyncio.gather(*(side.play(actions) for side in found))
        return time.perf_counter() - began


@asynccontextmanager
async def sides(ground: Arena, count: int) -> AsyncGenerator[list[ours.Ours]]:
    """So many harnesses with a script each, in this process."""
    async with AsyncExitStack() as stack:
        folder = ground.folder / f"r{time.monotonic_ns()}"
        yield [
            await stack.enter_async_context(
                ours.opened(ground.home, folder / str(number), "allowed", "exit")
            )
            for number in range(count)
        ]


async def _two_processes(ground: Arena, actions: int) -> float:
    """Both are warm before either begins; what counts is from the first to begin to the last."""
    workers = [await _worker(ground, number, actions) for number in range(2)]
    try:
        for worker in workers:
            assert worker.stdout is not None
            await worker.stdout.readline()
        began = time.perf_counter()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write(b"go\n")
        codes = await asyncio.gather(*(worker.wait() for worker in workers))
        seconds = time.perf_counter() - began
    finally:
        for worker in workers:
            if worker.returncode is None:
                worker.kill()
                await worker.wait()
    if any(codes):
        raise CheckreinError(f"A worker ended with {codes}.", op="benchmark.two_processes")
    return seconds


async def _worker(ground: Arena, number: int, actions: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "checkrein.evals.benchmark_effects", "--worker"),
        json.dumps([ground.login, str(ground.home), str(ground.folder / f"w{number}"), actions]),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def work(given: str) -> None:
    """A worker: open 4 sides, say so, wait for the word, play."""
    login, home, folder, actions = json.loads(given)
    async with sides(Arena(login, Path(home), Path(folder)), 4) as found:
        await asyncio.gather(*(side.play(1) for side in found))
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await asyncio.gather(*(side.play(actions) for side in found))


async def measured(*, quick: bool) -> dict[str, Any]:
    """Everything, on a server of its own."""
    lengths = (100, 1_000) if quick else (100, 10_000)
    async with arena() as ground:
        return {
            "costs": [asdict(cost) for cost in await costs(ground, 10 if quick else 50)],
            "rates": [
                asdict(rate) for rate in await rates(ground, 10 if quick else 40, 1 if quick else 3)
            ],
            "recovery": [asdict(one) for one in await recovery(ground, lengths)],
        }


def printed(found: dict[str, Any]) -> str:
    """The three tables."""
    lines = ["| checkpoints | commits, bind to receipt (at most 3) | LangGraph's own, an action |"]
    lines[0] += " round trips an action |"
    lines += ["|---|---|---|---|"]
    for cost in found["costs"]:
        lines.append(
            f"| {cost['durability']} | {cost['commits']} | {cost['langgraph']:.1f} | "
            f"{cost['round_trips']:.1f} |"
        )
    lines += ["", "| processes | attempts at once | effects/s |", "|---|---|---|"]
    for rate in found["rates"]:
        lines.append(f"| {rate['processes']} | {rate['attempts']} | {rate['effects_per_s']:.0f} |")
    lines += ["", "| events | ms from recover to owning it | ms to the next model call |"]
    lines += ["|---|---|---|"]
    for one in found["recovery"]:
        lines.append(f"| {one['events']} | {one['resumed_ms']:.0f} | {one['running_ms']:.0f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print; it never fails for a slow number."""
    parser = argparse.ArgumentParser(prog="python -m checkrein.evals.benchmark_effects")
    parser.add_argument("--quick", action="store_true", help="fewer actions, once each")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        if given.worker is not None:
            asyncio.run(work(given.worker))
            return 0
        found = asyncio.run(measured(quick=given.quick))
    except CheckreinError as error:
        say(f"{error}")
        return 70
    about = machine()
    if given.json:
        print(json.dumps({"machine": about, **found}, indent=2))
    else:
        print("\n" + ", ".join(f"{key} {value}" for key, value in about.items()) + "\n")
        print(printed(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
