"""How long it takes from recover to running again, for short and for long histories."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from checkrein.compose import Given, Parts, composed
from checkrein.contracts.event import ModelRequested, Payload, RunResumed
from checkrein.evals import benchmark_ours as ours
from checkrein.evals.benchmark import Arena, progress
from checkrein.evals.benchmark_runs import script
from checkrein.settings import Settings
from checkrein.testing.scripted_model import ScriptedChatModel

EVENTS_PER_ACTION = 15
"""About so many events belong to one allowed action; what is reported is counted."""


@dataclass(frozen=True)
class Recovery:
    """One recovery.

    Attributes:
        events: how many the attempt had.
        resumed_ms: from the call until the new owner's first event was stored.
        running_ms: from the call until the next model call was about to be made.
    """

    events: int
    resumed_ms: float
    running_ms: float


@dataclass
class _Watch:
    """Hears events as they become durable."""

    asked: int = 0
    told: dict[type[Payload], float] = field(default_factory=dict[type[Payload], float])
    drain_after: int | None = None
    parts: Parts | None = None

    def __call__(self, attempt_id: str, payload: Payload) -> None:
        self.told.setdefault(type(payload), time.perf_counter())
        if isinstance(payload, ModelRequested):
            self.asked += 1
            if self.asked == self.drain_after and self.parts is not None:
                self.parts.front_door.drain()


async def recovery(ground: Arena, lengths: Sequence[int]) -> list[Recovery]:
    """Leave attempts of these lengths without an owner, and recover each."""
    return [await _recovered(ground, length) for length in lengths]


async def _recovered(ground: Arena, events: int) -> Recovery:
    actions = max(1, events // EVENTS_PER_ACTION)
    with progress(f"making a history of some {events} events"):
        attempt_id = await _left_alone(ground, actions)
    watch = _Watch()
    with progress(f"recovering from some {events} events"):
        async with composed(_settings(ground), _given(actions, events), watch) as parts:
            began = time.perf_counter()
            before = (await parts.records.position(attempt_id)).head_seq
            watch.drain_after, watch.parts = 1, parts
            await parts.front_door.recover(attempt_id)
    return Recovery(
        events=before,
        resumed_ms=(watch.told[RunResumed] - began) * 1000,
        running_ms=(watch.told[ModelRequested] - began) * 1000,
    )


async def _left_alone(ground: Arena, actions: int) -> str:
    """An attempt that was let go after so many actions: RUNNING, and nobody works on it."""
    watch = _Watch(drain_after=actions)
    async with composed(_settings(ground), _given(actions, actions), watch) as parts:
        watch.parts = parts
        folder = ground.folder / f"h{time.monotonic_ns()}"
        task = ours.contract(folder / "workspace", ours.allowing(folder))
        report = await parts.front_door.start(task)
    return report.attempt_id


def _given(actions: int, name: int) -> Given:
    turns = script(actions + 5, ours.CAPABILITY, f"recovery {name}")
    return Given(model=ScriptedChatModel(script=turns, source="benchmark"))


def _settings(ground: Arena) -> Settings:
    return Settings(home=ground.home)
