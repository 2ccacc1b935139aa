"""What tests of the outbox share: requests on offer, and a deliverer that does as it is told."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from asking import move_clock
from open_store import OpenStore
from payloads import prepared, requested

from checkrein.checkpointer.outbox import PostgresOutbox
from checkrein.contracts.action import Action
from checkrein.contracts.decision import ApprovalTerms, Verdict
from checkrein.contracts.event import ActionProposed
from checkrein.contracts.message import ApprovalMessage
from checkrein.graph.delivery import Courier
from checkrein.settings import Settings
from checkrein.testing.conformance.story import action_of, asked, decided, replied

DAY_S = 86_400.0
MONTH = ApprovalTerms(roles=["approver"], expires_in_s=30 * 86_400)


async def on_offer(store: OpenStore, *, offered: bool = True, **changes: Any) -> Action:
    """An action on which people must decide; its owner holds fence 1."""
    attempt_id = await store.begun()
    await store.fence(attempt_id, "60 days")
    action = action_of(attempt_id)
    wanted: dict[str, Any] = {"terms": MONTH} | changes
    payloads = [
        *asked(),
        *replied(),
        ActionProposed(action=action),
        decided(action, Verdict.REQUIRE_APPROVAL),
        prepared(action, 1, **wanted),
        *([requested(action)] if offered else []),
    ]
    await store.append(attempt_id, payloads, 1)
    return action


def later(url: str, **by: float) -> None:
    """Let the database's clock go ahead of the real one, by so much in all."""
    move_clock(Settings(home=Path(), database_url=url), timedelta(**by))


Behaviour = Callable[[ApprovalMessage], Awaitable[str]]


class Told:
    """A deliverer that keeps what it got, and before that does what the test wants.

    Attributes:
        got: all that was delivered, in order; doubles too.
        begun: the keys of all tries.
    """

    def __init__(
        self,
        name: str = "told",
        behaviour: Behaviour | None = None,
        *,
        tenant: str | None = None,
        limit_s: float = 20.0,
        give_up_s: float = 7 * DAY_S,
    ) -> None:
        self.name = name
        self.tenant = tenant
        self.limit_s = limit_s
        self.give_up_s = give_up_s
        self.behaviour = behaviour
        self.begun: list[str] = []
        self.got: list[ApprovalMessage] = []

    async def deliver(self, message: ApprovalMessage) -> str:
        """See the port."""
        self.begun.append(message.key)
        await asyncio.sleep(0)
        note = await self.behaviour(message) if self.behaviour is not None else ""
        self.got.append(message)
        return note

    @property
    def kinds(self) -> list[str]:
        """The kinds of what it got."""
        return [str(message.kind) for message in self.got]


def courier(store: OpenStore, *deliverers: Told) -> Courier:
    """What takes the store's messages to them."""
    return Courier(PostgresOutbox(store.pool), deliverers)
