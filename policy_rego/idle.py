"""Loaded policies between two uses: loading a bundle takes longer than many decisions."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from checkrein.policy_rego.bundle_files import Bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy

MOST = 4
"""Most policies that are kept while nobody uses them."""


class IdlePolicies:
    """Lends each loaded policy to one attempt at a time, and keeps it for the next one.

    The bundle is read anew each time, and its version decides: a changed bundle is another policy.
    """

    def __init__(self) -> None:
        self._idle: dict[str, EmbeddedPolicy] = {}

    @asynccontextmanager
    async def lent(self, bundle: Bundle) -> AsyncGenerator[EmbeddedPolicy]:
        """A policy for one attempt.

        Raises:
            InputError, EnvironmentFault: as EmbeddedPolicy.load.
        """
        policy = self._idle.pop(bundle.version, None) or await EmbeddedPolicy.load(bundle)
        try:
            yield policy
        finally:
            await self._kept(policy)

    async def aclose(self) -> None:
        """End all workers that nobody uses."""
        while self._idle:
            await self._idle.popitem()[1].close()

    async def _kept(self, policy: EmbeddedPolicy) -> None:
        spare = self._idle.pop(policy.version, None)
        self._idle[policy.version] = policy
        if len(self._idle) > MOST:
            spare = self._idle.pop(next(iter(self._idle)))
        if spare is not None:
            await spare.close()
