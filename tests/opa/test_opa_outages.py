"""A real OPA server that is killed, frozen, busy or exchanged: denied, and why; then used again."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from denials import MISMATCH, SHORT_S, TIMEOUT, UNAVAILABLE, denied_as

from checkrein.contracts.decision import DecisionInput, Reserved, Verdict
from checkrein.evals.both_engines import Bundle, OpaPolicy, bundle_of, load_bundle
from checkrein.evals.opa_server import OpaServer

BUNDLES = Path(__file__).parents[1] / "policy" / "bundles"
Make = Callable[..., DecisionInput]
ServerFor = Callable[..., OpaServer]
OpenOpa = Callable[..., Awaitable[OpaPolicy]]


async def test_a_killed_server_denies_until_it_is_back(
    server_for: ServerFor, open_opa: OpenOpa, document: Make
) -> None:
    """The real one: gone at once, and usable at once when it runs again."""
    server = server_for(_allowing())
    policy = await open_opa(server.url)
    assert (await policy.decide(document())).decision is Verdict.ALLOW
    server.kill()
    answer = await policy.decide(document())
    assert denied_as(answer) == UNAVAILABLE
    server.start()
    assert (await policy.decide(document())).decision is Verdict.ALLOW


async def test_a_killed_server_in_the_middle_of_a_decision(
    server_for: ServerFor, open_opa: OpenOpa, document: Make
) -> None:
    """Killed while it judges: the question is not left hanging."""
    server = server_for(load_bundle(BUNDLES / "slow"))
    policy = await open_opa(server.url, deadline_s=20.0)
    asked = asyncio.create_task(policy.decide(document(action__capability="workspace.read")))
    await asyncio.sleep(0.3)
    server.kill()
    assert denied_as(await asked) == UNAVAILABLE


async def test_a_frozen_server_is_late_and_then_answers_again(
    server_for: ServerFor, open_opa: OpenOpa, document: Make
) -> None:
    """Frozen, it takes connections and answers none; no late answer is taken for another's."""
    server = server_for(_allowing())
    policy = await open_opa(server.url, deadline_s=SHORT_S)
    server.freeze()
    started = time.monotonic()
    assert denied_as(await policy.decide(document())) == TIMEOUT
    assert time.monotonic() - started < SHORT_S + 1
    server.thaw()
    assert (await policy.decide(document())).decision is Verdict.ALLOW


async def test_a_rule_without_end_is_late_and_the_next_question_is_answered(
    server_for: ServerFor, open_opa: OpenOpa, document: Make
) -> None:
    """The deadline is ours; the server stops by itself when we are gone."""
    server = server_for(load_bundle(BUNDLES / "slow"))
    policy = await open_opa(server.url, deadline_s=SHORT_S)
    assert denied_as(await policy.decide(document(action__capability="workspace.read"))) == TIMEOUT
    answer = await policy.decide(document(action__capability="workspace.list"))
    assert answer.decision is Verdict.ALLOW


async def test_another_revision_denies_unless_it_is_accepted(
    server_for: ServerFor, open_opa: OpenOpa, document: Make
) -> None:
    """A bundle that was exchanged in the middle decides nothing until somebody accepts it."""
    bundle = _allowing()
    server = server_for(bundle)
    pinned = await open_opa(server.url)
    wide = await open_opa(server.url, revisions={bundle.version, "sha256:next"})
    server.kill()
    server_next = _moved(server_for(bundle, "sha256:next"), server)
    answer = await pinned.decide(document())
    assert denied_as(answer) == MISMATCH
    assert "sha256:next" in str(answer.message)
    assert answer.policy_version == bundle.version
    accepted = await wide.decide(document())
    assert (accepted.decision, accepted.policy_version) == (Verdict.ALLOW, "sha256:next")
    server_next.kill()
    server.start()
    assert (await pinned.decide(document())).decision is Verdict.ALLOW


async def test_a_failed_rule_denies_with_its_place_and_not_its_value(
    server_for: ServerFor, open_opa: OpenOpa, document: Make
) -> None:
    """The server is asked to be strict: a broken condition must not silently drop its denial."""
    server = server_for(load_bundle(BUNDLES / "wrong_type"))
    policy = await open_opa(server.url)
    answer = await policy.decide(
        document(action__capability="workspace.read", action__args={"amount": "1,000 s3cret"})
    )
    assert denied_as(answer) == Reserved.POLICY_ERROR
    assert "wrong_type.rego:" in str(answer.message)
    assert "s3cret" not in str(answer.message)


def _allowing() -> Bundle:
    return bundle_of('package checkrein.rules.a\n\nallow contains {"reason_code": "all"} if true\n')


def _moved(other: OpaServer, server: OpaServer) -> OpaServer:
    """The other server, at the place of the one that is gone."""
    other.move(server.port)
    return other
