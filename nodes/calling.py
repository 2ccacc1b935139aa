"""Calling a capability where whatever its client raises must end in a word, and not in a crash."""

import asyncio
from collections.abc import Awaitable
from typing import NamedTuple, TypeVar

from checkrein.errors import CapabilityError, CheckreinError, LeaseLostError, StoreError
from checkrein.nodes.limits import time_limit_s
from checkrein.ports.capability import Capability

T = TypeVar("T")


class Failed(NamedTuple):
    """A call that ended without a result.

    Attributes:
        kind: the error's code, or the type of the exception; never its text, which may hold
            a secret.
        error: what the capability itself said, where it said something.
    """

    kind: str
    error: CapabilityError | None = None

    def told(self, capability: Capability, op: str) -> CapabilityError:
        """The error of a call that changes nothing: its own, or that it was late or broke."""
        if self.error is not None:
            return self.error
        name, limit_s = capability.spec.name, capability.spec.timeout_s
        if self.kind == TimeoutError.__name__:
            return CapabilityError(
                f"{name} did not answer within {limit_s:g} s.",
                op=op,
                code="not_in_time",
                retryable=True,
                advice="Its target is slow or gone, and nothing was changed. Try it later.",
            )
        return CapabilityError(
            f"{name} failed: {self.kind}.",
            op=op,
            advice="It is broken in itself; nothing was changed. Reach the goal another way.",
        )


async def called(
    capability: Capability,
    work: Awaitable[T],
    passing: tuple[type[CheckreinError], ...] = (LeaseLostError, StoreError),
    within_s: float | None = None,
) -> T | Failed:
    """Await a call within the declared time, or `within_s` seconds.

    `passing` errors are the harness's own and go on: for a call that changes nothing that is every
    error but the capability's own word.

    This is the one place in which everything is caught: a capability is foreign code.
    """
    try:
        async with asyncio.timeout(within_s or time_limit_s(capability.spec)):
            return await work
    except CapabilityError as error:
        return Failed(error.code, error)
    except passing:
        raise
    except Exception as error:
        return Failed(type(error).__name__)
