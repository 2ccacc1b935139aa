"""How members combine: deny beats ask beats allow, merging only tightens, malformed denies."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkrein.contracts.decision import DecisionInput, PolicyDecision, Reserved, Verdict
from checkrein.policy_rego.bundle_files import load_bundle
from checkrein.policy_rego.embedded import EmbeddedPolicy

Members = dict[str, list[Any]]
Decide = Callable[[Members], PolicyDecision]

CODES = st.sampled_from(["aa", "bb_1", "some_reason"])
PLAIN = st.fixed_dictionaries({"reason_code": CODES})
ASK = st.fixed_dictionaries(
    {"reason_code": CODES},
    optional={
        "roles": st.lists(st.sampled_from(["approver", "a", "b"]), min_size=1, max_size=3),
        "quorum": st.integers(1, 5),
        "expires_in_s": st.sampled_from([30, 60, 86_400, 2_592_000]),
        "separation_of_duty": st.booleans(),
        "scopes": st.lists(st.sampled_from(["once", "task", "class"]), min_size=1, max_size=3),
    },
)
LISTS = st.lists(st.sampled_from(["x", "y", "z"]), min_size=1, max_size=3)
LIMIT = st.one_of(
    st.fixed_dictionaries({"max_bytes": st.integers(0, 5)}),
    st.fixed_dictionaries({"timeout_ms": st.integers(1, 5)}),
    st.fixed_dictionaries({"hosts": LISTS}),
    st.fixed_dictionaries({"path_roots": LISTS}),
    st.fixed_dictionaries({"redact": LISTS}),
    st.fixed_dictionaries({"read_only": st.just(True)}),
    st.fixed_dictionaries({"sandbox_profile": st.sampled_from(["p", "q"])}),
)
MEMBERS = st.fixed_dictionaries(
    {
        "allow": st.lists(PLAIN, max_size=2),
        "ask": st.lists(ASK, max_size=3),
        "deny": st.lists(PLAIN, max_size=1),
        "limit": st.lists(LIMIT, max_size=3),
    }
)
MALFORMED = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.text(max_size=3),
    st.lists(st.integers(-(2**53) + 1, 2**53 - 1), max_size=2),
    st.just({}),
    st.just({"reason_code": "Not A Code"}),
    st.just({"reason_code": "policy_timeout"}),
    st.just({"reason_code": "fine", "more": 1}),
    st.just({"max_bytes": 1, "max_rows": 1}),
    st.just({"max_bytes": 1.5}),
    st.just({"max_bytes": True}),
    st.just({"unknown_limit": 1}),
)


@pytest.fixture(scope="module")
def decide() -> Iterator[Decide]:
    """Decides on members given as plain data; one engine for all examples of this module."""
    bundle = load_bundle(Path(__file__).parent / "bundles" / "members")
    with asyncio.Runner() as runner:
        policy = runner.run(EmbeddedPolicy.load(bundle, deadline_s=30))

        def judged(members: Members) -> PolicyDecision:
            return runner.run(policy.decide(_document(members)))

        yield judged
        runner.run(policy.close())


def _document(members: Members) -> DecisionInput:
    return DecisionInput.model_validate(
        {
            "phase": "propose",
            "tenant": "local",
            "task": {
                "task_id": "t",
                "risk": "low",
                "contract_version": "c",
                "capabilities": [],
                "requested_by": "ada",
            },
            "attempt": {"attempt_id": "a", "number": 1, "turn": 1},
            "actor": {"user": "ada", "agent": "m", "runtime": "r"},
            "action": {
                "action_id": "a",
                "capability": "members",
                "type": "members@1",
                "args": members,
                "resource": "r",
                "resource_version": "v",
                "side_effect_class": "READ",
                "reversible": True,
                "facts": {},
            },
            "provenance": {"lowest_trust": "user", "untrusted": False},
            "budget": {},
            "now_ms": 0,
        }
    )


def merged_limits(limits: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What limits of one name come to; None where nothing satisfies all of them."""
    found: dict[str, Any] = {}
    for name in {name for limit in limits for name in limit}:
        values = [limit[name] for limit in limits if name in limit]
        if name in {"max_bytes", "timeout_ms"}:
            found[name] = min(values)
        elif name == "read_only":
            found[name] = True
        elif name == "redact":
            found[name] = sorted({item for value in values for item in value})
        elif name == "sandbox_profile":
            found[name] = values[0] if len(set(values)) == 1 else None
        else:
            found[name] = sorted(set(values[0]).intersection(*values[1:])) or None
    return None if None in found.values() else found


def shared_scopes(asks: list[Any]) -> list[str]:
    """How far a yes may reach where all asks agree; this action once is always on offer."""
    words = ("once", "task", "class")
    return sorted(
        word
        for word in words
        if word == "once" or all(word in ask.get("scopes", ["once"]) for ask in asks)
    )


def shared_roles(asks: list[dict[str, Any]]) -> list[str]:
    """The roles that every ask accepts."""
    accepted: list[set[str]] = [set(ask.get("roles", ["approver"])) for ask in asks]
    return sorted(role for role in accepted[0] if all(role in roles for roles in accepted))


def expected(members: Members) -> Verdict:
    """The verdict by the contract, told once more and in another language."""
    limits = merged_limits(members["limit"])
    nobody = bool(members["ask"]) and not shared_roles(members["ask"])
    if members["deny"] or limits is None or nobody:
        return Verdict.DENY
    if members["ask"]:
        return Verdict.REQUIRE_APPROVAL
    if not members["allow"]:
        return Verdict.DENY
    return Verdict.CONSTRAINED_ALLOW if limits else Verdict.ALLOW


@pytest.mark.shows(60)
def test_deny_beats_ask_beats_allow(decide: Decide) -> None:
    """For any sets of members the verdict is the contract's, with the strictest terms."""

    @settings(max_examples=300, deadline=None)
    @given(MEMBERS)
    def holds(members: Members) -> None:
        decision = decide(members)
        assert decision.decision is expected(members)
        if decision.denies:
            assert (decision.constraints, decision.approval) == ({}, None)
            return
        assert decision.constraints == merged_limits(members["limit"])
        if decision.approval is not None:
            asks = members["ask"]
            assert decision.approval.model_dump() == {
                "roles": shared_roles(asks),
                "quorum": max(ask.get("quorum", 1) for ask in asks),
                "expires_in_s": min(ask.get("expires_in_s", 86_400) for ask in asks),
                "separation_of_duty": any(ask.get("separation_of_duty", False) for ask in asks),
                "scopes": shared_scopes(asks),
            }

    holds()


@pytest.mark.shows(56)
def test_one_malformed_member_denies_everything(decide: Decide) -> None:
    """A member that cannot be read is never left out: it may have been the one that denies."""

    @settings(max_examples=200, deadline=None)
    @given(MEMBERS, st.sampled_from(["allow", "ask", "deny", "limit"]), MALFORMED)
    def holds(members: Members, name: str, member: Any) -> None:
        members = {**members, name: [*members[name], member]}
        decision = decide(members)
        assert decision.denies
        assert decision.reason_code == Reserved.POLICY_OUTPUT_INVALID
        assert f"malformed_{name}_in_members" in decision.reasons

    holds()


def test_another_rule_never_makes_anything_easier(decide: Decide) -> None:
    """Adding members other than allow can turn a yes into an ask or a no, never the other way."""
    order = [Verdict.ALLOW, Verdict.CONSTRAINED_ALLOW, Verdict.REQUIRE_APPROVAL, Verdict.DENY]

    @settings(max_examples=200, deadline=None)
    @given(MEMBERS, MEMBERS)
    def holds(few: Members, more: Members) -> None:
        allowed = {**few, "allow": [{"reason_code": "aa"}]}
        both = {name: [*allowed[name], *more[name]] for name in allowed}
        before, after = decide(allowed), decide(both)
        assert order.index(after.decision) >= order.index(before.decision)
        if before.approval is not None and after.approval is not None:
            assert set(after.approval.roles) <= set(before.approval.roles)
            assert after.approval.quorum >= before.approval.quorum
            assert after.approval.expires_in_s <= before.approval.expires_in_s
        if not after.denies:
            assert set(before.constraints) <= set(after.constraints)

    holds()


def test_many_reasons_are_cut_to_what_a_decision_holds(decide: Decide) -> None:
    """More reasons than fit are no malformed decision."""
    members: Members = {"allow": [{"reason_code": f"reason_{n:02}"} for n in range(60)]}
    decision = decide({**members, "ask": [], "deny": [], "limit": []})
    assert decision.decision is Verdict.ALLOW
    assert decision.reasons == [f"reason_{n:02}" for n in range(32)]


def test_reserved_codes_of_the_entrypoint_are_all_of_them() -> None:
    """The entrypoint lists in Rego what the contracts list in Python."""
    bundle = load_bundle(Path(__file__).parent / "bundles" / "members")
    text = bundle.modules["checkrein/decision.rego"]
    block = text.partition("reserved_codes := {")[2].partition("}")[0]
    assert {line.strip(' ",') for line in block.split()} - {""} == {c.value for c in Reserved}
