"""What is computed again from events agrees with the database, where people lose their say too.

Each walk asks several people by dice, some of whom are revoked or let in again meanwhile: that
stands in no trace. Whatever the database took must be without fault where it is computed again,
and in the end stand as it stands there. The seed repeats a walk.
"""

import asyncio
import random
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from databases import fresh_database
from open_store import OpenStore, opened_store
from payloads import answered, ended, granted, prepared, requested

from checkrein.contracts import ids
from checkrein.contracts.action import Action
from checkrein.contracts.approval import Answer, ApprovalStatus
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.decision import ApprovalTerms, Verdict
from checkrein.contracts.event import ActionProposed, Payload
from checkrein.errors import CheckreinError
from checkrein.graph.facts import read_facts
from checkrein.graph.rebuilt import Rebuilt
from checkrein.testing.conformance.story import action_of, asked, decided, replied

PEOPLE = ("bob", "carol", "dan", "erin")
SEEDS, WALKS, STEPS = 4, 6, 10


class Walk:
    """One request that several people must say yes to."""

    def __init__(self, runner: asyncio.Runner, store: OpenStore, dice: random.Random) -> None:
        self._run, self._store, self._dice = runner.run, store, dice
        attempt_id = self._run(store.begun())
        self._fence = self._run(store.fence(attempt_id))
        self.action: Action = action_of(attempt_id)
        terms = ApprovalTerms(roles=["approver"], expires_in_s=60, quorum=dice.randint(1, 3))
        for who in PEOPLE:
            self._say(who, granted=True)
        assert self._took(
            *asked(),
            *replied(),
            ActionProposed(action=self.action),
            decided(self.action, Verdict.REQUIRE_APPROVAL),
            prepared(self.action, terms=terms),
            requested(self.action),
        )

    def step(self) -> None:
        """One move at random; most of them are a yes, or take one away."""
        who = self._dice.choice(PEOPLE)
        match self._dice.randrange(10):
            case 0 | 1 | 2:
                self._say(who, granted=False)
            case 3:
                self._say(who, granted=True)
            case 4:
                self._took(granted(self.action))
            case 5:
                self._took(answered(self.action, self._dice.choice(list(Answer)), by=who))
            case _:
                self._took(answered(self.action, by=who))
        self.compare()

    def compare(self) -> Rebuilt:
        """What the events amount to is without fault, and never less than what stands there."""
        events = self._run(self._store.events.read(self.action.attempt_id))
        rebuilt = Rebuilt.of(read_facts(events)[0])
        assert rebuilt.faults == []
        approval_id = ids.approval_id(self.action.action_id, 1)
        (request, grants) = self._run(self._store.records.approval(approval_id))
        told = rebuilt.approvals[approval_id].status
        if told is not ApprovalStatus.GRANTED:  # then somebody's yes may be counted out there
            assert told is request.status
        said = [(one.approver, one.answer) for one in rebuilt.grants.get(approval_id, [])]
        assert sorted(said) == sorted((one.approver, one.answer) for one in grants)
        return rebuilt

    def end(self) -> None:
        """After all that, both say the same of everything."""
        assert self._took(ended(AttemptStatus.ENVIRONMENT_ERROR))
        rebuilt = self.compare()
        (request,) = rebuilt.approvals.values()
        assert request.status is not ApprovalStatus.GRANTED

    def _say(self, who: str, *, granted: bool) -> None:
        said = self._store.events.say(
            "local", "user", who, granted=granted, by="root", reason="by dice"
        )
        self._run(said)

    def _took(self, *payloads: Payload) -> bool:
        attempt_id = self.action.attempt_id
        try:
            self._run(self._store.events.append(attempt_id, payloads, fence=self._fence))
        except CheckreinError:
            return False
        return True


@pytest.fixture(scope="module")
def opened(server_url: str) -> Iterator[tuple[asyncio.Runner, OpenStore]]:
    """One store for all walks, on a loop that lives as long."""
    with fresh_database(server_url) as url, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        store = runner.run(stack.enter_async_context(opened_store(url, size=1)))
        yield runner, store
        runner.run(stack.aclose())


@pytest.mark.shows(81)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_honest_evidence_of_withdrawn_answers_has_no_fault(
    opened: tuple[asyncio.Runner, OpenStore], seed: int
) -> None:
    """Protects: evidence is not refused because the database counted somebody out."""
    dice = random.Random(seed)
    for _ in range(WALKS):
        walk = Walk(*opened, dice)
        for _ in range(STEPS):
            walk.step()
        walk.end()
