"""A till that counts what it pays, and tasks that pay."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loops import ASK_ALL, DONE, call, contract, says

from checkrein import capability
from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.event import Observed, Payload
from checkrein.contracts.observation import Observation
from checkrein.contracts.task import TaskContract

WAITS = AttemptStatus.WAITING_FOR_APPROVAL


def till(paid: list[int]) -> Any:
    """A till that writes down each payment."""

    @capability("till.pay", resource=lambda args: f"order:{args['cents']}")
    async def pay(cents: int) -> int:
        """Pay."""
        paid.append(cents)
        return cents

    return pay


def paying(folder: Path, *cents: int, policy: Path = ASK_ALL, **fields: Any) -> TaskContract:
    """A task whose first turn pays all of these, in this order."""
    turn = says("I pay.", *(call("till.pay", cents=one) for one in cents))
    fields = {"capabilities": ["till.pay"], **fields}
    return contract(folder, [turn, DONE], policy=policy, **fields)


def seen(told: Sequence[Payload]) -> list[Observation]:
    """What the model was told of its calls, in order."""
    return [p.observation for p in told if isinstance(p, Observed)]
