"""What a target without a guarantee must do: nothing more than it is asked to, once."""

from checkrein.contracts.effect import EffectStatus
from checkrein.testing.conformance.target import Check, Target, act, counted, grown, must, sent


async def one_send_makes_one_effect(target: Target) -> None:
    """A send is not repeated below the capability, and COMMITTED means that it happened."""
    before = await counted(target)
    outcome = await sent(target, await act(target, target.one))
    must(
        outcome.status is EffectStatus.COMMITTED,
        f"a send without any fault was told {outcome.status} {outcome.error_type or ''}".rstrip(),
    )
    await grown(target, before, 1, "after one send")


CHECKS: dict[str, list[Check]] = {"none": [one_send_makes_one_effect]}
"""Guarantee to the checks of it."""
