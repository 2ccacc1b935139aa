"""The embedded policy engine: Rego in a worker process of ours, with a hard deadline."""

import asyncio
import time
from collections.abc import Sequence
from importlib.metadata import version

from checkrein.contracts.codec import digest
from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved
from checkrein.errors import EnvironmentFault, InputError
from checkrein.policy_rego.bundle_files import Bundle
from checkrein.policy_rego.engine_process import EngineProcess
from checkrein.policy_rego.evaluation import decide, load_into
from checkrein.policy_rego.findings import Finding, unusable
from checkrein.policy_rego.input_document import WrittenInput
from checkrein.policy_rego.lint import lint
from checkrein.policy_rego.output import Answer, Refusal, stamped
from checkrein.ports.policy import PolicyNews

ENGINE = f"regorus {version('gordon-to-regorus')}"
"""Name and version of the engine, as every decision records it."""

DEADLINE_S = 2.0
"""Seconds that one decision may take in all."""

LOAD_S = 30.0
"""Seconds that checking and loading a bundle may take."""


class EmbeddedPolicy:
    """One bundle in one worker process; implements `checkrein.ports.policy.Policy`.

    Requests are answered one at a time; the deadline counts from the call, waiting for others
    included. A worker that dies or is late is killed, and the next call starts another one.

    An instance belongs to the event loop that first used it: on another loop it denies.
    """

    def __init__(self, bundle: Bundle, *, deadline_s: float = DEADLINE_S) -> None:
        """Nothing is checked and nothing starts before the first decision: prefer `load`.

        A bundle that is no good still never allows; each decision then says what is wrong.
        """
        self.bundle = bundle
        self._deadline_s = deadline_s
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._engine: EngineProcess | None = None
        self._closed = False
        self._written = WrittenInput()

    @classmethod
    async def load(cls, bundle: Bundle, *, deadline_s: float = DEADLINE_S) -> "EmbeddedPolicy":
        """Check a bundle, load it, and make one decision with it on trial.

        Raises:
            InputError: policy_invalid, the bundle cannot be used; the message and
                `context["findings"]` name each file, line and column.
            EnvironmentFault: the engine cannot be started, or checking takes longer than LOAD_S.
        """
        policy = cls(bundle, deadline_s=deadline_s)
        engine = await EngineProcess.start()
        try:
            findings = await _checked(bundle, engine, deadline_s)
            errors = [finding for finding in findings if finding.level == "error"]
            if errors:
                raise unusable(bundle.origin, errors)
        except BaseException:
            engine.kill()
            await engine.close()
            raise
        policy._engine = engine
        policy._loop = asyncio.get_running_loop()
        return policy

    @property
    def version(self) -> str:
        """Content hash of the bundle's modules and data, tests left out."""
        return self.bundle.version

    @property
    def engine_pid(self) -> int | None:
        """Process id of the running worker; None while none runs."""
        return self._engine.pid if self._engine and self._engine.usable else None

    def input_text(self, document: DecisionInput) -> bytes:
        """The exact input as the engine sees it.

        Raises:
            InputError: the document cannot be written canonically, or is too large.
        """
        return self._written.text(document)

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Judge one action; never raises for a fault of the input, the policy or the engine.

        Where the input cannot be written there are no bytes to name: `input_ref` is empty.
        """
        started = time.perf_counter()
        input_ref = ""
        try:
            text = self.input_text(document)
        except InputError as error:
            answer: Answer = Refusal(Reserved.POLICY_INPUT_INVALID, str(error))
        else:
            input_ref = digest(text)
            answer = await self._answer(text.decode())
        return stamped(
            answer,
            policy_version=self.version,
            engine=ENGINE,
            input_ref=input_ref,
            duration_ms=round((time.perf_counter() - started) * 1_000, 3),
        )

    def news(self) -> Sequence[PolicyNews]:
        """Nothing: the bundle never changes."""
        return ()

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """There is none."""

    async def close(self) -> None:
        """End the worker and wait until it is gone. May be called twice."""
        self._closed = True
        async with self._turn:
            engine, self._engine = self._engine, None
            if engine is not None:
                await engine.close()

    async def _answer(self, text: str) -> Answer:
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            return Refusal(
                Reserved.POLICY_UNAVAILABLE,
                "The policy was loaded on another event loop; load one for this loop.",
            )
        end = loop.time() + self._deadline_s
        try:
            async with asyncio.timeout_at(end), self._turn:
                if self._closed:
                    return Refusal(Reserved.POLICY_UNAVAILABLE, "The policy is closed.")
                engine = await self._running(end)
                return await decide(engine, text, limit_s=end - loop.time())
        except EnvironmentFault as error:
            return Refusal(Reserved(error.code), str(error))
        except TimeoutError:
            return Refusal(Reserved.POLICY_TIMEOUT, f"No decision within {self._deadline_s:.3g} s.")

    async def _running(self, end: float) -> EngineProcess:
        """The worker with the bundle loaded; a new one where the last one is gone."""
        if self._engine is not None and self._engine.usable:
            return self._engine
        old, self._engine = self._engine, None
        if old is not None:
            await old.close()
        engine = await EngineProcess.start()
        try:
            left = end - asyncio.get_running_loop().time()
            await load_into(engine, self.bundle, limit_s=left)
        except BaseException:
            engine.kill()
            await engine.close()
            raise
        self._engine = engine
        return engine


async def _checked(bundle: Bundle, engine: EngineProcess, deadline_s: float) -> list[Finding]:
    try:
        async with asyncio.timeout(LOAD_S):
            return await lint(bundle, engine, deadline_s=deadline_s)
    except TimeoutError as error:
        raise EnvironmentFault(
            f"Checking the policy bundle {bundle.origin} takes longer than {LOAD_S:.0f} s. "
            "Make it smaller.",
            op="policy.load",
            code=Reserved.POLICY_TIMEOUT,
        ) from error
