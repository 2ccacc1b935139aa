"""One bundle, two engines, the same answers; and an OPA server is only used where it can be."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from checkrein.contracts.decision import DecisionInput, Reserved, Verdict
from checkrein.errors import InputError
from checkrein.evals.both_engines import Bundle, OpaPolicy, load_bundle, shipped_bundle
from checkrein.evals.nasty_cases import path
from checkrein.evals.opa_server import OpaServer
from checkrein.ports.policy import Policy

BUNDLES = Path(__file__).parents[1] / "policy" / "bundles"
Make = Callable[..., DecisionInput]
PolicyOf = Callable[[Bundle], Awaitable[Policy]]
ServerFor = Callable[..., OpaServer]
OpenOpa = Callable[..., Awaitable[OpaPolicy]]


READ: dict[str, Any] = {
    "task__capabilities": ["workspace.read", "workspace.write_file"],
    "action__capability": "workspace.read",
    "action__side_effect_class": "READ",
}
WRITE: dict[str, Any] = {
    **READ,
    "action__capability": "workspace.write_file",
    "action__side_effect_class": "REVERSIBLE",
}
SHIPPED: dict[str, tuple[dict[str, Any], Verdict, str]] = {
    "read": ({**READ, "action__facts": path("src", "a.py")}, Verdict.ALLOW, "read_in_workspace"),
    "write": (
        {**WRITE, "action__facts": path("src", "a.py")},
        Verdict.REQUIRE_APPROVAL,
        "workspace_write",
    ),
    "write a test": (
        {**WRITE, "action__facts": path("Tests", "a.py")},
        Verdict.DENY,
        "protected_path",
    ),
    "read a secret": ({**READ, "action__facts": path(".ENV")}, Verdict.DENY, "protected_path"),
    "read outside": (
        {**READ, "action__facts": path("etc", inside=False)},
        Verdict.DENY,
        "path_outside_workspace",
    ),
    "read through a link": (
        {**READ, "action__facts": path("a", symlink=True)},
        Verdict.DENY,
        "path_through_symlink",
    ),
    "not granted": ({**READ, "task__capabilities": []}, Verdict.DENY, "capability_not_granted"),
    "unknown": (
        {"action__capability": "shell.run", "task__capabilities": ["shell.run"]},
        Verdict.DENY,
        "unknown_capability",
    ),
}


@pytest.mark.parametrize("name", SHIPPED)
async def test_the_shipped_rules_say_the_same(
    policy_of: PolicyOf, document: Make, name: str
) -> None:
    """Whichever engine a team runs, the shipped bundle protects the same."""
    policy = await policy_of(shipped_bundle())
    change, verdict, reason = SHIPPED[name]
    decision = await policy.decide(document(**change))
    assert (decision.decision, decision.reason_code) == (verdict, reason)
    assert decision.policy_version == policy.version == shipped_bundle().version


async def test_conflict_and_broken_rule_deny(policy_of: PolicyOf, document: Make) -> None:
    """A rule with two values, and one that fails: neither engine picks or passes over."""
    policy = await policy_of(load_bundle(BUNDLES / "conflict"))
    asked = document(action__capability="workspace.read")
    assert (await policy.decide(asked)).reason_code == Reserved.POLICY_ERROR
    assert (await policy.decide(document())).decision is Verdict.ALLOW


@pytest.mark.parametrize(
    "args",
    [{"text": "\ud800"}, {"text": "a\x00b"}, {"number": 2**53}, {"number": float("nan")}],
    ids=str,
)
async def test_what_json_cannot_hold_never_reaches_an_engine(
    policy_of: PolicyOf, document: Make, args: dict[str, Any]
) -> None:
    """Stopped before it is sent, so that no engine's reading of it matters."""
    policy = await policy_of(load_bundle(BUNDLES / "allow_all"))
    asked = document(action__args=args)
    decision = await policy.decide(asked)
    assert (decision.decision, decision.input_ref) == (Verdict.DENY, "")
    assert decision.reason_code == Reserved.POLICY_INPUT_INVALID
    with pytest.raises(InputError):
        policy.input_text(asked)


async def test_large_input_is_judged_and_too_large_is_not(
    policy_of: PolicyOf, document: Make
) -> None:
    """Five megabytes of argument are judged like five bytes; nine are refused."""
    policy = await policy_of(load_bundle(BUNDLES / "allow_all"))
    decision = await policy.decide(document(action__args={"text": "é" * 2_500_000}))
    assert decision.decision is Verdict.ALLOW
    decision = await policy.decide(document(action__args={"text": "x" * 9_000_000}))
    assert decision.reason_code == Reserved.POLICY_INPUT_INVALID


async def test_many_questions_at_once_get_their_own_answers(
    policy_of: PolicyOf, document: Make
) -> None:
    """A hundred at a time, over few connections: no answer reaches another one's asker."""
    policy = await policy_of(shipped_bundle())
    names = ["src", "tests"] * 50
    asked = [document(**{**WRITE, "action__facts": path(name)}) for name in names]
    for name, decision in zip(
        names, await asyncio.gather(*(policy.decide(one) for one in asked)), strict=True
    ):
        expected = Verdict.REQUIRE_APPROVAL if name == "src" else Verdict.DENY
        assert decision.decision is expected


async def test_cancelled_question_leaves_no_answer_behind(
    policy_of: PolicyOf, document: Make
) -> None:
    """A late answer is never taken for the answer to the next question."""
    policy = await policy_of(load_bundle(BUNDLES / "slow"))
    asked = asyncio.create_task(policy.decide(document(action__capability="workspace.read")))
    await asyncio.sleep(0.2)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    decision = await policy.decide(document(action__capability="workspace.list"))
    assert decision.reasons == ["quick"]


async def test_closed_policy_denies(policy_of: PolicyOf, document: Make) -> None:
    """Nothing is asked behind a close, which may come twice."""
    policy = await policy_of(load_bundle(BUNDLES / "allow_all"))
    await policy.close()
    await policy.close()
    decision = await policy.decide(document())
    assert decision.reason_code == Reserved.POLICY_UNAVAILABLE
    assert "is closed" in str(decision.message)


def test_another_event_loop_is_denied(server_for: ServerFor, document: Make) -> None:
    """Connections belong to the loop that opened them; on another one there is a denial."""
    server = server_for(load_bundle(BUNDLES / "allow_all"))
    with asyncio.Runner() as first, asyncio.Runner() as second:
        policy = first.run(OpaPolicy.open(server.url))
        decision = second.run(policy.decide(document()))
        assert decision.reason_code == Reserved.POLICY_UNAVAILABLE
        assert "another event loop" in str(decision.message)
        assert first.run(policy.decide(document())).decision is Verdict.ALLOW
        first.run(policy.close())
