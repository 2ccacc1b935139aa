"""The projection in SQL agrees with a fold in Python, on any history, refusals included.

Each walk goes through an attempt by dice: mostly by events that the fold calls legal, now and then
by one that it calls illegal, alone or with others in one append. The database must accept and
refuse the very same, and stand where the fold stands. The seed repeats a walk.
"""

import asyncio
import random
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from databases import fresh_database
from folded import Folded
from histories import beginning, candidates
from open_store import OpenStore, opened_store
from position_fold import after

from checkrein.contracts.budget import Budget, BudgetLimits
from checkrein.contracts.decision import Verdict
from checkrein.contracts.event import Payload, check_chain
from checkrein.contracts.task import ApprovalRules
from checkrein.errors import CheckreinError, ConflictError
from checkrein.ports.records import Position
from checkrein.testing.conformance.story import contract_of

JUDGED = (Verdict.ALLOW, Verdict.REQUIRE_APPROVAL, Verdict.DENY)
ODDS = {"effect_denied": 0.1, "observation": 0.2, "action_deduplicated": 0.2, "effect_executing": 4}
"""What ends an action comes less often, and what is rarely possible more often, than the rest."""

LIMITS = BudgetLimits(steps=3, tool_calls=2, model_tokens=250)
SEEDS, WALKS, STEPS = 8, 5, 30


class Walk:
    """One attempt, in the database and in the fold."""

    def __init__(self, runner: asyncio.Runner, store: OpenStore, dice: random.Random) -> None:
        self._dice = dice
        self._run = runner.run
        self._store = store
        people = ApprovalRules(roles={"r": ["bob"]})
        contract = contract_of(budgets=LIMITS).model_copy(update={"approvals": people})
        self.attempt_id = self._run(store.begun(contract))
        fence = self._run(store.fence(self.attempt_id))
        found = self.plain(self._run(store.records.position(self.attempt_id)))
        self.folded = Folded(found.attempt, dict(found.budgets), fence, found.head_seq)

    def plain(self, position: Position) -> Position:
        """Without what a fold cannot know: hash, clock times, and time that was held."""
        wall = position.budgets[Budget.WALL_TIME_S].model_copy(update={"spent": 0})
        actions = [
            state.model_copy(
                update={
                    "approval": state.approval
                    and state.approval.model_copy(update={"expires_at": None}),
                    "grants": [g.model_copy(update={"decided_at": None}) for g in state.grants],
                    "effect_age_s": None,
                }
            )
            for state in position.actions
        ]
        return position.model_copy(
            update={
                "head_hash": "",
                "attempt": position.attempt.model_copy(update={"started_at": None}),
                "budgets": {**position.budgets, Budget.WALL_TIME_S: wall},
                "actions": actions,
                "observed": sorted(position.observed),
            }
        )

    def owner_changes(self) -> None:
        """Another process takes the attempt over."""
        self.folded.fence = self._run(self._store.fence(self.attempt_id))

    def append(self, payloads: list[Payload]) -> None:
        """Append to both, and compare."""
        try:
            expected = after(self.folded, payloads)
        except ConflictError:
            expected = None
        write = self._store.events.append_and_look(
            self.attempt_id, payloads, fence=self.folded.fence
        )
        try:
            found = self._run(write)
        except CheckreinError as error:
            assert expected is None, f"the database refuses: {error}"
        else:
            assert expected is not None, "the database accepts what the fold refuses"
            self.folded = expected
            assert self.plain(found) == expected.position()

    def is_legal(self, payload: Payload) -> bool:
        """Whether the fold would take it now."""
        try:
            after(self.folded, [payload])
        except ConflictError:
            return False
        return True

    def step(self) -> None:
        """One move at random."""
        possible = candidates(self.attempt_id, self.folded.fence)
        match self._dice.randrange(12):
            case 0:
                self.owner_changes()
            case 1:
                self.append([self._dice.choice(possible.all)])
            case 2:
                self.append(self._dice.choices(possible.all, k=self._dice.randint(2, 4)))
            case 3:
                self._legal(possible.of_attempt)
            case 4 | 5:
                self._legal(possible.of_turns)
            case _:
                self._legal(possible.of_actions)

    def _legal(self, possible: list[Payload]) -> None:
        """One of those that the fold calls legal, or any where there is none."""
        legal = [payload for payload in possible if self.is_legal(payload)] or possible
        kinds = list(dict.fromkeys(payload.type for payload in legal))
        (kind,) = self._dice.choices(kinds, [ODDS.get(kind, 1.0) for kind in kinds])
        self.append([self._dice.choice([p for p in legal if p.type == kind])])

    def ended(self) -> None:
        """After all that: nothing refused left a trace, and the chain is whole."""
        found = self._run(self._store.records.position(self.attempt_id))
        assert self.plain(found) == self.folded.position()
        events = self._run(self._store.events.read(self.attempt_id))
        assert check_chain(events, found.head_seq, found.head_hash) == []


@pytest.fixture(scope="module")
def url(server_url: str) -> Iterator[str]:
    with fresh_database(server_url) as fresh:
        yield fresh


@pytest.fixture(scope="module")
def opened(url: str) -> Iterator[tuple[asyncio.Runner, OpenStore]]:
    """One store for all examples, on a loop that lives as long."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        store = runner.run(stack.enter_async_context(opened_store(url, size=1)))
        yield runner, store
        runner.run(stack.aclose())


@pytest.mark.shows(52, 122)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_database_and_fold_agree_on_any_history(
    opened: tuple[asyncio.Runner, OpenStore], seed: int
) -> None:
    dice = random.Random(seed)
    for _ in range(WALKS):
        walk = Walk(*opened, dice)
        walk.append(beginning(walk.attempt_id, dice.choices(JUDGED, k=dice.randint(0, 2))))
        for _ in range(STEPS):
            walk.step()
        walk.ended()
