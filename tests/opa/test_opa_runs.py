"""A whole governed run whose OPA server fails in the middle: denied, and the run goes on."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import loops
import misbehaving_opa as opa
import pytest
from misbehaving_opa import MisbehavingOpa, body, http, provenance, says

from checkrein.contracts.attempt import AttemptStatus
from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved
from checkrein.contracts.event import Observed
from checkrein.evals.both_engines import OpaPolicy, load_bundle
from checkrein.evals.opa_server import OpaServer
from checkrein.ports.policy import PolicyNews
from checkrein.settings import Settings

OpenOpa = Callable[..., Awaitable[OpaPolicy]]
ServerFor = Callable[..., OpaServer]
Hook = Callable[[], None]

SHORT_S = 0.5
WRITES = [
    loops.says("", loops.call("workspace.write_file", path=path, content="new\n"))
    for path in ("a.txt", "b.txt", "c.txt")
]
TURNS = [*WRITES, loops.DONE]
OTHER = provenance("sha256:never-loaded")


class Hooked:
    """A policy before whose decision on one file something happens."""

    def __init__(self, policy: OpaPolicy, hooks: dict[tuple[str, str], Hook]) -> None:
        """`hooks`: by phase and path."""
        self._policy = policy
        self._hooks = hooks

    @property
    def version(self) -> str:
        """As the policy's."""
        return self._policy.version

    def input_text(self, document: DecisionInput) -> bytes:
        """As the policy's."""
        return self._policy.input_text(document)

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Let it happen, then decide."""
        hook = self._hooks.pop((document.phase, str(document.action.args.get("path"))), None)
        if hook is not None:
            hook()
        return await self._policy.decide(document)

    def news(self) -> Sequence[PolicyNews]:
        """As the policy's."""
        return self._policy.news()

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """As the policy's."""
        self._policy.heard(news)

    async def close(self) -> None:
        """The fixture closes it."""


def used(monkeypatch: pytest.MonkeyPatch, policy: Hooked) -> None:
    """Let every attempt be governed by this policy, whatever its contract names."""

    @asynccontextmanager
    async def lent(_: object, *about: object) -> AsyncGenerator[Hooked]:
        yield policy

    monkeypatch.setattr("checkrein.attempt_ports.Opener._policy", lent)


def texts_in(folder: Path) -> list[str]:
    """Names of the text files there."""
    return sorted(path.name for path in folder.glob("*.txt"))


async def check_run(folder: Path, settings: Settings, code: str) -> None:
    """The first and the last write happen; the one between is denied with this code."""
    async with loops.opened(settings) as (harness, parts):
        report = await harness.run(loops.contract(folder, TURNS))
        assert report.status is AttemptStatus.CANDIDATE_VERIFIED
        assert report.effects == {"COMMITTED": 2}
        told = [
            payload.observation
            for payload in await loops.payloads(parts, report.attempt_id)
            if isinstance(payload, Observed)
        ]
        assert [one.status for one in told] == ["ok", "denied", "ok"]
        assert told[1].diagnostics is not None
        assert told[1].diagnostics.error_type == code
        assert not told[1].diagnostics.effect_possible
        assert texts_in(Path(report.workspace)) == ["a.txt", "c.txt"]


FAULTS: dict[str, tuple[opa.Behaviour, Reserved]] = {
    "302": (opa.redirects(9), Reserved.POLICY_UNAVAILABLE),
    "500": (says(http(b"no", "500 Internal Server Error")), Reserved.POLICY_UNAVAILABLE),
    "HTML": (says(http(b"<html>", media="text/html")), Reserved.POLICY_OUTPUT_INVALID),
    "null": (says(http(b"null")), Reserved.POLICY_OUTPUT_INVALID),
    "allow: true": (says(http(b'{"result":{"allow":true}}')), Reserved.POLICY_OUTPUT_INVALID),
    "5 MB": (says(http(body() + b" " * 5_000_000)), Reserved.POLICY_OUTPUT_INVALID),
    "never loaded": (
        says(http(body(provenance=OTHER))),
        Reserved.POLICY_REVISION_MISMATCH,
    ),
    "hangs": (opa.hangs, Reserved.POLICY_TIMEOUT),
}


@pytest.mark.shows(56)
@pytest.mark.parametrize("phase", ["propose", "dispatch"])
@pytest.mark.parametrize("name", FAULTS)
async def test_a_wrong_answer_in_the_middle_of_a_run(
    fake: MisbehavingOpa,
    open_opa: OpenOpa,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    phase: str,
) -> None:
    """When it is proposed or right before it runs: no effect, the reason told, and on it goes."""
    behave, code = FAULTS[name]
    policy = await open_opa(fake.url, deadline_s=SHORT_S)
    hooks: dict[tuple[str, str], Hook] = {
        (phase, "b.txt"): lambda: setattr(fake, "behave", behave),
        ("propose", "c.txt"): lambda: setattr(fake, "behave", opa.RIGHT),
    }
    used(monkeypatch, Hooked(policy, hooks))
    await check_run(tmp_path, settings, code)


@pytest.mark.shows(56)
@pytest.mark.parametrize("phase", ["propose", "dispatch"])
@pytest.mark.parametrize("fault", ["killed", "frozen", "exchanged"])
async def test_a_real_server_that_fails_in_the_middle_of_a_run(
    server_for: ServerFor,
    open_opa: OpenOpa,
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    phase: str,
) -> None:
    """Killed, frozen or with another bundle: denied until it is back, and then not any more."""
    bundle = load_bundle(loops.ALLOW_ALL)
    server = server_for(bundle)
    other = server_for(bundle, "sha256:never-loaded")

    def exchange() -> None:
        server.kill()
        other.move(server.port)

    def restore() -> None:
        other.kill()
        server.start()

    begins, ends, code = {
        "killed": (server.kill, server.start, Reserved.POLICY_UNAVAILABLE),
        "frozen": (server.freeze, server.thaw, Reserved.POLICY_TIMEOUT),
        "exchanged": (exchange, restore, Reserved.POLICY_REVISION_MISMATCH),
    }[fault]
    policy = await open_opa(server.url, deadline_s=SHORT_S)
    hooks: dict[tuple[str, str], Hook] = {
        (phase, "b.txt"): begins,
        ("propose", "c.txt"): ends,
    }
    used(monkeypatch, Hooked(policy, hooks))
    await check_run(tmp_path, settings, code)
