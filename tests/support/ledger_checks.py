"""What holds in a ledger_world at any time, and what holds at its end."""

from collections import Counter

from ledger_target import ATOMIC_KEY, ONCE, ONCE_FOUND
from ledger_world import World

from checkrein.contracts.budget import Budget
from checkrein.contracts.effect import FINAL, Effect, EffectStatus, OutcomeSource
from checkrein.contracts.event import BudgetReserved, BudgetSettled, check_chain
from checkrein.graph.trace_rules import grade

E = EffectStatus
NOTHING = frozenset({E.REFUSED, E.DENIED, E.NOT_APPLIED})


class Checks:
    """Holds a world against its target after each move."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._final: dict[str, Effect] = {}

    async def now(self) -> None:
        """At most one effect, one owner, and a ledger that never contradicts its target."""
        counted = await self._world.counted()
        assert max(counted.values(), default=0) <= 1, f"an effect happened twice: {counted}"
        if self._world.kind in (ONCE, ONCE_FOUND):
            assert max(self._world.sends.values(), default=0) <= 1, "sent more than once"
        effects = await self._world.effects()
        assert set(counted) <= {effect.effect_id for effect in effects}, "without an intent"
        for effect in effects:
            self._agrees(effect, counted)
            self._stays(effect)
        await self._one_owner()

    def _agrees(self, effect: Effect, counted: Counter[str]) -> None:
        """What target and sender said is so. A person's word stands for itself."""
        if effect.source is OutcomeSource.MANUAL:
            return
        happened = counted[effect.effect_id]
        if effect.status is E.COMMITTED:
            assert happened == 1, f"the ledger says COMMITTED, the target does not: {effect}"
        if effect.status in NOTHING:
            assert happened == 0, f"the ledger says {effect.status}, yet it happened: {effect}"
        if effect.status is E.INTENT:
            assert happened == 0, f"it happened before EXECUTING was on record: {effect}"

    def _stays(self, effect: Effect) -> None:
        """Whatever is final stays as it is."""
        before = self._final.setdefault(effect.effect_id, effect)
        if before.status in FINAL:
            assert effect == before, f"a final row changed: {before} -> {effect}"
        else:
            self._final[effect.effect_id] = effect

    async def _one_owner(self) -> None:
        """Of all who believe to own an attempt, at most one is told so."""
        winners = Counter[str]()
        for owner in self._world.standing:
            if owner.lease is not None and await owner.lease.still_owner():
                winners[owner.lease.attempt_id] += 1
        assert max(winners.values(), default=0) <= 1, f"two winners: {winners}"

    async def at_the_end(self) -> None:
        """Everybody dies; one owner more ends what can be ended, and the books are read."""
        for owner in self._world.standing:
            await self._world.die(owner)
            await self.now()
        for attempt_id in self._world.attempts * 2:
            await self._undisturbed(attempt_id)
        for attempt_id in self._world.attempts:
            await self._books(attempt_id)
        if self._world.kind == ATOMIC_KEY:
            # A key makes every repeat harmless, so that nothing that was sent is left open. An
            # intent may wait for the effect of an attempt that was cancelled meanwhile.
            left = [e for e in await self._world.effects() if e.status not in {*FINAL, E.INTENT}]
            left = [e for e in left if e.attempt_id not in self._world.cancelled]
            assert not left, f"they could have been settled: {left}"

    async def _undisturbed(self, attempt_id: str) -> None:
        """One owner works until there is nothing more to do, and nothing gets lost."""
        (owner, *_) = self._world.resting
        await self._world.work(owner, attempt_id)
        for _ in range(100):
            if owner.place is None:
                break
            await self._world.step(owner)
            await self.now()
        assert owner.place is None, "it goes on for ever"

    async def _books(self, attempt_id: str) -> None:
        """The chain is whole, every event has its cause, and the budgets add up."""
        store = self._world.store
        events = await store.events.read(attempt_id)
        position = await store.records.position(attempt_id)
        assert check_chain(events, position.head_seq, position.head_hash) == []
        broken = grade(events)
        assert not broken, broken
        earlier = {event.event_id: event.seq for event in events}
        for event in events[1:]:
            assert event.cause_id is not None, f"no cause: {event}"
            assert earlier[event.cause_id] < event.seq, f"its cause comes later: {event}"
        reserved, spent = Counter[Budget](), Counter[Budget]()
        for event in events:
            payload = event.read()
            if isinstance(payload, BudgetReserved):
                reserved.update(payload.amounts)
            elif isinstance(payload, BudgetSettled):
                reserved.subtract(payload.released)
                spent.update(payload.spent)
        for budget, line in position.budgets.items():
            if budget is not Budget.WALL_TIME_S:
                assert (line.reserved, line.spent) == (reserved[budget], spent[budget]), budget
                assert line.reserved >= 0 and line.spent + line.reserved <= line.limit
