"""What every Model must do, as checks that run against any adapter of the port.

An adapter's tests give a factory that makes a Model answer what it is told; each check of CHECKS
is awaited with that factory and raises AssertionError with what went wrong.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from checkrein.contracts.context import (
    CompiledContext,
    ContextManifest,
    Message,
    ToolCall,
    ToolDescription,
    Trust,
)
from checkrein.contracts.proposal import ModelReply, Usage
from checkrein.ports.model import Model

LARGE = 5_000_000
"""Characters of the largest text that must pass."""

MANY = 50
"""Calls of the largest turn that must pass."""


@dataclass(frozen=True)
class SaidCall:
    """A tool call that the model makes. `args` is text where it wrote no JSON object."""

    name: str
    args: dict[str, Any] | str
    id: str | None = None


@dataclass(frozen=True)
class Said:
    """One answer that the model gives."""

    text: str = ""
    calls: Sequence[SaidCall] = ()
    usage: Usage = Usage(input_tokens=11, output_tokens=7)
    stop: str = "stop"


MakeModel = Callable[[Sequence[Said]], Awaitable[Model]]
"""Makes a Model that gives these answers in turns 1, 2, ..."""

Check = Callable[[MakeModel], Awaitable[None]]


def context_of(turn: int, *messages: Message, tools: Sequence[str] = ()) -> CompiledContext:
    """A small context for one turn."""
    return CompiledContext(
        turn=turn,
        messages=list(messages) or [Message(role="user", text="Go on.")],
        tools=[
            ToolDescription(name=name, description=name, parameters={"type": "object"})
            for name in tools
        ],
        manifest=ContextManifest(
            turn=turn,
            policy_version="none",
            sources=[],
            omitted=[],
            total_tokens=8,
            budget_tokens=1000,
            sent="sha256:0",
        ),
        lowest_trust=Trust.PLATFORM,
    )


def decoded(reply: ModelReply) -> dict[str, Any]:
    """The raw reply as JSON; it must be an object of pure ASCII."""
    _must(reply.raw.isascii(), "the raw reply is not pure ASCII")
    value: dict[str, Any] = json.loads(reply.raw)
    _must(value.keys() == {"text", "calls", "stop"}, f"the raw reply has fields {sorted(value)}")
    return value


async def names_itself(make: MakeModel) -> None:
    """A model has a name, and a limit to reserve by."""
    model = await make([Said("a")])
    _must(bool(model.name), "the model has no name")
    _must(model.max_output_tokens > 0, "the model reserves nothing for its answer")


async def text_comes_through(make: MakeModel) -> None:
    """Text arrives as it was said, with usage and stop reason."""
    model = await make([Said("ä ￥12.5 \U0001f600\n", stop="STOP")])
    reply = await model.respond(context_of(1))
    value = decoded(reply)
    _same(value["text"], "ä ￥12.5 \U0001f600\n", "text")
    _same(value["calls"], [], "calls")
    _same(value["stop"], "stop", "stop reason")
    _same(reply.usage, Usage(input_tokens=11, output_tokens=7), "usage")
    _must(bool(reply.model_id), "the reply does not say which model it is of")


async def calls_come_through(make: MakeModel) -> None:
    """Calls arrive in order, with their ids and arguments."""
    calls = [
        SaidCall("workspace_read", {"path": "a.py", "deep": {"n": [1, 2.5, None, True]}}, "c1"),
        SaidCall("orders_pay", {}, "c2"),
    ]
    model = await make([Said("I look.", calls)])
    reply = await model.respond(context_of(1, tools=["workspace_read", "orders_pay"]))
    expected = [
        {"call_id": call.id, "name": call.name, "args": call.args, "error": None} for call in calls
    ]
    _same(decoded(reply)["calls"], expected, "calls")


async def calls_have_ids_of_their_own(make: MakeModel) -> None:
    """Missing and repeated ids are made good, the same way each time."""
    calls = [SaidCall("a", {}, i) for i in (None, "same", "same", None, "same_2")]
    model = await make([Said("", calls), Said("", calls)])
    again = await make([Said("", calls)])
    first = [call["call_id"] for call in decoded(await model.respond(context_of(1)))["calls"]]
    repeated = [call["call_id"] for call in decoded(await again.respond(context_of(1)))["calls"]]
    _must(all(first) and len(set(first)) == len(calls), f"the ids are {first}")
    _same(first[1], "same", "a provider's id")
    _same(repeated, first, "ids of the same answer")


async def unreadable_arguments_are_kept_apart(make: MakeModel) -> None:
    """Arguments that are no JSON object are None with a reason, beside good ones."""
    calls = [SaidCall("a", {"x": 1}, "good"), SaidCall("b", '{"x": ', "bad")]
    model = await make([Said("", calls)])
    found = {call["call_id"]: call for call in decoded(await model.respond(context_of(1)))["calls"]}
    _same(found["good"]["args"], {"x": 1}, "good arguments")
    _same(found["bad"]["args"], None, "unreadable arguments")
    _must(bool(found["bad"]["error"]), "nothing says why the arguments are unreadable")


async def odd_text_survives(make: MakeModel) -> None:
    """NUL and lone surrogates reach the raw reply unchanged."""
    odd = "a\x00b\ud800c"
    model = await make([Said(odd, [SaidCall("a", {"x": odd}, "c1")])])
    value = decoded(await model.respond(context_of(1)))
    _same(value["text"], odd, "odd text")
    _same(value["calls"][0]["args"], {"x": odd}, "odd arguments")


async def large_replies_pass(make: MakeModel) -> None:
    """Megabytes of text and many calls are no fault of the model's adapter."""
    calls = [SaidCall("a", {"n": n}, f"c{n}") for n in range(MANY)]
    model = await make([Said("x" * LARGE), Said("", calls)])
    _same(len(decoded(await model.respond(context_of(1)))["text"]), LARGE, "length of the text")
    _same(len(decoded(await model.respond(context_of(2)))["calls"]), MANY, "number of calls")


async def whole_conversations_are_taken(make: MakeModel) -> None:
    """Every role, calls and their results can be shown, and the context stays as it was."""
    model = await make([Said("ok")])
    context = context_of(
        1,
        Message(role="system", text="Rules."),
        Message(role="user", text="Goal."),
        Message(
            role="assistant",
            text="",
            calls=[
                ToolCall(call_id="c1", name="a", args={"x": 1}),
                ToolCall(call_id="c2", name="a", args={}),
            ],
        ),
        Message(role="tool", text="done", call_id="c1"),
        Message(role="tool", text="denied", call_id="c2", failed=True),
        tools=["a", "b"],
    )
    before = context.model_dump_json()
    await model.respond(context)
    _same(context.model_dump_json(), before, "the context after the call")


async def calls_at_once_do_not_mix(make: MakeModel) -> None:
    """Two attempts may ask one model at the same time, with different tools."""
    model = await make([Said("same"), Said("same")])
    replies = await asyncio.gather(
        model.respond(context_of(1, tools=["a"])), model.respond(context_of(2, tools=["b"]))
    )
    _same([decoded(reply)["text"] for reply in replies], ["same", "same"], "answers")


async def closing_is_silent_or_text(make: MakeModel) -> None:
    """Nothing is left over after as many turns as there were answers."""
    model = await make([Said("a"), Said("b")])
    _same(model.closing_note(2), None, "the note after the last turn")


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        names_itself,
        text_comes_through,
        calls_come_through,
        calls_have_ids_of_their_own,
        unreadable_arguments_are_kept_apart,
        odd_text_survives,
        large_replies_pass,
        whole_conversations_are_taken,
        calls_at_once_do_not_mix,
        closing_is_silent_or_text,
    )
}
"""Every check by its name."""


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise AssertionError(problem)


def _same(found: object, expected: object, what: str) -> None:
    _must(found == expected, f"{what}: {found!r:.200} is not {expected!r:.200}")
