"""A policy that follows its folder: a changed bundle is taken over whole, or refused and told."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from checkrein.contracts.codec import Frozen, visible
from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.contracts.event import PROBLEM_CHARS, PolicyRefused, PolicyReloaded
from checkrein.errors import CheckreinError, EnvironmentFault
from checkrein.policy_rego.bundle_files import Bundle, load_bundle
from checkrein.policy_rego.fingerprint import SETTLED_S, Fingerprint, fingerprint, settled
from checkrein.policy_rego.soundness import sound_policy
from checkrein.ports.policy import Policy, PolicyNews

CHECK_EVERY_S = 0.0
"""Seconds between two looks at the folder; 0 looks before every decision, for 0.15 ms each."""

PATIENCE_S = 5.0
"""Seconds that a decision waits for a bundle that is just being looked at; a process that is asked
to stop has twice as long."""

MOST_ROUNDS = 10
"""How often in a row a folder is looked at that does not lie still; then again at the next look."""

MOST_NEWS = 64
"""Changes that are kept for whoever records them; the oldest go first."""

RETRY_S = 30.0
"""Seconds after which a bundle is tried again that only the engine kept from being taken over."""


class ReloadState(Frozen):
    """How a policy that follows its folder stands.

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


Opener = Callable[[Bundle], Awaitable[Policy]]
"""Checks, loads and tests a bundle, and opens it, or raises a CheckreinError."""


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

    Before a decision, at most once in `check_every_s`, the folder's files are looked at: names,
    sizes and times. Where these changed, the bundle is read, checked and tested, and takes the old
    one's place in one step; the decision waits for that for `patience_s`, and then goes by the old
    one. A decision that is being made is finished by the policy that began it. A bundle that cannot
    be read, does not compile, or whose own tests do not all pass is refused, and the old one goes
    on.

    One instance is for one attempt, whose events its `news` become.
    """

    def __init__(
        self,
        folder: Path,
        policy: Policy,
        seen: Fingerprint | None,
        *,
        opener: Opener,
        check_every_s: float,
        patience_s: float,
    ) -> None:
        """See `load`, which makes it."""
        self._folder = folder
        self._serving = _Serving(policy)
        self._seen = seen
        self._untold: list[PolicyNews] = []
        self._news: list[PolicyNews] = []
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
        opener: Opener = sound_policy,
        check_every_s: float = CHECK_EVERY_S,
        patience_s: float = PATIENCE_S,
    ) -> "ReloadingPolicy":
        """Load a folder's bundle, and follow the folder from then on.

        Raises:
            InputError, EnvironmentFault: the first bundle may not decide.
        """
        # Taken before the files are read: what changes meanwhile is seen at the first look.
        seen = await asyncio.to_thread(fingerprint, folder)
        bundle = await asyncio.to_thread(load_bundle, folder)
        policy = await opener(bundle)
        return cls(
            folder,
            policy,
            # What is written again within one tick of the clock would look the same.
            seen if settled(seen) else None,
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
        return self._serving.policy.input_text(document)

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Look at the folder where it is time, then judge by the bundle that serves."""
        await self._look()
        serving = self._serving
        # What happens from here on is no news of this decision.
        self._news = [*self._news, *self._untold][-MOST_NEWS:]
        self._untold.clear()
        serving.busy += 1
        try:
            return await serving.policy.decide(document)
        finally:
            await serving.release()

    def news(self) -> Sequence[PolicyNews]:
        """See the port."""
        return tuple(self._news)

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """See the port."""
        self._news = [one for one in self._news if all(one is not told for told in news)]

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
            loading = asyncio.create_task(self._take_over(), name="policy reload")
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
                self._later()
                self._refuse("", f"{type(fault).__name__}: {fault}")
                task.get_loop().call_exception_handler(
                    {"message": "Reloading a policy failed.", "exception": fault, "task": task}
                )

    async def _take_over(self) -> None:
        """Judge what lies in the folder, once it lies still for as long as that takes.

        Whoever writes several files is between two of them while the newest is of this very moment,
        and a clock that ticks slowly would not tell what is written next from what was read.
        """
        for _ in range(MOST_ROUNDS):
            found = await asyncio.to_thread(fingerprint, self._folder)
            if not settled(found):
                await asyncio.sleep(SETTLED_S)
                continue
            judged = await self._judged()
            try:
                still = await asyncio.to_thread(fingerprint, self._folder) == found
            except BaseException:
                await judged.dropped()
                raise
            if still:
                await self._conclude(found, judged)
                return
            await judged.dropped()
        self._refuse(
            "", f"The policy bundle {self._folder} changes all the time. Let it lie still."
        )

    async def _judged(self) -> "_Judged":
        version = ""
        try:
            bundle = await asyncio.to_thread(load_bundle, self._folder)
            version = bundle.version
            policy = None if version == self.version else await self._opener(bundle)
        except CheckreinError as error:
            return _Judged(version, None, error)
        return _Judged(version, policy, None)

    async def _conclude(self, found: Fingerprint, judged: "_Judged") -> None:
        if isinstance(judged.fault, EnvironmentFault):
            # The engine, not the bundle, is at fault: the same bundle is tried again later.
            self._later()
        else:
            self._seen = found
        if judged.fault is not None:
            self._refuse(judged.version, str(judged.fault))
        elif judged.policy is not None:
            before = self.version
            old, self._serving = self._serving, _Serving(judged.policy)
            self._serves(before, self._state.reloads + 1)
            await old.retire()
        elif self._state.refused is not None:
            self._serves(self.version, self._state.reloads)

    def _later(self) -> None:
        self._next_look = asyncio.get_running_loop().time() + RETRY_S

    def _serves(self, before: str, reloads: int) -> None:
        self._state = ReloadState(folder=str(self._folder), serving=self.version, reloads=reloads)
        self._untold.append(PolicyReloaded(version=self.version, before=before))

    def _refuse(self, version: str, problem: str) -> None:
        problem = visible(problem)[:PROBLEM_CHARS]
        if (self._state.refused, self._state.problem) == (version, problem):
            return  # told already
        self._state = self._state.model_copy(update={"refused": version, "problem": problem})
        self._untold.append(PolicyRefused(version=version, serving=self.version, problem=problem))


class _Judged(NamedTuple):
    """What lies in the folder: a policy that may decide, a fault, or neither where it serves."""

    version: str
    policy: Policy | None
    fault: CheckreinError | None

    async def dropped(self) -> None:
        """Let go of it: it is not what lies there any more."""
        if self.policy is not None:
            await self.policy.close()
