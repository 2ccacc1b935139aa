"""OPA's own Go engine in this process, where a binding to it can be had; only for comparison.

The binding is the package opa-golib-python-bindings. It asks for a newer Python than it needs, so
that no lock file names it:

    pip install --ignore-requires-python --no-deps --target DIR opa-golib-python-bindings==0.4.4

A process that has loaded it must not fork any more.
"""

import importlib
import json
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkrein.contracts.codec import digest
from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved
from checkrein.errors import EnvironmentFault, InputError
from checkrein.evals.both_engines import Answer, Bundle, Refusal, decided, input_text, stamped
from checkrein.ports.policy import PolicyNews

HOW = (
    "OPA's Go engine is not here. To measure it too: pip install --ignore-requires-python "
    "--no-deps --target DIR opa-golib-python-bindings==0.4.4, and give --golib DIR."
)


class GoEngine:
    """One bundle in OPA's Go engine; implements `checkrein.ports.policy.Policy`.

    It holds up the event loop while it evaluates.
    """

    def __init__(self, bundle: Bundle, bindings: Any) -> None:
        """Load the bundle.

        Raises:
            EnvironmentFault: the engine does not take it.
        """
        self.version = bundle.version
        self._failed: type[Exception] = bindings.OpaError
        self._undefined: type[Exception] = bindings.OpaUndefinedError
        self._engine: Any = bindings.OpaEngine()
        try:
            for path, text in bundle.modules.items():
                self._engine.add_policy(path, text)
            self._engine.add_data(json.loads(bundle.data))
        except self._failed as error:
            raise EnvironmentFault(
                f"OPA's Go engine does not take the bundle: {error}",
                op="go_engine.load",
                code="go_engine",
            ) from error

    def input_text(self, document: DecisionInput) -> bytes:
        """As every engine's."""
        return input_text(document)

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Judge one action; a failure of the policy denies."""
        began = time.perf_counter()
        input_ref = ""
        try:
            text = input_text(document)
        except InputError as error:
            found: Answer = Refusal(Reserved.POLICY_INPUT_INVALID, str(error))
        else:
            input_ref = digest(text)
            found = self._judged(text)
        return stamped(
            found,
            policy_version=self.version,
            engine="opa in process",
            input_ref=input_ref,
            duration_ms=(time.perf_counter() - began) * 1_000,
        )

    def news(self) -> Sequence[PolicyNews]:
        """Nothing: the bundle never changes."""
        return ()

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """There is none."""

    async def close(self) -> None:
        """Let go of it. May be called twice."""
        self._engine.close()

    def _judged(self, text: bytes) -> Answer:
        try:
            value = self._engine.eval_document("checkrein.decision", json.loads(text))
        except self._undefined:
            return Refusal(Reserved.POLICY_UNDEFINED, "data.checkrein.decision is undefined.")
        except self._failed:
            return Refusal(Reserved.POLICY_ERROR, "The policy failed.")
        return decided(value)


@dataclass(frozen=True)
class GoOracle:
    """OPA's Go engine as what is compared with, where no server can be had."""

    bindings: Any

    @asynccontextmanager
    async def opened(self, bundle: Bundle) -> AsyncGenerator[GoEngine]:
        """See both_engines.Oracle."""
        engine = GoEngine(bundle, self.bindings)
        try:
            yield engine
        finally:
            await engine.close()


def go_oracle(folder: Path | None = None) -> GoOracle:
    """Load the binding, from a folder where one is given. Blocking.

    Raises:
        EnvironmentFault: the binding is not there, or cannot be loaded here.
    """
    added = [] if folder is None else [str(folder)]
    sys.path[:0] = added
    try:
        bindings: Any = importlib.import_module("opa_bindings")
        bindings.OpaEngine().close()
    except (ImportError, OSError) as error:
        raise EnvironmentFault(HOW, op="go_engine.load", code="no_go_engine") from error
    finally:
        for place in added:
            sys.path.remove(place)
    return GoOracle(bindings)
