"""What a policy decision costs in each engine, and its share of one governed action.

    python -m checkrein.evals.benchmark_policy [--quick] [--golib DIR] [--json]

All in one run, taking turns. docs/policies-opa.md says what the numbers mean.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.errors import CheckreinError, EnvironmentFault, InputError
from checkrein.evals import benchmark_ours as ours
from checkrein.evals import opa_binary
from checkrein.evals.benchmark import arena, machine, progress, say
from checkrein.evals.both_engines import (
    EmbeddedPolicy,
    bundle_of,
    input_text,
    opened,
)
from checkrein.evals.go_engine import GoEngine, go_oracle
from checkrein.evals.parity_inputs import Generator
from checkrein.ports.policy import Policy

DECISIONS = 5_000
QUICK = 500
TURN = 100
"""Decisions of one engine before the next one's turn, so that a slow minute hits them all."""

AT_ONCE = 8
ACTIONS = 100
AIM = 0.1
"""The policy's share of a governed action should stay below."""

Ask = Callable[[DecisionInput], Awaitable[object]]


@dataclass(frozen=True)
class Line:
    """One engine. Times are for one decision, milliseconds; `at_once` are decisions a second."""

    engine: str
    decisions: int
    per_second: float
    p50: float
    p99: float
    at_once: float | None = None


@dataclass(frozen=True)
class Share:
    """The policy within one governed action: decisions, their milliseconds, and the action's."""

    decisions: float
    policy_ms: float
    action_ms: float

    @property
    def share(self) -> float:
        """Of the action's time."""
        return self.policy_ms / self.action_ms


class Watch:
    """Counts the embedded engine's decisions in this process while it is open, and their time."""

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0

    def __enter__(self) -> "Watch":
        watch, decide = self, EmbeddedPolicy.decide
        self._decide = decide

        async def timed(self: EmbeddedPolicy, document: DecisionInput) -> PolicyDecision:
            began = time.perf_counter()
            try:
                return await decide(self, document)
            finally:
                watch.count += 1
                watch.seconds += time.perf_counter() - began

        EmbeddedPolicy.decide = timed  # type: ignore[method-assign] # compose opens it, not we
        return self

    def __exit__(self, *_: object) -> None:
        EmbeddedPolicy.decide = self._decide  # type: ignore[method-assign] # put back


async def engines(binary: Path, golib: Path | None, count: int) -> list[Line]:
    """Measure all engines that can be had."""
    documents = [document for document in Generator(1).documents(count) if _writable(document)]
    bundle = await asyncio.to_thread(bundle_of, None)
    async with opened(bundle, binary) as both:
        asks: dict[str, Ask] = {
            "embedded": both.embedded.decide,
            "OPA over loopback": both.opa.decide,
        }
        try:
            go = await asyncio.to_thread(go_oracle, golib)
            asks["OPA's Go engine in process"] = GoEngine(bundle, go.bindings).decide
        except EnvironmentFault as fault:
            say(str(fault))
        with progress("decisions, engine by engine"):
            times = await _times(asks, documents)
        together = {"OPA over loopback": await _at_once(both.opa, documents)}
    return [_line(name, found, together.get(name)) for name, found in times.items()]


async def share(actions: int) -> Share:
    """Run governed actions with the embedded engine on a real Postgres, and watch the policy."""
    async with arena() as ground:
        with progress(f"{actions} governed actions"):
            async with ours.opened(ground.home, ground.folder, "allowed", "exit") as side:
                await side.play(3)
                with Watch() as watch:
                    seconds = await side.play(actions)
    return Share(watch.count / actions, watch.seconds * 1_000 / actions, seconds * 1_000 / actions)


def _writable(document: DecisionInput) -> bool:
    """Whether any engine would be asked about it."""
    try:
        input_text(document)
    except InputError:
        return False
    return True


async def _times(
    asks: dict[str, Ask], documents: Sequence[DecisionInput]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in asks}
    for ask in asks.values():
        for document in documents[:20]:
            await ask(document)
    for start in range(0, len(documents), TURN):
        for name, ask in asks.items():
            for document in documents[start : start + TURN]:
                began = time.perf_counter()
                await ask(document)
                found[name].append(time.perf_counter() - began)
    return found


async def _at_once(policy: Policy, documents: Sequence[DecisionInput]) -> float:
    """Decisions a second with several questions under way."""
    waiting = iter(documents)

    async def worker() -> None:
        for document in waiting:
            await policy.decide(document)

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return len(documents) / (time.perf_counter() - began)


def _line(name: str, seconds: Sequence[float], at_once: float | None) -> Line:
    cuts = statistics.quantiles(seconds, n=100)
    return Line(
        name,
        len(seconds),
        len(seconds) / sum(seconds),
        statistics.median(seconds) * 1_000,
        cuts[98] * 1_000,
        at_once,
    )


def _printed(lines: Sequence[Line], found: Share) -> None:
    print("\n" + ", ".join(f"{key} {value}" for key, value in machine().items()) + "\n")
    print(f"| engine | decisions/s | p50 ms | p99 ms | {AT_ONCE} at once, decisions/s |")
    print("|---|---|---|---|---|")
    for line in lines:
        together = "-" if line.at_once is None else f"{line.at_once:.0f}"
        print(
            f"| {line.engine} | {line.per_second:.0f} | {line.p50:.2f} | {line.p99:.2f} "
            f"| {together} |"
        )
    print(
        f"\none governed action: {found.action_ms:.1f} ms, of which the policy "
        f"{found.policy_ms:.2f} ms in {found.decisions:.1f} decisions: {found.share:.1%}"
    )
    print(f"aim under {AIM:.0%}: {'met' if found.share < AIM else 'not met'}")
    for line in lines:
        per_action = found.decisions * 1_000 / line.per_second
        rest = found.action_ms - found.policy_ms
        print(f"with {line.engine} it would be {per_action / (rest + per_action):.1%}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print; it never fails for a slow number."""
    parser = argparse.ArgumentParser(prog="python -m checkrein.evals.benchmark_policy")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} decisions, 20 actions")
    parser.add_argument("--golib", type=Path, help="folder of OPA's Go binding")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args(arguments)
    try:
        binary = opa_binary.found()
        if binary is None:
            say(opa_binary.HOW)
            return 2
        found = asyncio.run(share(20 if given.quick else ACTIONS))
        lines = asyncio.run(engines(binary, given.golib, QUICK if given.quick else DECISIONS))
    except CheckreinError as error:
        say(str(error))
        return 70
    if given.json:
        told = {"engines": [asdict(line) for line in lines], "action": asdict(found)}
        print(json.dumps(told | {"machine": machine()}, indent=2))
        return 0
    _printed(lines, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
