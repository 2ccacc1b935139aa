"""Shadow mode: a candidate is asked beside the live policy, and decides nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import pytest

from checkrein.contracts.decision import DecisionInput, PolicyDecision
from checkrein.policy_rego.bundle_files import Bundle, make_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy
from checkrein.policy_rego.shadow import MOST_PENDING, Differing, ShadowPolicy
from checkrein.ports.policy import PolicyNews

PolicyOf = Callable[..., Awaitable[EmbeddedPolicy]]
Make = Callable[..., DecisionInput]

ALLOW = 'package checkrein.rules.mine\n\nallow contains {"reason_code": "fine"} if input.tenant\n'
DENY_WRITES = (
    ALLOW + '\ndeny contains {"reason_code": "no_write"} if '
    'input.action.side_effect_class != "READ"\n'
)
SLOW = (
    ALLOW + '\ndeny contains {"reason_code": "slow"} if {\n\tsome a in many\n\tsome b in many\n'
    "\ta + b < 0\n}\n\nmany := numbers.range(1, 100000)\n"
)


def bundle_of(text: str) -> Bundle:
    """A bundle of one module."""
    return make_bundle(origin="b", modules={"rules/mine.rego": text}, tests={}, data={})


async def test_the_live_policy_decides_and_differing_answers_are_told(
    policy_of: PolicyOf, document: Make
) -> None:
    """Protects: a candidate is tried on real actions without one of them depending on it."""
    told: list[Differing] = []
    live, candidate = await policy_of(bundle_of(ALLOW)), await policy_of(bundle_of(DENY_WRITES))
    shadow = ShadowPolicy(live, candidate, told.append)
    read, write = document("workspace.read"), document("workspace.write_file")
    assert (await shadow.decide(read)).reason_code == "fine"
    decision = await shadow.decide(write)
    assert (decision.reason_code, decision.policy_version) == ("fine", live.version)
    assert (shadow.version, shadow.candidate_version) == (live.version, candidate.version)
    assert shadow.input_text(write) == live.input_text(write)
    await shadow.settled()
    (found,) = told
    assert (found.capability, found.live.reason_code, found.candidate.reason_code) == (
        "workspace.write_file",
        "fine",
        "no_write",
    )
    assert (found.input_ref, found.candidate.policy_version) == (
        decision.input_ref,
        candidate.version,
    )
    assert (shadow.counts.same, shadow.counts.differing) == (1, 1)
    await shadow.close()


async def test_a_slow_or_broken_candidate_delays_nobody(
    policy_of: PolicyOf, document: Make
) -> None:
    """Protects: what is on trial costs the live run nothing, however bad it is."""
    told: list[Differing] = []
    live = await policy_of(bundle_of(ALLOW))
    slow = await policy_of(bundle_of(SLOW), checked=False, deadline_s=2.0)
    shadow = ShadowPolicy(live, slow, told.append)
    await live.decide(document())
    started = time.monotonic()
    for _ in range(3):
        assert (await shadow.decide(document())).reason_code == "fine"
    assert time.monotonic() - started < 1.0
    await shadow.settled()
    assert {found.candidate.reason_code for found in told} == {"policy_timeout"}
    wrong = ShadowPolicy(
        live, EmbeddedPolicy(bundle_of("package checkrein.rules.x\nx ==")), told.append
    )
    assert (await wrong.decide(document())).reason_code == "fine"
    await wrong.settled()
    assert told[-1].candidate.reason_code == "policy_unavailable"
    await wrong.close()
    await shadow.close()


class Stuck:
    """A candidate that never answers."""

    version = "sha256:0"

    async def decide(self, document: DecisionInput) -> PolicyDecision:
        """Wait for ever."""
        await asyncio.Event().wait()
        raise AssertionError

    def input_text(self, document: DecisionInput) -> bytes:
        """Never asked."""
        raise AssertionError

    def news(self) -> Sequence[PolicyNews]:
        """Never asked."""
        raise AssertionError

    def heard(self, news: Sequence[PolicyNews]) -> None:
        """Never told."""
        raise AssertionError

    async def close(self) -> None:
        """Nothing to close."""


async def test_answers_that_never_come_do_not_pile_up(policy_of: PolicyOf, document: Make) -> None:
    """Protects: a candidate that hangs holds a bounded number of documents, and ends on close."""
    shadow = ShadowPolicy(await policy_of(bundle_of(ALLOW)), Stuck(), lambda found: None)
    for _ in range(MOST_PENDING + 3):
        await shadow.decide(document())
    assert shadow.counts.passed_over == 3
    async with asyncio.timeout(5):
        await shadow.close()


async def test_a_log_that_raises_is_told_and_harms_nobody(
    policy_of: PolicyOf, document: Make
) -> None:
    """Protects: a fault of whoever listens is no fault of a decision, and not swallowed either."""

    def log(found: Differing) -> None:
        raise RuntimeError("full")

    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, c: faults.append(c["exception"]))
    live, candidate = await policy_of(bundle_of(ALLOW)), await policy_of(bundle_of(DENY_WRITES))
    shadow = ShadowPolicy(live, candidate, log)
    assert (await shadow.decide(document("workspace.write_file"))).reason_code == "fine"
    await shadow.settled()
    await asyncio.sleep(0)
    assert [str(fault) for fault in faults] == ["full"]
    assert shadow.counts.broken == 1
    await shadow.close()
    with pytest.raises(AssertionError):
        Stuck().input_text(document())
