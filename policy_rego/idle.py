"""Loaded policies between two uses: loading a bundle takes longer than many decisions."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved
from checkrein.policy_rego.bundle_files import Bundle
from checkrein.policy_rego.embedded import ENGINE, EmbeddedPolicy
from checkrein.policy_rego.output import Refusal, stamped
from checkrein.policy_rego.soundness import TestedBundles
from checkrein.ports.policy import Policy, PolicyNews

MOST = 4
"""Most policies that are kept while nobody uses them."""


class IdlePolicies:
    """Lends each loaded policy to one attempt at a time, and keeps it for the next one.

    A policy answers one question after the other, and the wait counts against the deadline of each:
    attempts that share one would deny each other's actions. The bundle is read anew each time, and
    its version decides: a changed bundle is another policy.
    """

    def __init__(self) -> None:
        self._idle: dict[str, EmbeddedPolicy] = {}
        self._tested = TestedBundles()

    @asynccontextmanager
    async def lent(self, bundle: Bundle) -> AsyncGenerator[EmbeddedPolicy]:
        """A policy for one attempt.

        Raises:
            InputError, EnvironmentFault: as EmbeddedPolicy.load.
        """
        policy = await self._taken(bundle)
        try:
            yield policy
        finally:
            await self._kept(policy)

    async def sound(self, bundle: Bundle) -> Policy:
        """A policy for one attempt, of a bundle whose own tests pass; closing it gives it back.

        Raises:
            InputError, EnvironmentFault: as `checkrein.policy_rego.soundness.sound_policy`.
        """
        policy = await self._taken(bundle)
        try:
            await self._tested.check(bundle)
        except BaseException:
            await policy.close()
            raise
        return _Lent(policy, self._kept)

    async def aclose(self) -> None:
        """End all workers that nobody uses."""
        while self._idle:
            await self._idle.popitem()[1].close()

    async def _taken(self, bundle: Bundle) -> EmbeddedPolicy:
        return self._idle.pop(bundle.version, None) or await EmbeddedPolicy.load(bundle)

    async def _kept(self, policy: EmbeddedPolicy) -> None:
        spare = self._idle.pop(policy.version, None)
        self._idle[policy.version] = policy
        if len(self._idle) > MOST:
            spare = self._idle.pop(next(iter(self._idle)))
        if spare is not None:
            await spare.close()


class _Lent:
    """A policy until it is given back, by closing it; implements ports.policy.Policy."""

    def __init__(
        self, policy: EmbeddedPolicy, back: Callable[[EmbeddedPolicy], Awaitable[None]]
    ) -> None:
        self._policy = policy
        self._back = back
        self._given_back = False

    @property
    def version(self) -> str:
        return self._policy.version

    def input_text(self, document: DecisionInput) -> bytes:
        return self._policy.input_text(document)

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        if self._given_back:  # it may be another attempt's by now
            return stamped(
                Refusal(Reserved.POLICY_UNAVAILABLE, "The policy is closed."),
                policy_version=self.version,
                engine=ENGINE,
                input_ref="",
                duration_ms=0.0,
            )
        return await self._policy.decide(document)

    def news(self) -> Sequence[PolicyNews]:
        return self._policy.news()

    def heard(self, news: Sequence[PolicyNews]) -> None:
        self._policy.heard(news)

    async def close(self) -> None:
        if not self._given_back:
            self._given_back = True
            await self._back(self._policy)
