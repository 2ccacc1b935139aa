"""What every target that declares atomic_key must do: one effect for each key, whatever comes."""

import asyncio

from checkrein.contracts.effect import Outcome
from checkrein.testing.conformance.target import (
    Act,
    Check,
    Target,
    act,
    counted,
    grown,
    must,
    must_commit,
    refusal_of,
    sent,
)

AT_ONCE = 16
"""How many sends of one key are made at the same time."""


async def keys_outlive_our_retries(target: Target) -> None:
    """A repeat that comes after the key was forgotten would be a second effect."""
    spec = target.capability.spec
    must(spec.key_retention_s is not None, "key_retention_s is not declared")
    keeps = spec.key_retention_s or 0.0
    window = spec.retry.window_s
    must(keeps >= window, f"keys are kept for {keeps:g} s, sends are repeated for {window:g} s")


async def sends_at_once_have_one_answer(target: Target) -> None:
    """Whoever sends the key hears that it happened, and the same result."""
    _one_answer(await _at_once(target, await act(target, target.one)))


async def sends_at_once_make_one_effect(target: Target) -> None:
    """Two owners who both send cannot both act."""
    before = await counted(target)
    await _at_once(target, await act(target, target.one))
    await grown(target, before, 1, f"after {AT_ONCE} sends of one key at the same time")


async def a_later_send_makes_no_other_effect(target: Target) -> None:
    """The key is still known after its first answer."""
    before = await counted(target)
    one = await act(target, target.one)
    _one_answer([await sent(target, one), await sent(target, one)])
    await grown(target, before, 1, "after a second send of the key")


async def another_key_is_another_effect(target: Target) -> None:
    """What is de-duplicated is the key, not the arguments."""
    before = await counted(target)
    for _ in range(2):
        must_commit(await sent(target, await act(target, target.one)), "a send:")
    await grown(target, before, 2, "after one send each of two keys")


async def other_arguments_are_refused(target: Target) -> None:
    """The key is bound to what it was first sent with."""
    one = await act(target, target.one)
    other = await act(target, target.other, one.permit.key)
    must(one.permit.operation_hash != other.permit.operation_hash, "`one` and `other` are equal")
    must_commit(await sent(target, one), "the first send:")
    problem = await refusal_of(target, other)
    must(problem is None, f"the same key with other arguments: {problem}")
    _one_answer([await sent(target, one)])


async def other_arguments_make_no_effect(target: Target) -> None:
    """What is refused does not happen all the same."""
    before = await counted(target)
    one = await act(target, target.one)
    await sent(target, one)
    await refusal_of(target, await act(target, target.other, one.permit.key))
    await grown(target, before, 1, "after the same key with other arguments")


CHECKS: dict[str, list[Check]] = {
    "key retention": [keys_outlive_our_retries],
    "atomic_key": [
        sends_at_once_have_one_answer,
        sends_at_once_make_one_effect,
        a_later_send_makes_no_other_effect,
        another_key_is_another_effect,
    ],
    "key binding": [other_arguments_are_refused, other_arguments_make_no_effect],
}
"""Guarantee to the checks of it. The crash between is crash_suite's."""


async def _at_once(target: Target, one: Act) -> list[Outcome]:
    return list(await asyncio.gather(*(sent(target, one) for _ in range(AT_ONCE))))


def _one_answer(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        must_commit(outcome, "one of the sends of a key:")
    first = (outcomes[0].version, outcomes[0].result)
    other = [o for o in outcomes if (o.version, o.result) != first]
    must(not other, f"sends of one key were told {first[1]!r:.100} and {other[:1]!r:.100}")
