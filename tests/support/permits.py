"""One send of a capability by itself, under a permit that nobody had to give."""

from typing import Any

from checkrein.contracts.effect import Outcome
from checkrein.ports.capability import Capability, Permit

PERMIT = Permit(effect_id="key-1", key="k", operation_hash="sha256:0", fence=1)


async def ours() -> bool:
    return True


async def send(one: Capability, args: dict[str, Any]) -> Outcome:
    return await one.send(await one.prepare(args), PERMIT, ours)
