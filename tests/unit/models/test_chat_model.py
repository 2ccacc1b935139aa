"""From LangChain's messages to raw replies and back: what the port promises, case by case."""

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import PrivateAttr

from checkrein.adapters import chat_model
from checkrein.adapters.chat_model import ChatModel
from checkrein.contracts.context import CompiledContext, Message, ToolCall
from checkrein.contracts.proposal import Usage
from checkrein.errors import ModelError
from checkrein.testing import scripted_model
from checkrein.testing.conformance.model_suite import context_of, decoded
from checkrein.testing.scripted_model import Script, ScriptedChatModel


class Recorder(BaseChatModel):
    """Answers with one message, or fails, and remembers what it was given."""

    answer: Any = None
    max_tokens: int | None = None
    model_name: str = "recorder-1"
    _seen: list[dict[str, Any]] = PrivateAttr(default_factory=list[dict[str, Any]])
    _binds: list[Any] = PrivateAttr(default_factory=list[Any])

    @property
    def seen(self) -> list[dict[str, Any]]:
        return self._seen

    @property
    def binds(self) -> list[Any]:
        return self._binds

    @property
    def _llm_type(self) -> str:
        return "recorder"

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        self._binds.append(tools)
        return self.bind(tools=tools)

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("only the async path is used")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        metadata = run_manager.metadata if run_manager else {}
        self._seen.append({"messages": messages, "kwargs": kwargs, "metadata": metadata})
        if isinstance(self.answer, Exception):
            raise self.answer
        return ChatResult(generations=[ChatGeneration(message=self.answer)])


def test_harness_and_scripted_model_agree_on_how_the_turn_is_told() -> None:
    assert chat_model.TURN == scripted_model.TURN


async def test_messages_keep_role_calls_and_status() -> None:
    model = Recorder(answer=AIMessage("ok"))
    context = context_of(
        7,
        Message(role="system", text="Rules."),
        Message(role="user", text="Goal."),
        Message(
            role="assistant",
            text="I act.",
            calls=[ToolCall(call_id="c1", name="a", args={"x": 1})],
        ),
        Message(role="tool", text="no", call_id="c1", failed=True),
        tools=["a"],
    )
    await ChatModel(model).respond(context)
    (seen,) = model.seen
    system, user, assistant, result = seen["messages"]
    assert [m.type for m in seen["messages"]] == ["system", "human", "ai", "tool"]
    assert (system.content, user.content) == ("Rules.", "Goal.")
    assert assistant.tool_calls == [
        {"name": "a", "args": {"x": 1}, "id": "c1", "type": "tool_call"}
    ]
    assert isinstance(result, ToolMessage)
    assert (result.tool_call_id, result.status) == ("c1", "error")
    assert seen["metadata"][chat_model.TURN] == 7
    (tool,) = seen["kwargs"]["tools"]
    assert tool["function"]["name"] == "a"
    assert tool["function"]["parameters"] == {"type": "object"}


async def test_tools_are_bound_anew_only_when_they_change() -> None:
    model = Recorder(answer=AIMessage("ok"))
    adapter = ChatModel(model)
    for tools in (["a"], ["a"], ["a", "b"], [], ["a"]):
        await adapter.respond(context_of(1, tools=tools))
    assert [[tool["function"]["name"] for tool in bound] for bound in model.binds] == [
        ["a"],
        ["a", "b"],
        ["a"],
    ]
    assert "tools" not in model.seen[3]["kwargs"]


async def test_blocks_of_text_are_joined_and_others_left_out() -> None:
    blocks: list[str | dict[Any, Any]] = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "t", "name": "n", "input": {}},
        "b",
        {"type": "text", "text": "c"},
    ]
    reply = await ChatModel(Recorder(answer=AIMessage(content=blocks))).respond(context_of(1))
    assert decoded(reply)["text"] == "abc"


async def test_missing_usage_is_estimated_high() -> None:
    text = "ä" * 300
    reply = await ChatModel(Recorder(answer=AIMessage(text))).respond(
        context_of(1, Message(role="user", text=text), tools=["a"])
    )
    assert reply.usage.output_tokens >= 200
    assert reply.usage.input_tokens > 200


async def test_usage_of_zero_is_no_usage() -> None:
    answer = AIMessage(
        "hello", usage_metadata={"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    )
    reply = await ChatModel(Recorder(answer=answer)).respond(context_of(1))
    assert reply.usage.input_tokens > 0


@pytest.mark.parametrize(
    ("metadata", "stop"),
    [
        ({"finish_reason": "STOP"}, "stop"),
        ({"stop_reason": "end_turn"}, "end_turn"),
        ({"done_reason": "length"}, "length"),
        ({}, None),
    ],
)
async def test_stop_reason_is_found_under_each_name(
    metadata: dict[str, Any], stop: str | None
) -> None:
    answer = AIMessage("a", response_metadata=metadata)
    reply = await ChatModel(Recorder(answer=answer)).respond(context_of(1))
    assert decoded(reply)["stop"] == stop


@pytest.mark.parametrize(
    ("metadata", "message_id", "request_id"),
    [
        ({"request_id": "req_1", "id": "x"}, None, "req_1"),
        ({"id": "chatcmpl-1"}, None, "chatcmpl-1"),
        ({}, "msg_1", "msg_1"),
        ({}, None, None),
    ],
)
async def test_providers_request_id_is_kept_and_langchains_own_is_not(
    metadata: dict[str, Any], message_id: str | None, request_id: str | None
) -> None:
    answer = AIMessage("a", response_metadata=metadata, id=message_id)
    reply = await ChatModel(Recorder(answer=answer)).respond(context_of(1))
    assert reply.request_id == request_id


async def test_model_id_is_the_providers_else_the_name() -> None:
    answer = AIMessage("a", response_metadata={"model_name": "gpt-5-2026"})
    adapter = ChatModel(Recorder(answer=answer), name="openai:gpt-5")
    assert (await adapter.respond(context_of(1))).model_id == "gpt-5-2026"
    plain = ChatModel(Recorder(answer=AIMessage("a")), name="mine")
    assert (await plain.respond(context_of(1))).model_id == "mine"


async def test_ids_that_no_store_takes_are_replaced() -> None:
    ids = ["", "a\x00b", "x" * 1000, "with space", "fine-1"]
    answer = AIMessage("", tool_calls=[{"name": "a", "args": {}, "id": one} for one in ids])
    reply = await ChatModel(Recorder(answer=answer)).respond(context_of(4))
    found = [call["call_id"] for call in decoded(reply)["calls"]]
    assert found == ["call_4_1", "call_4_2", "call_4_3", "call_4_4", "fine-1"]


async def test_arguments_that_json_cannot_hold_are_unreadable() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    answer = AIMessage("").model_copy(
        update={
            "tool_calls": [
                {"name": "a", "args": {"x": {1, 2}}, "id": "c1"},
                {"name": "a", "args": deep, "id": "c2"},
                {"name": "a", "args": {"x": float("nan")}, "id": "c3"},
            ]
        }
    )
    answer_model = Recorder()
    answer_model.answer = answer
    reply = await ChatModel(answer_model).respond(context_of(1))
    first, second, third = decoded(reply)["calls"]
    assert first["args"] is None
    assert "TypeError" in first["error"]
    assert second["args"] is None
    assert "RecursionError" in second["error"]
    assert third["args"] is not None


async def test_an_answer_that_is_none_of_an_assistant_is_a_model_error() -> None:
    adapter = ChatModel(Recorder(answer=ChatMessage(content="a", role="critic")))
    with pytest.raises(ModelError, match="answered with no AIMessage"):
        await adapter.respond(context_of(1))


async def test_a_model_without_tools_is_a_lasting_model_error() -> None:
    class Bare(Recorder):
        def bind_tools(self, *args: Any, **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
            raise NotImplementedError

    adapter = ChatModel(Bare(answer=AIMessage("a")))
    assert (await adapter.respond(context_of(1))).raw
    with pytest.raises(ModelError) as caught:
        await adapter.respond(context_of(1, tools=["a"]))
    assert caught.value.code == "tools_unsupported"
    assert not caught.value.retryable


def test_limit_is_the_models_own_where_it_has_one() -> None:
    assert ChatModel(Recorder()).max_output_tokens == 4096
    assert ChatModel(Recorder(max_tokens=512)).max_output_tokens == 512
    assert ChatModel(Recorder(max_tokens=512), max_output_tokens=64).max_output_tokens == 64


def test_name_is_given_or_the_models_own() -> None:
    assert ChatModel(Recorder()).name == "recorder-1"
    assert ChatModel(Recorder(), name="mine").name == "mine"


def scripted(turns: int) -> ChatModel:
    usage = Usage(input_tokens=1, output_tokens=9000)
    script = {"version": 1, "turns": [{"text": "a", "usage": usage.model_dump()}] * turns}
    return ChatModel(ScriptedChatModel(script=Script.model_validate(script)))


def test_scripted_leftovers_reach_the_port_and_other_models_have_none() -> None:
    assert scripted(2).closing_note(2) is None
    assert "turns 2 to 2 are left over" in (scripted(2).closing_note(1) or "")
    assert ChatModel(Recorder()).closing_note(0) is None


def test_scripted_answers_never_exceed_what_is_reserved() -> None:
    assert scripted(1).max_output_tokens == 9000


async def test_exhausted_script_reaches_the_port_as_it_is() -> None:
    with pytest.raises(ModelError) as caught:
        await scripted(1).respond(context_of(2))
    assert caught.value.code == "script_exhausted"


async def test_one_reply_costs_little(capsys: pytest.CaptureFixture[str]) -> None:
    turns = 200
    arguments = {"path": "a.py", "content": "x" * 1000}
    turn: dict[str, Any] = {"calls": [{"name": "a", "args": arguments}], "usage": {}}
    script = Script.model_validate({"version": 1, "turns": [turn] * turns})
    adapter = ChatModel(ScriptedChatModel(script=script))
    contexts: list[CompiledContext] = [
        context_of(n, Message(role="user", text="x" * 1000), tools=["a", "b", "c"])
        for n in range(1, turns + 1)
    ]
    await adapter.respond(contexts[0])
    began = time.perf_counter()
    for context in contexts:
        json.loads((await adapter.respond(context)).raw)
    # Ten times what it takes on an idle machine, so that only a change in kind is caught.
    assert (time.perf_counter() - began) / turns < 0.005
