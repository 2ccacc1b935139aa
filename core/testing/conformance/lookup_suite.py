"""What a target must answer when it is asked whether an effect happened."""

import asyncio
import time

from checkrein.contracts.action import Lookup
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.testing.conformance.target import (
    Act,
    Check,
    Target,
    act,
    must,
    must_commit,
    sent,
)

EVENTUAL_S = 10.0
"""Seconds within which an eventual look-up must show what was done."""

_PAUSE_S = 0.1


async def what_was_never_sent_is_not_found(target: Target) -> None:
    """Neither before a send, nor of another key on the same resource after it."""
    one, never = await act(target, target.one), await act(target, target.one)
    await _absent(target, one, "before its send")
    await sent(target, one)
    await _absent(target, never, "of a key that was never sent")


async def what_was_done_is_found(target: Target) -> None:
    """Authoritative: at once. Eventual: in the end."""
    one = await act(target, target.one)
    must_commit(await sent(target, one), "the send before the look-up:")
    found = await target.capability.lookup(one.effect)
    deadline = time.monotonic() + EVENTUAL_S
    eventual = target.capability.spec.lookup is Lookup.EVENTUAL
    while eventual and found is None and time.monotonic() < deadline:
        await asyncio.sleep(_PAUSE_S)
        found = await target.capability.lookup(one.effect)
    when = f"within {EVENTUAL_S:g} s" if eventual else "right after the answer"
    must(_committed(found), f"{when} it said {_status(found)} of what it had done")


async def another_hash_is_not_claimed(target: Target) -> None:
    """An effect of other arguments under the key is not ours."""
    one = await act(target, target.one)
    other = await act(target, target.other, one.permit.key)
    await sent(target, one)
    found = await target.capability.lookup(other.effect)
    must(not _committed(found), "it claims other arguments under the key than those that were sent")


async def nothing_is_claimed(target: Target) -> None:
    """Without a look-up, None is the answer to everything."""
    one = await act(target, target.one)
    await _absent(target, one, "before its send")
    await sent(target, one)
    await _absent(target, one, "although it declares lookup none")


CHECKS: list[Check] = [
    what_was_never_sent_is_not_found,
    what_was_done_is_found,
    another_hash_is_not_claimed,
]
"""Every check, where a look-up is declared."""

NONE: list[Check] = [nothing_is_claimed]
"""Every check, where none is declared."""


async def _absent(target: Target, one: Act, when: str) -> None:
    found = await target.capability.lookup(one.effect)
    must(found is None, f"{when} it said {_status(found)}, not None")


def _committed(found: Outcome | None) -> bool:
    return found is not None and found.status is EffectStatus.COMMITTED


def _status(found: Outcome | None) -> str:
    return "None" if found is None else found.status
