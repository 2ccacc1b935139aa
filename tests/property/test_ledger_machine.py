"""Owners of effects overtake each other, die and are asked about: the ledger stays right.

Three owners work with the real nodes on two attempts with two keys each, at a real target, and are
stopped at every place at which a process can be overtaken or die. Dice say what moves next. The
seed repeats a walk.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import httpx
import pytest
from databases import fresh_database
from ledger_checks import Checks
from ledger_owners import BEFORE_SEND, BUSY, GOES_ON, LOST, OWNED, SENT, Owner
from ledger_target import ATOMIC_KEY, KINDS, ONCE, SWAP, Bench
from ledger_world import World
from loops import ALLOW_ALL
from open_store import opened_store

from checkrein.contracts.effect import Effect, EffectStatus, Outcome
from checkrein.graph import reconciliation
from checkrein.nodes import asking, ledger
from checkrein.policy_rego.bundle_files import load_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.ports.capability import Capability
from checkrein.testing.payment_server.process import running

WALKS, MANY = 8, 40
STEPS = 45
MUTATED = 60
"""Walks in which a wrong ledger must be caught."""

ODDS = {
    "works": 1.5,
    "goes_on": 14.0,
    "is_overtaken": 1.5,
    "dies": 0.6,
    "is_asked_of_its_target": 1.0,
    "is_settled_by_a_person": 0.2,
    "is_bound": 0.2,
    "is_cancelled": 0.15,
}
FATES = {GOES_ON: 4.0, LOST: 3.0, BUSY: 3.0}


class Walk:
    """One world, moved by dice; `moves` says how, for people."""

    def __init__(self, bench: Bench, kind: str, seed: int) -> None:
        self._dice = random.Random(f"{kind}/{seed}")
        self._world = World(bench, kind)
        self._checks = Checks(self._world)
        self.moves: list[str] = []

    async def all(self) -> None:
        """From the beginning to the end, checked after each move."""
        await self._world.begin()
        try:
            for _ in range(STEPS):
                await self._move()
                await self._checks.now()
            await self._checks.at_the_end()
        except AssertionError as error:
            error.add_note("\n".join(self.moves))
            raise
        finally:
            await self._world.end()

    async def _move(self) -> None:
        (name,) = self._dice.choices(list(ODDS), list(ODDS.values()))
        standing, resting = self._world.standing, self._world.resting
        match name:
            case "goes_on" | "dies" | "is_overtaken" if standing:
                await self._of_owner(name, self._dice.choice(standing))
            case "goes_on" | "dies" | "is_overtaken" | "works" if resting:
                await self._begun(resting[0], self._dice.choice(self._wanted()))
            case "is_bound":
                self.moves.append(name)
                await self._world.bind(self._dice.choice(self._world.actions))
            case "is_cancelled":
                self.moves.append(name)
                await self._world.cancel(self._dice.choice(self._world.attempts))
            case "is_asked_of_its_target" | "is_settled_by_a_person":
                await self._of_effect(name)
            case _:
                return

    def _wanted(self) -> list[str]:
        """Mostly an attempt that nobody works on, where there is one."""
        held = {owner.attempt_id for owner in self._world.standing}
        free = [attempt for attempt in self._world.attempts if attempt not in held]
        return free if free and self._dice.random() < 0.9 else self._world.attempts

    async def _begun(self, owner: Owner, attempt_id: str) -> None:
        await self._world.work(owner, attempt_id)
        which = self._world.attempts.index(attempt_id)
        self.moves.append(f"owner {owner.name} works on attempt {which}, stands at {owner.place}")

    async def _of_owner(self, name: str, owner: Owner) -> None:
        fate = ""
        attempt_id, place = owner.attempt_id, owner.place
        assert attempt_id is not None
        if name == "goes_on":
            (fate,) = self._dice.choices(list(FATES), list(FATES.values()))
            await self._world.step(owner, fate)
        elif name == "dies":
            await self._world.die(owner)
        else:
            await self._world.expire(attempt_id)
        self.moves.append(f"owner {owner.name} {name} ({fate}) at {place}, stands at {owner.place}")
        if name == "is_overtaken" and self._world.resting:
            await self._begun(self._world.resting[0], attempt_id)

    async def _of_effect(self, name: str) -> None:
        effects = await self._world.effects()
        if not effects:
            return
        effect = self._dice.choice(effects)
        if name == "is_settled_by_a_person":
            lies = self._dice.random() < 0.5
            await self._world.ask_person(effect.effect_id, lies=lies)
            name += ", falsely" if lies else ""
        else:
            await self._world.ask_target(effect.effect_id)
        self.moves.append(f"{effect.effect_id} ({effect.status}) {name}")


@pytest.fixture(scope="module")
def opened(
    server_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[asyncio.Runner, Bench]]:
    """Store, policy and payment service for all worlds, on a loop that lives as long."""
    folder = tmp_path_factory.mktemp("ledger")

    async def opening(stack: AsyncExitStack, url: str) -> Bench:
        policy = await EmbeddedPolicy.load(load_bundle(ALLOW_ALL))
        stack.push_async_callback(policy.close)
        payments = await stack.enter_async_context(running(folder))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=payments))
        store = await stack.enter_async_context(opened_store(url, size=2, ttl_s=3600))
        return Bench(store, policy, client, folder)

    with fresh_database(server_url) as url, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        yield runner, runner.run(opening(stack, url))
        runner.run(stack.aclose())


@pytest.mark.shows(107, 108, 110, 113, 115, 116)
@pytest.mark.parametrize("kind", KINDS)
def test_no_order_of_events_breaks_the_ledger(
    opened: tuple[asyncio.Runner, Bench], kind: str
) -> None:
    """Protects: at most one effect for each key, one owner, final rows, whole books, no lies."""
    runner, bench = opened
    for seed in range(WALKS):
        runner.run(Walk(bench, kind, seed).all())


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_many_orders_of_events(opened: tuple[asyncio.Runner, Bench], kind: str) -> None:
    """Protects the same on many more walks."""
    runner, bench = opened
    for seed in range(WALKS, WALKS + MANY):
        runner.run(Walk(bench, kind, seed).all())


def _sends_all_again(capability: Capability, state: object) -> bool:
    """A ledger that takes every target for one with a guarantee."""
    return True


async def _believes_absence(capability: Capability, effect: Effect) -> Outcome | None:
    """One that takes a look-up that finds nothing for a proof."""
    found = await asking.prove(capability, effect)
    return found or Outcome(status=EffectStatus.NOT_APPLIED, message="not found")


def test_walks_catch_a_ledger_that_sends_again(
    opened: tuple[asyncio.Runner, Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the test itself: it fails where an effect without a guarantee is sent again."""
    monkeypatch.setattr(ledger, "_may_be_sent_again", _sends_all_again)
    runner, bench = opened

    def walked() -> None:
        for seed in range(MUTATED):
            runner.run(Walk(bench, ONCE, seed).all())

    with pytest.raises(AssertionError, match="sent more than once|happened twice"):
        walked()


Story = Callable[[World], Awaitable[None]]


async def _to(world: World, owner: Owner, place: str) -> None:
    """Let an owner go on to a place."""
    while owner.place != place:
        assert owner.place is not None, f"it never came to {place}"
        await world.step(owner)


async def _a_repeat_is_turned_away(world: World) -> None:
    """The answer to the first send is lost; the target does nothing about the second."""
    (owner, *_) = world.owners
    await world.work(owner, world.attempts[0])
    await _to(world, owner, SENT)
    await world.step(owner, LOST)
    await _to(world, owner, BEFORE_SEND)
    await world.step(owner, BUSY)
    await _to(world, owner, "between_actions")


async def _a_successor_is_turned_away(world: World) -> None:
    """The first owner's send is on its way while the second one's does nothing."""
    first, second, _ = world.owners
    await world.work(first, world.attempts[0])
    await _to(world, first, OWNED)
    await world.expire(world.attempts[0])
    await world.work(second, world.attempts[0])
    for _ in range(2):
        await _to(world, second, BEFORE_SEND)
        await world.step(second, BUSY)
    await _to(world, second, "between_actions")
    await world.step(first)


async def _a_send_is_on_its_way(world: World) -> None:
    """The first owner is past the question whether it owns the attempt when it is overtaken."""
    (owner, *_) = world.owners
    await world.work(owner, world.attempts[0])
    await _to(world, owner, OWNED)
    await world.expire(world.attempts[0])
    (effect,) = await world.effects()
    await world.ask_target(effect.effect_id)
    await world.step(owner)


STORIES: list[tuple[str, Story]] = [
    (ATOMIC_KEY, _a_repeat_is_turned_away),
    (SWAP, _a_repeat_is_turned_away),
    (ATOMIC_KEY, _a_successor_is_turned_away),
    (SWAP, _a_successor_is_turned_away),
    (ATOMIC_KEY, _a_send_is_on_its_way),
    (SWAP, _a_send_is_on_its_way),
]


async def told(bench: Bench, kind: str, story: Story) -> None:
    """Play a story, and hold its end against the target."""
    world = World(bench, kind)
    checks = Checks(world)
    await world.begin()
    try:
        await story(world)
        await checks.now()
        await checks.at_the_end()
    finally:
        await world.end()


@pytest.mark.shows(119)
@pytest.mark.parametrize(
    ("kind", "story"), [pytest.param(k, s, id=f"{s.__name__}-{k}") for k, s in STORIES]
)
def test_what_is_on_its_way_is_not_called_undone(
    kind: str, story: Story, opened: tuple[asyncio.Runner, Bench]
) -> None:
    """Protects: a definite no to one send says nothing of another send of the same effect."""
    runner, bench = opened
    runner.run(told(bench, kind, story))


def test_stories_catch_a_ledger_that_believes_absence(
    opened: tuple[asyncio.Runner, Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects the test itself: it fails where a look-up that finds nothing is a proof."""
    monkeypatch.setattr(reconciliation, "prove", _believes_absence)
    runner, bench = opened
    with pytest.raises(AssertionError, match="says NOT_APPLIED, yet it happened"):
        runner.run(told(bench, ATOMIC_KEY, _a_send_is_on_its_way))
