"""Declarations that contradict themselves are named, and those that do not are let through."""

from typing import Any

import pytest

from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.effect import Effect, Outcome
from checkrein.ports.capability import (
    CapabilitySpec,
    Description,
    Permit,
    Prepared,
    ReadResult,
    RetryPolicy,
    StillOwner,
    Verification,
)
from checkrein.ports.effect_contract import contradictions
from checkrein.ports.transaction import Transaction


class Declares:
    """A capability of which only the declaration is read: calling anything fails the test."""

    def __init__(self, **terms: Any) -> None:
        given: dict[str, Any] = {"name": "a.b", "description": "d", "parameters": {}}
        self.spec = CapabilitySpec(**(given | terms))

    def idempotency_key(self, action_id: str, args: dict[str, Any]) -> str:
        raise AssertionError

    async def describe(self, args: dict[str, Any]) -> Description:
        raise AssertionError

    async def read(self, args: dict[str, Any], constraints: dict[str, Any]) -> ReadResult:
        raise AssertionError

    async def prepare(self, args: dict[str, Any], *, preview: bool = True) -> Prepared:
        raise AssertionError

    async def send(self, prepared: Prepared, permit: Permit, still_owner: StillOwner) -> Outcome:
        raise AssertionError

    async def version(self, resource: str) -> str:
        raise AssertionError

    async def lookup(self, effect: Effect) -> Outcome | None:
        raise AssertionError


class Checks(Declares):
    """One that has `verify`."""

    async def verify(self, effect: Effect) -> Verification:
        raise AssertionError


class InOurs(Declares):
    """One that has `apply`."""

    async def apply(self, prepared: Prepared, permit: Permit, transaction: Transaction) -> Outcome:
        raise AssertionError


READ: dict[str, Any] = {"side_effect": SideEffect.READ}
KEY: dict[str, Any] = {"guarantee": Guarantee.ATOMIC_KEY}
KEPT = KEY | {"key_retention_s": 60.0}
SWAP: dict[str, Any] = {"guarantee": Guarantee.COMPARE_AND_SET}
OURS: dict[str, Any] = {"guarantee": Guarantee.SAME_TRANSACTION}
TAKES = {"type": "object", "properties": {"effect_id": {"type": "string"}}}

WRONG: dict[str, tuple[type[Declares], dict[str, Any], str]] = {
    "read_with_guarantee": (Declares, READ | OURS, "is a READ and promises the guarantee same_tr"),
    "read_with_lookup": (Declares, READ | {"lookup": Lookup.EVENTUAL}, "promises lookup eventual"),
    "read_with_verify": (Checks, READ | {"verifies": True}, "a READ and promises verifies"),
    "read_that_compensates": (Declares, READ | {"compensates": "c"}, "promises compensates"),
    "read_with_retention": (Declares, READ | {"key_retention_s": 1}, "but not the guarantee"),
    "key_without_retention": (Declares, KEY, "atomic_key without key_retention_s"),
    "keys_kept_too_shortly": (Declares, KEY | {"key_retention_s": 59}, "keeps keys for 59 s, but"),
    "keys_too_short": (Declares, KEPT | {"max_key_length": 27}, "at most 27 characters, but ours"),
    "retention_without_key": (Declares, {"key_retention_s": 9}, "but not the guarantee atomic_key"),
    "swap_without_lookup": (Declares, SWAP, "compare_and_set with lookup none"),
    "swap_that_lags": (Declares, SWAP | {"lookup": Lookup.EVENTUAL}, "with lookup eventual"),
    "ours_without_apply": (Declares, OURS, "but has no method `apply`"),
    "ours_with_lookup": (InOurs, OURS | {"lookup": Lookup.AUTHORITATIVE}, "nothing to look up"),
    "verifies_without_verify": (Declares, {"verifies": True}, "but has no method `verify`"),
    "compensates_itself": (Declares, {"compensates": "a.b", "parameters": TAKES}, "itself"),
    "sandbox_of_no_kind": (
        Declares,
        {"enforces": frozenset({"sandbox_profile"})},
        "the profiles that it can honour",
    ),
    "profiles_not_enforced": (
        Declares,
        {"sandbox_profiles": frozenset({"offline"})},
        "must declare both or neither",
    ),
    "compensates_nothing": (Declares, {"compensates": "c"}, "has no parameter `effect_id`"),
}

RIGHT: dict[str, tuple[type[Declares], dict[str, Any]]] = {
    "undeclared": (Declares, {}),
    "read": (Declares, READ),
    "read_retried_often": (Declares, READ | {"retry": RetryPolicy(tries=20)}),
    "no_guarantee_with_lookup": (Declares, {"lookup": Lookup.EVENTUAL}),
    "no_guarantee_retried": (Declares, {"retry": RetryPolicy(tries=9)}),
    "key_kept_just_long_enough": (Declares, KEPT | {"max_key_length": 28}),
    "key_without_lookup": (Declares, KEPT),
    "swap": (Declares, SWAP | {"lookup": Lookup.AUTHORITATIVE}),
    "ours": (InOurs, OURS),
    "verify_that_is_not_declared": (Checks, {}),
    "verifies": (Checks, {"verifies": True}),
    "compensates": (Declares, {"compensates": "c", "parameters": TAKES}),
}


@pytest.mark.parametrize("name", WRONG)
def test_contradiction_is_named(name: str) -> None:
    """Protects the ledger, which believes what is declared: a promise that cannot be meant."""
    kind, terms, message = WRONG[name]
    (problem,) = contradictions(kind(**terms))
    assert message in problem
    assert problem.startswith("a.b")
    assert problem.endswith(".")


@pytest.mark.parametrize("name", RIGHT)
def test_declaration_that_can_be_meant_is_let_through(name: str) -> None:
    """Protects authors from a check that refuses what is sound."""
    kind, terms = RIGHT[name]
    assert contradictions(kind(**terms)) == []


def test_undeclared_is_irreversible_without_guarantee() -> None:
    """Protects against what nobody thought about: it is taken at its worst."""
    spec = Declares().spec
    assert spec.side_effect is SideEffect.IRREVERSIBLE
    assert (spec.guarantee, spec.lookup) == (Guarantee.NONE, Lookup.NONE)


def test_every_problem_is_named_at_once() -> None:
    """Protects the author's time: one look at everything that is wrong."""
    problems = contradictions(Declares(**(KEY | {"max_key_length": 1, "compensates": "a.b"})))
    assert len(problems) == 4
