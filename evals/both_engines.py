"""One bundle in both engines, to compare what they answer. The only module of ours that does so."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.errors import InputError
from checkrein.evals.opa_server import OpaServer, serving
from checkrein.policy_rego.bundle_export import export_bundle
from checkrein.policy_rego.bundle_files import (
    ENTRYPOINT_PATH,
    Bundle,
    load_bundle,
    make_bundle,
    shipped_bundle,
)
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.input_document import input_text, read_input
from checkrein.policy_rego.json_shapes import is_object
from checkrein.policy_rego.library import rules as library_rules
from checkrein.policy_rego.opa import OpaPolicy
from checkrein.policy_rego.opa_address import opa_address
from checkrein.policy_rego.opa_answer import Served
from checkrein.policy_rego.opa_client import GuardedOpaClient
from checkrein.policy_rego.output import Answer, Refusal, decided, stamped
from checkrein.ports.policy import Policy

__all__ = [
    "Answer",
    "Bundle",
    "EmbeddedPolicy",
    "Engines",
    "OpaPolicy",
    "Oracle",
    "RealOpa",
    "Refusal",
    "bundle_of",
    "checked",
    "decided",
    "export_bundle",
    "input_text",
    "is_object",
    "library_rules",
    "load_bundle",
    "make_bundle",
    "opened",
    "read_input",
    "refusals",
    "serving_bundle",
    "shipped_bundle",
    "stamped",
]

DEADLINE_S = 20.0
"""Seconds for one decision: what is compared is answers, not speed."""


class Oracle(Protocol):
    """OPA in some form, to compare the embedded engine with."""

    def opened(self, bundle: Bundle) -> AbstractAsyncContextManager[Policy]:
        """OPA with this bundle, gone afterwards.

        Raises:
            EnvironmentFault: OPA does not take the bundle.
        """
        ...


@dataclass(frozen=True)
class RealOpa:
    """A real server of one's own for each bundle."""

    binary: Path

    @asynccontextmanager
    async def opened(self, bundle: Bundle) -> AsyncGenerator[Policy]:
        """See Oracle."""
        async with AsyncExitStack() as stack:
            serve = serving_bundle(self.binary, bundle)
            starting = asyncio.ensure_future(asyncio.to_thread(stack.enter_context, serve))
            try:
                server = await asyncio.shield(starting)
            except asyncio.CancelledError:
                # A thread cannot be stopped: what it starts must be there to be ended.
                await starting
                raise
            address = opa_address(server.url)
            client = GuardedOpaClient(address, token=None, ca=None, timeout_s=DEADLINE_S)
            await stack.enter_async_context(client)
            # Not by `open`, which would refuse a bundle whose every decision is malformed.
            yield OpaPolicy(client, Served("0.0.0", bundle.version), frozenset(), DEADLINE_S)


@dataclass(frozen=True)
class Engines:
    """Both engines with one bundle."""

    bundle: Bundle
    embedded: EmbeddedPolicy
    opa: Policy

    async def both(self, document: DecisionInput) -> tuple[PolicyDecision, PolicyDecision]:
        """What the embedded engine says, and what OPA says."""
        return await self.embedded.decide(document), await self.opa.decide(document)


def bundle_of(
    rules: str | None, *, entrypoint: str | None = None, data: str = "{}", origin: str = "case"
) -> Bundle:
    """A bundle of one package of rules; without any the shipped bundle.

    An entrypoint of one's own is put in behind the loader's back, which would refuse it.
    """
    if rules is None and entrypoint is None:
        return shipped_bundle()
    modules = {} if rules is None else {"checkrein/rules/case.rego": rules}
    bundle = make_bundle(origin=origin, modules=modules, tests={}, data={"data.json": data})
    if entrypoint is None:
        return bundle
    return replace(bundle, modules={**bundle.modules, ENTRYPOINT_PATH: entrypoint})


@contextmanager
def serving_bundle(
    binary: Path, bundle: Bundle, revision: str | None = "", more: tuple[str, ...] = ()
) -> Generator[OpaServer]:
    """A server for a bundle, written to a folder that is gone afterwards. Blocking.

    Raises:
        EnvironmentFault: it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="checkrein-opa-") as scratch:
        folder = Path(scratch) / "bundle"
        export_bundle(bundle, folder, revision=revision)
        with serving(binary, folder, more) as server:
            yield server


async def refusals(bundle: Bundle) -> str | None:
    """Why the embedded engine does not take a bundle; None where it does.

    Raises:
        EnvironmentFault: the engine cannot be used.
    """
    try:
        await checked(bundle)
    except InputError as error:
        return str(error)
    return None


async def checked(bundle: Bundle) -> None:
    """Hold a bundle against what is held against one before it may decide.

    Raises:
        InputError: it has an error.
        EnvironmentFault: the engine cannot be used.
    """
    policy = await EmbeddedPolicy.load(bundle, deadline_s=DEADLINE_S)
    await policy.close()


@asynccontextmanager
async def opened(bundle: Bundle, oracle: Oracle | Path) -> AsyncGenerator[Engines]:
    """Both engines, gone afterwards. The bundle is not checked. A path is a real OPA's.

    Raises:
        EnvironmentFault: OPA does not take the bundle.
    """
    chosen = RealOpa(oracle) if isinstance(oracle, Path) else oracle
    async with chosen.opened(bundle) as opa:
        embedded = EmbeddedPolicy(bundle, deadline_s=DEADLINE_S)
        try:
            yield Engines(bundle, embedded, opa)
        finally:
            await embedded.close()
