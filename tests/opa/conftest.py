"""What the tests with a real OPA share: the binary, servers, and policies that are closed again."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from misbehaving_opa import MisbehavingOpa, misbehaving

from checkrein.contracts.decision import DecisionInput
from checkrein.evals import opa_binary
from checkrein.evals.both_engines import Bundle, EmbeddedPolicy, OpaPolicy, serving_bundle
from checkrein.evals.nasty_case import NastyCase
from checkrein.evals.opa_server import OpaServer

ROOT = Path(__file__).parents[2]

ServerFor = Callable[..., OpaServer]
OpenOpa = Callable[..., Awaitable[OpaPolicy]]
PolicyOf = Callable[[Bundle], Awaitable[EmbeddedPolicy | OpaPolicy]]


@pytest.fixture(scope="session")
def binary() -> Path:
    """A real OPA; without one the test is skipped, with one line that says how to get it."""
    place = opa_binary.found(ROOT)
    if place is None:
        pytest.skip(opa_binary.HOW)
    return place


@pytest.fixture
def server_for(binary: Path) -> Iterator[ServerFor]:
    """Starts a real server for a bundle, under the bundle's version or another revision."""
    with ExitStack() as stack:

        def start(
            bundle: Bundle, revision: str | None = "", more: tuple[str, ...] = ()
        ) -> OpaServer:
            return stack.enter_context(serving_bundle(binary, bundle, revision, more))

        yield start


@pytest.fixture
async def open_opa() -> AsyncIterator[OpenOpa]:
    """Opens a policy on a server, and closes it when the test is over."""
    opened: list[OpaPolicy] = []

    async def open_(url: str, **options: object) -> OpaPolicy:
        policy = await OpaPolicy.open(url, **options)  # type: ignore[arg-type]
        opened.append(policy)
        return policy

    yield open_
    for policy in opened:
        await policy.close()


@pytest.fixture(params=["embedded", "opa"])
async def policy_of(request: pytest.FixtureRequest, open_opa: OpenOpa) -> AsyncIterator[PolicyOf]:
    """Opens a bundle in one engine and then, for the same test, in the other."""
    embedded: list[EmbeddedPolicy] = []

    async def load(bundle: Bundle) -> EmbeddedPolicy | OpaPolicy:
        if request.param == "opa":
            server: OpaServer = request.getfixturevalue("server_for")(bundle)
            return await open_opa(server.url, deadline_s=10.0)
        policy = await EmbeddedPolicy.load(bundle, deadline_s=10.0)
        embedded.append(policy)
        return policy

    yield load
    for policy in embedded:
        await policy.close()


@pytest.fixture
async def fake() -> AsyncIterator[MisbehavingOpa]:
    """A server that allows everything until it is told to misbehave."""
    async with misbehaving() as server:
        yield server


@pytest.fixture
def document() -> Callable[..., DecisionInput]:
    """Makes an input; what differs from the usual is given by path."""

    def make(**change: object) -> DecisionInput:
        named = {path.replace("__", "."): value for path, value in change.items()}
        return NastyCase(0, "made", "rule", "", change=named).document()

    return make
