"""Delivering what the outbox holds: claim, deliver within a time limit, record; again and again.

No deliverer keeps another one waiting, and none of them touches an approval: what it cannot do is
recorded, and tried again later.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from checkrein.errors import DeliveryError
from checkrein.graph.telling import message_of
from checkrein.ports.deliverer import Deliverer
from checkrein.ports.outbox import Claim, DeliveryState, Outbox, Outcome

BATCH = 4
"""Messages of different attempts that one deliverer delivers at once."""

FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 900.0
"""How long a message waits after the first failure, and at the most, seconds."""

_MARGIN_S = 60.0
"""How much longer a claim holds than a delivery may take: the time to end it and record it."""

_MAX_ASKED_S = 3_600.0
_SETTLED = frozenset({DeliveryState.DELIVERED, DeliveryState.GIVEN_UP})


@dataclass(frozen=True)
class Tried:
    """How one try ended. `state` is None where another process had settled the message."""

    deliverer: str
    key: str
    kind: str
    state: DeliveryState | None
    note: str


def pause_s(tries: int) -> float:
    """How long to wait after so many tries that failed: doubled each time, up to the bound."""
    return min(FIRST_PAUSE_S * 2.0 ** min(tries - 1, 30), LONGEST_PAUSE_S)


class Courier:
    """Takes messages from the outbox to the deliverers.

    Attributes:
        stopping: once set, nothing more is claimed; what is on its way is seen through.
    """

    def __init__(self, outbox: Outbox, deliverers: Sequence[Deliverer]) -> None:
        self._outbox = outbox
        self._deliverers = deliverers
        self.stopping = False

    async def once(self) -> list[Tried]:
        """Deliver everything that is due, to every deliverer.

        Raises:
            StoreError: the database cannot be used. What was on its way is tried again later.
        """
        passes = (self._all_due(deliverer) for deliverer in self._deliverers)
        # Each is seen through whatever becomes of the others.
        ended = await asyncio.gather(*passes, return_exceptions=True)
        for end in ended:
            if isinstance(end, BaseException):
                raise end
        return [tried for end in ended if not isinstance(end, BaseException) for tried in end]

    async def _all_due(self, deliverer: Deliverer) -> list[Tried]:
        done: list[Tried] = []
        while not self.stopping:
            claims = await self._outbox.claim(
                deliverer.name,
                deliverer.tenant,
                most=BATCH,
                hold_s=deliverer.limit_s + _MARGIN_S,
            )
            tried = await asyncio.gather(*(self._tried(deliverer, claim) for claim in claims))
            done += tried
            # A receiver that takes nothing is left alone until the next pass.
            if not any(one.state in _SETTLED for one in tried):
                break
        return done

    async def _tried(self, deliverer: Deliverer, claim: Claim) -> Tried:
        outcome, note, asked_s = await _outcome(deliverer, claim)
        state = await self._outbox.record(
            claim,
            deliverer.name,
            outcome,
            note=note,
            again_s=max(pause_s(claim.tries), min(asked_s, _MAX_ASKED_S)),
            give_up_s=deliverer.give_up_s,
        )
        return Tried(deliverer.name, claim.key, claim.kind, state, note)


async def _outcome(deliverer: Deliverer, claim: Claim) -> tuple[Outcome, str, float]:
    """Try once: how it ended, what there is to say about it, and how long to wait at the least."""
    try:
        message = message_of(claim)
        async with asyncio.timeout(deliverer.limit_s):
            return "delivered", await deliverer.deliver(message), 0.0
    except DeliveryError as error:
        return ("refused" if error.final else "failed"), str(error), error.wait_s
    except TimeoutError:
        return "failed", f"It did not end within {deliverer.limit_s:g} s.", 0.0
    except Exception as error:
        # Whatever a deliverer raises: only its type, since its text may quote a secret.
        return "failed", f"The deliverer failed ({type(error).__name__}).", 0.0
