"""A policy that follows its folder: a changed bundle is taken over whole, or refused and told."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol

from checkrein.contracts.codec import Frozen
from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.errors import CheckreinError, EnvironmentFault, InputError
from checkrein.policy_rego.bundle_files import Bundle, load_bundle
from checkrein.policy_rego.bundle_tests import test_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.fingerprint import Fingerprint, fingerprint
from checkrein.policy_rego.input_document import input_text
from checkrein.ports.policy import Policy

CHECK_EVERY_S = 1.0
"""Seconds between two looks at the folder, which happen as decisions are asked for."""

PATIENCE_S = 1.0
"""Seconds that a decision waits for a bundle that is just being taken over."""

RETRY_S = 30.0
"""Seconds after which a bundle is tried again that only the engine kept from being taken over."""


class BundleEvent(Frozen):
    """What became of a change in the folder.

    Attributes:
        version: the new bundle's; empty where it could not even be read.
        serving: the version that decides from now on.
        problem: why it was refused.
    """

    kind: Literal["reloaded", "refused"]
    version: str
    serving: str
    problem: str = ""


class ReloadState(Frozen):
    """How a policy that follows its folder stands, for `doctor`.

    Attributes:
        serving: the version that decides.
        reloads: bundles taken over since the first.
        refused: the version of the folder that was refused last and still lies there; None while
            the folder's bundle is the one that decides.
        problem: why.
        loading: whether a changed bundle is being looked at right now.
    """

    folder: str
    serving: str
    reloads: int
    refused: str | None = None
    problem: str = ""
    loading: bool = False


class Opener(Protocol):
    """Opens a policy for a bundle; EmbeddedPolicy.load does."""

    def __call__(self, bundle: Bundle, /) -> Awaitable[Policy]:
        """Check and load a bundle, or raise a CheckreinError."""
        ...


class _Serving:
    """One policy and how many decisions it is making."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.busy = 0
        self.retired = False

    async def retire(self) -> None:
        """Close it as soon as nobody is waiting for it."""
        self.retired = True
        if not self.busy:
            await self.policy.close()

    async def release(self) -> None:
        """One decision is made."""
        self.busy -= 1
        if self.retired and not self.busy:
            await self.policy.close()


class ReloadingPolicy:
    """Decides by what lies in a folder now; implements `checkrein.ports.policy.Policy`.

    Between decisions, at most once in `check_every_s`, the folder's files are looked at: names,
    sizes and times. Where these changed, the bundle is read, checked and tested in the
    background, and takes the old one's place in one step; a decision that is being made is
    finished by the policy that began it. A bundle that cannot be read, does not compile, or
    whose own tests do not all pass is refused, and the old one goes on.
    """

    def __init__(
        self,
        folder: Path,
        policy: Policy,
        seen: Fingerprint,
        *,
        tell: Callable[[BundleEvent], None],
        opener: Opener,
        check_every_s: float,
        patience_s: float,
    ) -> None:
        """See `load`, which makes it."""
        self._folder = folder
        self._serving = _Serving(policy)
        self._seen = seen
        self._tell = tell
        self._opener = opener
        self._check_every_s = check_every_s
        self._patience_s = patience_s
        self._next_look = asyncio.get_running_loop().time() + check_every_s
        self._loading: asyncio.Task[None] | None = None
        self._state = ReloadState(folder=str(folder), serving=policy.version, reloads=0)
        self._closed = False

    @classmethod
    async def load(
        cls,
        folder: Path,
        *,
        tell: Callable[[BundleEvent], None] = lambda event: None,
        opener: Opener = EmbeddedPolicy.load,
        check_every_s: float = CHECK_EVERY_S,
        patience_s: float = PATIENCE_S,
    ) -> "ReloadingPolicy":
        """Load a folder's bundle, and follow the folder from then on.

        Args:
            tell: called on the event loop with what became of each change; it must not block.
            opener: makes the policy of a bundle.

        Raises:
            InputError, EnvironmentFault: the first bundle cannot be used.
        """
        # Taken before the files are read: what changes meanwhile is seen at the first look.
        seen = await asyncio.to_thread(fingerprint, folder)
        bundle = await asyncio.to_thread(load_bundle, folder)
        policy = await opener(bundle)
        return cls(
            folder,
            policy,
            seen,
            tell=tell,
            opener=opener,
            check_every_s=check_every_s,
            patience_s=patience_s,
        )

    @property
    def version(self) -> str:
        """Content hash of the bundle that decides now."""
        return self._serving.policy.version

    def state(self) -> ReloadState:
        """How it stands now."""
        return self._state.model_copy(update={"loading": self._loading is not None})

    def input_text(self, document: DecisionInput) -> bytes:
        """The exact input; the same for every bundle."""
        return input_text(document)

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Look at the folder where it is time, then judge by the bundle that serves."""
        await self._look()
        serving = self._serving
        serving.busy += 1
        try:
            return await serving.policy.decide(document)
        finally:
            await serving.release()

    async def settled(self) -> None:
        """Wait until a changed bundle that is being looked at is taken over or refused."""
        if self._loading is not None:
            await asyncio.wait({self._loading})

    async def close(self) -> None:
        """Stop following, and close the policy. May be called twice."""
        self._closed = True
        if self._loading is not None:
            self._loading.cancel()
            await self.settled()
        await self._serving.policy.close()

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        if now < self._next_look or not self._idle():
            return
        # Set before anything is awaited: other decisions do not look as well.
        self._next_look = now + self._check_every_s
        found = await asyncio.to_thread(fingerprint, self._folder)
        if found != self._seen and self._idle():  # again: others ran meanwhile
            loading = asyncio.create_task(self._take_over(found), name="policy reload")
            loading.add_done_callback(self._loaded)
            self._loading = loading
            await asyncio.wait({loading}, timeout=self._patience_s)

    def _idle(self) -> bool:
        return self._loading is None and not self._closed

    def _loaded(self, task: asyncio.Task[None]) -> None:
        self._loading = None
        with suppress(asyncio.CancelledError):
            fault = task.exception()
            if fault is not None:
                # A fault of ours: the old bundle serves, and the loop's handler tells it.
                self._refuse("", f"{type(fault).__name__}: {fault}")
                task.get_loop().call_exception_handler(
                    {"message": "Reloading a policy failed.", "exception": fault, "task": task}
                )

    async def _take_over(self, found: Fingerprint) -> None:
        version = ""
        try:
            bundle = await asyncio.to_thread(load_bundle, self._folder)
            if await asyncio.to_thread(fingerprint, self._folder) != found:
                return  # somebody is still writing; the next look sees the rest
            version = bundle.version
            if version == self.version:
                self._seen = found
                self._state = self._state.model_copy(update={"refused": None, "problem": ""})
                return
            policy = await self._opener(bundle)
            try:
                await _tested(bundle)
            except BaseException:
                await policy.close()
                raise
        except EnvironmentFault as error:
            # The engine, not the bundle, is at fault: the same bundle is tried again later.
            self._next_look = asyncio.get_running_loop().time() + RETRY_S
            self._refuse(version, str(error))
            return
        except CheckreinError as error:
            self._seen = found
            self._refuse(version, str(error))
            return
        self._seen = found
        old, self._serving = self._serving, _Serving(policy)
        self._state = ReloadState(
            folder=str(self._folder), serving=version, reloads=self._state.reloads + 1
        )
        self._tell(BundleEvent(kind="reloaded", version=version, serving=version))
        await old.retire()

    def _refuse(self, version: str, problem: str) -> None:
        self._state = self._state.model_copy(update={"refused": version, "problem": problem})
        self._tell(
            BundleEvent(kind="refused", version=version, serving=self.version, problem=problem)
        )


async def _tested(bundle: Bundle) -> None:
    """Run a bundle's own tests, where it has any.

    Raises:
        InputError: one of them does not pass (code policy_tests_failed).
    """
    report = await test_bundle(bundle)
    bad = [result for result in report.results if result.outcome in {"fail", "error"}]
    if bad:
        first = bad[0]
        raise InputError(
            f"{len(bad)} of the bundle's own tests do not pass, the first one "
            f"{first.path}:{first.line}: {first.name}. `checkrein policy test {bundle.origin}` "
            "shows them.",
            op="policy.reload",
            code="policy_tests_failed",
            context={"path": bundle.origin, "tests": [result.name for result in bad]},
        )
