"""Identifiers: derived the same on every machine, different for whatever differs."""

import ast
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from project_files import parse, shipped_python

from checkrein.contracts import ids
from checkrein.contracts.action import Action, operation_hash
from checkrein.testing.conformance.story import action_of

ATTEMPT = "11111111-2222-4333-8444-555555555555"
TEXT = st.text(max_size=12)


@pytest.mark.shows(24)
def test_derived_ids_are_what_they_have_always_been() -> None:
    """A changed derivation would give stored actions, approvals and effects other names."""
    action = ids.action_id(ATTEMPT, 3, 1)
    assert action == GOLDEN["action"]
    assert ids.action_id(ATTEMPT, 3, 1, 2) == GOLDEN["action, revision 2"]
    assert ids.approval_id(action, 1) == GOLDEN["approval"]
    assert ids.effect_id("local", "file:src/ä.py", action) == GOLDEN["effect"]


GOLDEN = {
    "action": "act_324764feecb472267c104192",
    "action, revision 2": "act_df86f9fe6cb491b681c97364",
    "approval": "apr_268ff58c94f8e20e04eaae9b",
    "effect": "eff_52fdd53a58975255dd80c80d",
}


@given(st.lists(TEXT, min_size=3, max_size=3), st.lists(TEXT, min_size=3, max_size=3))
def test_different_effects_have_different_ids(one: list[str], other: list[str]) -> None:
    assert (ids.effect_id(*one) == ids.effect_id(*other)) == (one == other)


@given(TEXT, TEXT, TEXT)
def test_no_part_of_a_key_can_pass_for_another_part(a: str, b: str, c: str) -> None:
    """Shifting text from one part to the next makes another id, whatever stands at the seam."""
    if b:
        assert ids.effect_id(a, b, c) != ids.effect_id(a + b[0], b[1:], c)
        assert ids.effect_id(a, b, c) != ids.effect_id(a, b[:-1], b[-1] + c)
    assert ids.effect_id(a, f"1:{b}", c) != ids.effect_id(f"{a}1:", b, c)


SMALL = st.integers(0, 12)


@given(st.tuples(SMALL, SMALL, SMALL), st.tuples(SMALL, SMALL, SMALL))
def test_different_places_have_different_actions(
    one: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    assert (ids.action_id(ATTEMPT, *one) == ids.action_id(ATTEMPT, *other)) == (one == other)


def test_ids_of_one_kind_never_pass_for_another() -> None:
    parts = "x", "y", "z"
    found = {ids.effect_id(*parts), ids.action_id("x", 1, 1), ids.approval_id("x", 1)}
    assert {name.partition("_")[0] for name in found} == {"eff", "act", "apr"}
    assert all(re.fullmatch(r"[a-z]{3}_[0-9a-f]{24}", name) for name in found)


def test_fresh_ids_are_uuids_and_fresh() -> None:
    made = {ids.new_task_id() for _ in range(100)} | {ids.new_attempt_id() for _ in range(100)}
    assert len(made) == 200
    assert {str(uuid.UUID(one)) for one in made} == made
    assert len({ids.new_owner_id() for _ in range(100)}) == 100


@pytest.mark.shows(24)
def test_an_action_keeps_its_id_and_key_whatever_the_provider_calls_it() -> None:
    first = action_of(ATTEMPT)
    second = Action.model_validate({**first.model_dump(), "call_id": "toolu_other"})
    assert (first.action_id, first.idempotency_key) == (second.action_id, second.idempotency_key)
    assert operation_hash(first, {}) == operation_hash(second, {})


@pytest.mark.shows(24, 59)
def test_an_operation_is_its_arguments_capability_resource_and_constraints() -> None:
    action = action_of(ATTEMPT)
    base = operation_hash(action, {})
    changes = [
        operation_hash(action.model_copy(update={"args_hash": "sha256:x"}), {}),
        operation_hash(action.model_copy(update={"type": "workspace.write_file@2"}), {}),
        operation_hash(action.model_copy(update={"resource": "file:b.py"}), {}),
        operation_hash(action, {"max_bytes": 10}),
        operation_hash(action, {"max_bytes": 11}),
    ]
    assert len({base, *changes}) == 6
    same = action.model_copy(update={"turn": 9, "position": 4, "actor": "other"})
    assert operation_hash(same, {}) == base
    two = {"max_bytes": 10, "path_roots": ["src"]}
    assert operation_hash(action, two) == operation_hash(action, dict(reversed(two.items())))


IDENTIFIERS = {"call_id", "action_id", "idempotency_key"}


@pytest.mark.shows(24)
def test_no_code_compares_one_kind_of_identifier_with_another() -> None:
    mixed: list[str] = []
    for path in shipped_python():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                named = {
                    side.attr
                    for side in sides
                    if isinstance(side, ast.Attribute) and side.attr in IDENTIFIERS
                }
                if len(named) > 1:
                    mixed.append(f"{path}:{node.lineno}: {sorted(named)}")
    assert mixed == []
