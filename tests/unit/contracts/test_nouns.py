"""Every noun is immutable, closed, and comes back from its JSON as it was."""

import importlib
import pkgutil
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from types import ModuleType
from typing import Any, get_args

import pytest
from filled import filled
from pydantic import BaseModel, ValidationError

import checkrein.contracts
import checkrein.ports
from checkrein.contracts.budget import BudgetLimits, BudgetLine
from checkrein.contracts.codec import Frozen, to_text
from checkrein.contracts.decision import DecisionOutput, Verdict
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.contracts.event_base import PayloadBase
from checkrein.contracts.task import TaskContract
from checkrein.graph.report import Report


def modules() -> Iterator[ModuleType]:
    for package in (checkrein.contracts, checkrein.ports):
        for found in pkgutil.iter_modules(package.__path__):
            yield importlib.import_module(f"{package.__name__}.{found.name}")


def nouns() -> list[type[Frozen]]:
    """Every class of contracts and ports that describes something, and the report."""
    found = {
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Frozen)
    }
    return sorted((found | {Report}) - {Frozen, PayloadBase}, key=lambda noun: noun.__name__)


def plain_models() -> list[str]:
    """Models that forgot to be nouns."""
    return [
        f"{module.__name__}.{name}"
        for module in modules()
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, BaseModel)
        and not issubclass(value, Frozen)
        and value is not BaseModel
    ]


each_noun = pytest.mark.parametrize("noun", nouns(), ids=lambda noun: noun.__name__)


def test_all_are_found_and_none_is_a_plain_model() -> None:
    assert len(nouns()) > 90
    assert plain_models() == []


@each_noun
def test_it_comes_back_from_json_as_it_was(noun: type[Frozen]) -> None:
    made = filled(noun)
    again = noun.model_validate_json(to_text(made))
    assert again == made
    assert to_text(again) == to_text(made)
    assert noun.model_validate(made.model_dump()) == made


@each_noun
def test_no_field_can_be_set_or_removed(noun: type[Frozen]) -> None:
    made = filled(noun)
    for name in noun.model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(made, name, getattr(made, name))
        with pytest.raises(ValidationError, match="frozen"):
            delattr(made, name)
    with pytest.raises(ValidationError, match=r"frozen|no field"):
        made.surprise = 1  # type: ignore[attr-defined]


@each_noun
def test_unknown_fields_are_refused_at_any_depth(noun: type[Frozen]) -> None:
    for changed in with_a_surprise(filled(noun)):
        with pytest.raises(ValidationError, match="surprise"):
            noun.model_validate(changed)


def with_a_surprise(made: BaseModel) -> Iterator[dict[str, Any]]:
    """The noun as a dict, once for each noun in it, that one with a field too many."""
    whole = {name: getattr(made, name) for name in type(made).model_fields}
    yield {**whole, "surprise": 1}
    for name, value in whole.items():
        if isinstance(value, BaseModel):
            for inner in with_a_surprise(value):
                yield {**whole, name: inner}


@pytest.mark.shows(4)
@each_noun
def test_required_fields_are_required(noun: type[Frozen]) -> None:
    whole = filled(noun).model_dump()
    for name, field in noun.model_fields.items():
        if field.is_required():
            with pytest.raises(ValidationError, match=name):
                noun.model_validate({key: value for key, value in whole.items() if key != name})


@each_noun
def test_every_form_has_one_version(noun: type[Frozen]) -> None:
    for name in {"v", "version", "schema_version"} & noun.model_fields.keys():
        if get_args(noun.model_fields[name].annotation) == (1,):
            with pytest.raises(ValidationError):
                noun.model_validate({**filled(noun).model_dump(), name: 2})


def test_statuses_are_upper_case_and_codes_are_not() -> None:
    """The specification's spelling, so that no two lists write one word in two ways."""
    for module in modules():
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, StrEnum) and value is not StrEnum:
                words = [str(member) for member in value]
                upper = [word for word in words if word == word.upper()]
                assert upper in ([], words), f"{value.__name__} mixes {words}"


def test_times_are_aware() -> None:
    """A time without its zone would be another one on the next machine."""
    for noun in nouns():
        made = filled(noun)
        for name in noun.model_fields:
            value = getattr(made, name)
            if isinstance(value, datetime):
                assert value.utcoffset() is not None


# --- rules between fields ------------------------------------------------------------------------


def test_budgets_have_the_bounds_of_the_contract() -> None:
    for name in ("steps", "model_tokens", "wall_time_s", "tool_calls"):
        for bad in (0, -1, 1.5, "3", True, None):
            with pytest.raises(ValidationError):
                BudgetLimits.model_validate({name: bad})
    assert BudgetLimits(repairs=0).repairs == 0
    with pytest.raises(ValidationError):
        BudgetLimits(repairs=-1)


def test_nothing_is_left_of_a_budget_that_was_overdrawn() -> None:
    assert BudgetLine(limit=10, spent=7, reserved=2).left == 1
    assert BudgetLine(limit=10, spent=12, reserved=0).left == 0


ASK = {"roles": ["approver"]}
LIMIT = {"max_bytes": 10}


@pytest.mark.parametrize(
    ("verdict", "more", "good"),
    [
        (Verdict.ALLOW, {}, True),
        (Verdict.ALLOW, {"constraints": LIMIT}, False),
        (Verdict.ALLOW, {"approval": ASK}, False),
        (Verdict.CONSTRAINED_ALLOW, {"constraints": LIMIT}, True),
        (Verdict.CONSTRAINED_ALLOW, {}, False),
        (Verdict.CONSTRAINED_ALLOW, {"constraints": LIMIT, "approval": ASK}, False),
        (Verdict.REQUIRE_APPROVAL, {"approval": ASK}, True),
        (Verdict.REQUIRE_APPROVAL, {"approval": ASK, "constraints": LIMIT}, True),
        (Verdict.REQUIRE_APPROVAL, {}, False),
        (Verdict.DENY, {}, True),
        (Verdict.DENY, {"constraints": LIMIT}, False),
        (Verdict.DENY, {"approval": ASK}, False),
        ("MAYBE", {}, False),
        (None, {}, False),
    ],
)
def test_a_verdict_carries_what_belongs_to_it(verdict: Any, more: Any, good: bool) -> None:
    document = {"decision": verdict, "reason_code": "because", "reasons": ["because"], **more}
    if good:
        assert DecisionOutput.model_validate(document).decision is verdict
    else:
        with pytest.raises(ValidationError):
            DecisionOutput.model_validate(document)


def test_a_reason_is_needed_and_well_formed() -> None:
    for reason in ("", "Because", "because!", "x", "a" * 65, None):
        with pytest.raises(ValidationError):
            DecisionOutput.model_validate(
                {"decision": "ALLOW", "reason_code": reason, "reasons": ["because"]}
            )
    with pytest.raises(ValidationError):
        DecisionOutput.model_validate({"decision": "ALLOW", "reason_code": "ok", "reasons": []})


@pytest.mark.shows(119)
def test_an_outcome_is_what_a_target_can_say() -> None:
    said = {EffectStatus.COMMITTED, EffectStatus.REFUSED, EffectStatus.UNKNOWN_EFFECT}
    for status in EffectStatus:
        if status in said | {EffectStatus.NOT_APPLIED}:
            assert Outcome.model_validate({"status": status}).status is status
        else:
            with pytest.raises(ValidationError):
                Outcome.model_validate({"status": status})


def test_a_contract_is_another_one_when_anything_in_it_changes() -> None:
    made = filled(TaskContract)
    versions = {made.contract_version}
    for change in ({"goal": "other"}, {"risk": "high"}, {"commit_authority": "x2"}):
        changed = TaskContract.model_validate({**made.model_dump(), **change})
        versions.add(changed.contract_version)
    assert len(versions) == 4
    assert TaskContract.model_validate_json(to_text(made)).contract_version == made.contract_version


def test_a_contract_names_no_capability_twice() -> None:
    twice = filled(TaskContract).model_dump() | {"capabilities": ["a.b", "a.b"]}
    with pytest.raises(ValidationError, match="twice"):
        TaskContract.model_validate(twice)
