"""`@capability`: what a declaration promises, refuses and does."""

import datetime
import json
from typing import Annotated, Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from checkrein.adapters.function_capability import capability
from checkrein.adapters.function_result import MAX_RESULT_BYTES
from checkrein.adapters.function_target import FunctionCapability
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.codec import canonical
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import EffectStatus, Outcome
from checkrein.errors import CapabilityError
from checkrein.ports.capability import Capability, Permit


class Address(BaseModel):
    """A model as a parameter."""

    street: str
    number: int


@capability("orders.lookup", side_effect="READ", resource=lambda args: f"order:{args['order_id']}")
async def lookup(
    order_id: str,
    limit: Annotated[int, Field(ge=1, description="how many lines")] = 3,
    since: datetime.date | None = None,
) -> dict[str, Any]:
    """Find one order by its number.

    Not part of what the model is told.
    """
    return {"id": order_id, "limit": limit, "since": since}


sent: list[tuple[str, int]] = []


def refunded(args: dict[str, Any]) -> str:
    """The business act: one refund an order."""
    return str(args["order_id"])


@capability("orders.refund", resource=lambda args: f"order:{args['order_id']}", key=refunded)
async def refund(order_id: str, cents: int) -> str:
    """Pay money back."""
    sent.append((order_id, cents))
    return f"refunded {cents}"


PERMIT = Permit(effect_id="e", key="k", operation_hash="sha256:0", fence=1)


async def ours() -> bool:
    return True


async def lost() -> bool:
    return False


def raising(error: Exception, side_effect: str = "READ") -> Capability:
    @capability("a.fail", side_effect=side_effect)
    async def fail() -> None:
        """Fail."""
        raise error

    return fail


async def send(one: Capability, args: dict[str, Any]) -> Outcome:
    return await one.send(await one.prepare(args), PERMIT, ours)


def test_decorated_function_is_a_capability() -> None:
    one: Capability = lookup
    assert one.spec.type == "orders.lookup@1"
    assert one.spec.tool_name == "orders_lookup"
    assert one.spec.description == "Find one order by its number."
    assert isinstance(lookup, FunctionCapability)


async def test_decorated_function_stays_callable_as_itself() -> None:
    assert await lookup("A-1", limit=2) == {"id": "A-1", "limit": 2, "since": None}
    assert lookup.__dict__["__name__"] == "lookup"
    assert "Not part" in (lookup.__doc__ or "")


def test_parameters_become_a_closed_schema() -> None:
    schema = lookup.spec.parameters
    Draft202012Validator.check_schema(schema)
    assert schema == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "default": 3,
                "description": "how many lines",
            },
            "since": {
                "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["order_id"],
        "additionalProperties": False,
    }


def test_undeclared_is_taken_at_its_worst() -> None:
    assert refund.spec.side_effect is SideEffect.IRREVERSIBLE
    assert refund.spec.guarantee is Guarantee.NONE
    assert refund.spec.lookup is Lookup.NONE
    assert refund.spec.enforces == frozenset()
    assert refund.spec.trust is Trust.TOOL


async def test_resource_and_key_are_derived_from_the_arguments() -> None:
    args = {"order_id": "A-1", "cents": 5}
    description = await refund.describe(args)
    assert (description.resource, description.resource_version) == ("order:A-1", "")
    assert refund.idempotency_key("act_1", args) == "A-1"
    assert lookup.idempotency_key("act_1", {"order_id": "x"}) == "act_1"


async def test_arguments_reach_the_function_as_its_own_types() -> None:
    found = await lookup.read({"order_id": "A-1", "since": "2026-01-02"}, {})
    assert found.result == {"id": "A-1", "limit": 3, "since": "2026-01-02"}

    @capability("a.move", side_effect="READ")
    async def move(to: Address) -> str:
        """Move."""
        return f"{to.street} {to.number}"

    moved = await move.read({"to": {"street": "Main", "number": 7}}, {})
    assert moved.result == {"text": "Main 7"}


@pytest.mark.parametrize(
    ("args", "advice"),
    [
        ({}, "order_id: Missing required argument"),
        ({"order_id": 7}, "order_id: Input should be a valid string"),
        ({"order_id": "a", "limit": "3"}, "limit: Input should be a valid integer"),
        ({"order_id": "a", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ({"order_id": "a", "more": 1}, "more: Unexpected keyword argument"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused(args: dict[str, Any], advice: str) -> None:
    with pytest.raises(CapabilityError) as caught:
        await lookup.read(args, {})
    assert advice in caught.value.advice
    assert not caught.value.effect_possible


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ("text", {"text": "text"}),
        (None, {}),
        ([1, 2], {"value": [1, 2]}),
        (7, {"value": 7}),
        (Address(street="s", number=1), {"street": "s", "number": 1}),
        ({"a": "\x00\ud800"}, {"a": "\\u0000\\ud800"}),
        ({"a": 2**60, "b": float("inf"), "c": True}, {"a": str(2**60), "b": "inf", "c": True}),
        ({"when": datetime.date(2026, 1, 2)}, {"when": "2026-01-02"}),
    ],
)
async def test_results_become_storable_json(result: object, expected: object) -> None:
    @capability("a.give", side_effect="READ")
    async def give() -> Any:
        """Give."""
        return result

    found = await give.read({}, {})
    assert found.result == expected
    canonical(found.result)
    assert not found.truncated


@pytest.mark.parametrize("text", ["x" * 200_000, '"\x01' * 100_000, "ä" * 100_000])
async def test_large_results_are_cut_and_kept_whole(text: str) -> None:
    @capability("a.give", side_effect="READ")
    async def give() -> str:
        """Give."""
        return text

    found = await give.read({}, {})
    assert found.truncated
    assert found.original == text.encode()
    assert found.result["size_bytes"] == len(text.encode())
    assert len(json.dumps(found.result, ensure_ascii=False).encode()) <= MAX_RESULT_BYTES
    assert text.startswith(found.result["head"])
    assert text.endswith(found.result["tail"])


@pytest.mark.parametrize("result", [object(), {"a": {1: object()}}])
async def test_results_that_json_cannot_hold_are_an_error_of_the_capability(result: object) -> None:
    @capability("a.give", side_effect="READ")
    async def give() -> Any:
        """Give."""
        return result

    with pytest.raises(CapabilityError) as caught:
        await give.read({}, {})
    assert caught.value.code == "result_unusable"


@pytest.mark.shows(50)
async def test_of_an_exception_the_model_learns_the_type_alone() -> None:
    with pytest.raises(CapabilityError) as caught:
        await raising(ValueError("password is s3cr3t")).read({}, {})
    error = caught.value
    assert str(error) == "a.fail failed: ValueError."
    assert "s3cr3t" not in repr((str(error), error.advice, error.context))
    assert not error.retryable
    with pytest.raises(CapabilityError) as passing:
        await raising(TimeoutError()).read({}, {})
    assert passing.value.retryable


async def test_authors_own_error_is_passed_on() -> None:
    error = CapabilityError("No such order.", op="a", code="not_found", advice="Search first.")
    with pytest.raises(CapabilityError) as caught:
        await raising(error).read({}, {})
    assert caught.value is error


async def test_write_is_prepared_without_being_called() -> None:
    sent.clear()
    prepared = await refund.prepare({"order_id": "A-1", "cents": 5})
    assert sent == []
    assert prepared.preview == 'orders.refund@1\n  cents: 5\n  order_id: "A-1"'
    assert (prepared.resource, prepared.from_version, prepared.to_version) == ("order:A-1", "", "")
    outcome = await refund.send(prepared, PERMIT, ours)
    assert sent == [("A-1", 5)]
    assert outcome.status is EffectStatus.COMMITTED
    assert outcome.result == {"text": "refunded 5"}


async def test_preview_of_large_arguments_is_bounded() -> None:
    prepared = await refund.prepare({"order_id": "x" * 1000, "cents": 5})
    assert len(prepared.preview) < 1_100

    @capability("a.write")
    async def write(text: str) -> None:
        """Write."""

    long = await write.prepare({"text": "x" * 100_000})
    assert len(long.preview) < 2_200
    assert "characters left out" in long.preview


async def test_an_exception_of_a_write_means_that_nobody_knows() -> None:
    for error in (ValueError("s3cr3t"), TimeoutError(), ConnectionResetError()):
        outcome = await send(raising(error, "IRREVERSIBLE"), {})
        assert outcome.status is EffectStatus.UNKNOWN_EFFECT
        assert outcome.error_type == type(error).__name__
        assert "s3cr3t" not in outcome.message


async def test_authors_own_error_of_a_write_says_whether_it_may_have_happened() -> None:
    definite = CapabilityError("No.", op="a", code="no_money", advice="Ask less.")
    with pytest.raises(CapabilityError) as caught:
        await send(raising(definite, "REVERSIBLE"), {})
    assert caught.value is definite
    doubtful = CapabilityError("Hm.", op="a", code="lost", effect_possible=True)
    outcome = await send(raising(doubtful, "REVERSIBLE"), {})
    assert outcome.status is EffectStatus.UNKNOWN_EFFECT
    assert outcome.error_type == "lost"


async def test_unreadable_result_takes_nothing_from_a_commit() -> None:
    @capability("a.write")
    async def write() -> object:
        """Write."""
        return object()

    outcome = await send(write, {})
    assert outcome.status is EffectStatus.COMMITTED
    assert outcome.result == {"unreadable_result": "result_unusable"}


async def test_lost_owner_sends_nothing() -> None:
    sent.clear()
    prepared = await refund.prepare({"order_id": "A-1", "cents": 5})
    with pytest.raises(CapabilityError) as caught:
        await refund.send(prepared, PERMIT, lost)
    assert caught.value.code == "not_owner"
    assert sent == []


async def test_limits_that_nobody_enforces_are_refused() -> None:
    sent.clear()
    with pytest.raises(CapabilityError) as read:
        await lookup.read({"order_id": "a"}, {"max_rows": 3})
    prepared = await refund.prepare({"order_id": "A-1", "cents": 5})
    limited = PERMIT.model_copy(update={"constraints": {"max_amount_minor": 3}})
    with pytest.raises(CapabilityError) as write:
        await refund.send(prepared, limited, ours)
    assert read.value.code == write.value.code == "constraint_unavailable"
    assert sent == []


async def test_read_is_not_sent_and_write_is_not_read() -> None:
    with pytest.raises(CapabilityError) as read:
        await refund.read({"order_id": "A-1", "cents": 5}, {})
    with pytest.raises(CapabilityError) as write:
        await send(lookup, {"order_id": "A-1"})
    assert read.value.code == write.value.code == "not_supported"


async def test_nothing_is_known_afterwards() -> None:
    assert await refund.version("order:A-1") == ""
    effect: Any = None
    assert await refund.lookup(effect) is None


async def test_failing_resource_or_key_is_an_error_of_the_capability() -> None:
    @capability("a.write", resource=lambda args: args["gone"], key=lambda args: "")
    async def write() -> None:
        """Write."""

    with pytest.raises(CapabilityError) as resource:
        await write.describe({})
    with pytest.raises(CapabilityError) as key:
        write.idempotency_key("act", {})
    assert (resource.value.code, key.value.code) == ("resource_failed", "key_failed")
