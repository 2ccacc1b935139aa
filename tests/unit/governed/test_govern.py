"""`govern`: LangChain's tools and plain functions as capabilities, at their worst by default."""

from typing import Annotated, Any

import pytest
from langchain_core.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    tool,
)
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from permits import send
from pydantic import BaseModel, Field

from checkrein import govern
from checkrein.contracts.action import Guarantee, Lookup, SideEffect
from checkrein.contracts.context import Trust
from checkrein.contracts.effect import EffectStatus
from checkrein.errors import CapabilityError, InputError
from checkrein.ports.capability import Capability


def refusal(given: Any, **declared: Any) -> str:
    with pytest.raises(InputError) as caught:
        govern(given, **declared)
    assert caught.value.code == "capability_unusable"
    return str(caught.value)


def upper(text: str) -> str:
    return text.upper()


@tool
def add(a: int, b: int = 2) -> str:
    """Add two numbers.

    The rest is told as well: it is LangChain's way.
    """
    return str(a + b)


class Order(BaseModel):
    """The arguments of a tool."""

    order_id: str = Field(min_length=3, description="its number")
    cents: int = Field(default=100, ge=1)


def test_what_is_not_declared_is_the_worst() -> None:
    """A tool that nobody said anything about must not pass for harmless."""
    spec = govern(add).spec
    assert spec.side_effect is SideEffect.IRREVERSIBLE
    assert (spec.guarantee, spec.lookup) == (Guarantee.NONE, Lookup.NONE)
    assert (spec.verifies, spec.independent, spec.trust) == (False, False, Trust.TOOL)


def test_name_description_and_schema_are_the_tools() -> None:
    """What people review in LangChain is what tasks grant and models see, closed."""
    spec = govern(add, effect="read").spec
    assert (spec.name, spec.side_effect) == ("add", SideEffect.READ)
    assert spec.description == add.description
    assert spec.parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 2}},
        "required": ["a"],
        "additionalProperties": False,
    }


async def test_sync_async_and_single_text_tools_run() -> None:
    """Each form that LangChain has for a tool, and functions of both kinds."""

    async def double(n: int) -> int:
        """Double."""
        return 2 * n

    def triple(n: int) -> dict[str, int]:
        """Triple."""
        return {"n": 3 * n}

    class Halve(BaseTool):
        name: str = "halve"
        description: str = "Halve."

        def _run(self, n: int) -> str:
            return str(n // 2)

    read: list[tuple[Capability, dict[str, Any], dict[str, Any]]] = [
        (govern(add, effect="read"), {"a": 1}, {"text": "3"}),
        (govern(double, effect="read"), {"n": 2}, {"value": 4}),
        (govern(triple, effect="read"), {"n": 2}, {"n": 6}),
        (govern(Halve(), effect="READ"), {"n": 4}, {"text": "2"}),
        (
            govern(StructuredTool.from_function(coroutine=double), effect="read"),
            {"n": 2},
            {"text": "4"},
        ),
        (
            govern(Tool("shout", upper, "Shout."), effect="read"),
            {"tool_input": "hey"},
            {"text": "HEY"},
        ),
    ]
    for one, args, result in read:
        assert (await one.read(args, {})).result == result


async def test_json_schema_as_arguments() -> None:
    """A tool may bring JSON Schema in place of a model; a reference to elsewhere is refused."""
    schema: dict[str, Any] = {
        "type": "object",
        "title": "Look",
        "properties": {"n": {"type": "integer", "default": 4}, "title": {"type": "string"}},
        "required": ["title"],
    }

    async def look(**arguments: Any) -> str:
        return str(sorted(arguments.items()))

    made = StructuredTool(name="look", description="Look.", args_schema=schema, coroutine=look)
    one = govern(made, effect="read")
    assert one.spec.parameters["additionalProperties"] is False
    assert set(one.spec.parameters["properties"]) == {"n", "title"}
    assert (await one.read({"title": "x"}, {})).result == {"text": "[('title', 'x')]"}
    schema["properties"]["n"] = {"$ref": "https://elsewhere.example/schema"}
    assert "stay inside it" in refusal(made)
    schema["properties"]["n"] = {"type": 7}
    assert "cannot be used" in refusal(made)


def injected_tools() -> list[Any]:
    """One tool for each way to mark an argument as injected."""

    @tool
    def with_state(q: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Look."""
        return q

    @tool
    def with_store(q: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Look."""
        return q

    @tool
    def with_runtime(q: str, runtime: ToolRuntime[Any, Any]) -> str:
        """Look."""
        return q

    @tool
    def with_bare_runtime(q: str, runtime: ToolRuntime) -> str:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType] # as users write it
        """Look."""
        return q

    @tool
    def with_id(q: str, call: Annotated[str, InjectedToolCallId]) -> str:
        """Look."""
        return q

    def plain(q: str, user: Annotated[str, InjectedToolArg]) -> str:
        """Look."""
        return q

    class Asked(BaseModel):
        q: str
        user: Annotated[str, InjectedToolArg] = "root"

    @tool(args_schema=Asked)
    def with_default(q: str, user: str = "root") -> str:
        """Look."""
        return q

    by_schema = StructuredTool(
        name="by_schema",
        description="Look.",
        args_schema={"type": "object", "properties": {"q": {"type": "string"}}},
        func=with_state.func,  # type: ignore[attr-defined] # @tool makes a StructuredTool
    )
    return [
        with_state, with_store, with_runtime, with_bare_runtime, with_id, plain, with_default,
        by_schema,
    ]  # fmt: skip


async def test_an_injected_argument_that_may_be_absent_is_absent() -> None:
    """Tools of langchain-mcp-adapters have one; a model can still not fill it in."""

    @tool
    def look(q: str, runtime: Annotated[object | None, InjectedToolArg()] = None) -> str:
        """Look."""
        return f"{q} {runtime}"

    one = govern(look, effect="read")
    assert set(one.spec.parameters["properties"]) == {"q"}
    assert (await one.read({"q": "x"}, {})).result == {"text": "x None"}


@pytest.mark.parametrize("n", range(8))
def test_injected_arguments_are_refused(n: int) -> None:
    """They are never shown to a model nor left to it; nobody here could fill them in."""
    given = injected_tools()[n]
    said = refusal(given, effect="read")
    assert "injected arguments" in said
    assert "Wrap the tool in a function" in said


@pytest.mark.parametrize(
    ("given", "declared", "said"),
    [
        (add, {"effect": "maybe"}, "side_effect must be one of"),
        (add, {"retries": 3}, "govern knows no retries="),
        (add, {"effect": "read", "key_argument": "a"}, "READ has no effect to key"),
        (add, {"key_argument": "c"}, "which is no argument of the tool"),
        (add, {"guarantee": "atomic_key", "key_retention_s": 60}, "takes no key"),
        (BaseTool, {}, "is a class"),
        ("tool", {}, "neither a LangChain tool nor a function"),
        (govern(add), {}, "is a capability already"),
        (Tool("getWeather", upper, "Weather."), {}, "name='get_weather'"),
        (Tool("quiet", upper, ""), {}, "does not say what it does"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: Any, declared: dict[str, Any], said: str) -> None:
    """A mistake is told where it is declared, with what to write instead."""
    assert said in refusal(given, **declared)


async def test_the_key_is_filled_in_and_no_model_sees_it() -> None:
    """A target's de-duplication is used without a model being able to choose the key."""
    seen: list[str] = []

    @tool(args_schema=Order)
    async def refund(order_id: str, cents: int) -> str:
        """Refund."""
        seen.append(order_id)
        return "refunded"

    one = govern(
        refund, key_argument="order_id", guarantee="atomic_key", key_retention_s=60, name="x.refund"
    )
    assert set(one.spec.parameters["properties"]) == {"cents"}
    assert (await send(one, {"cents": 5})).status is EffectStatus.COMMITTED
    assert seen == ["key-1"]


async def test_arguments_are_looked_at_before_anything_is_sent() -> None:
    """A refusal by the tool's own model after the send would leave a write in doubt."""

    @tool(args_schema=Order)
    async def refund(order_id: str, cents: int) -> str:
        """Refund."""
        raise AssertionError

    with pytest.raises(CapabilityError) as caught:
        await govern(refund).prepare({"order_id": "A"})
    assert caught.value.code == "invalid_arguments"


async def test_facts_hold_the_tools_defaults() -> None:
    """A policy on money must see the amount that the model left to the default."""

    @tool(args_schema=Order)
    async def refund(order_id: str, cents: int) -> str:
        """Refund."""
        return "ok"

    one = govern(refund, facts={"amount_minor": "cents", "currency": "EUR"})
    about = await one.describe({"order_id": "A-1"})
    assert (about.facts.amount_minor, about.facts.currency) == (100, "EUR")
