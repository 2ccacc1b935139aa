"""Every Model adapter keeps the port's promises: over scripts, and over a model not our own."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, InvalidToolCall, ToolCall
from langchain_core.runnables import Runnable

from checkrein.adapters.chat_model import ChatModel
from checkrein.ports.model import Model
from checkrein.testing.conformance.model_suite import CHECKS, MakeModel, Said, SaidCall
from checkrein.testing.scripted_model import ScriptedChatModel


def scripted(folder: Path) -> MakeModel:
    """Models that read what they say from a script file."""
    numbers: Iterator[int] = iter(range(1000))

    async def make(said: Sequence[Said]) -> Model:
        file = folder / f"script{next(numbers)}.yaml"
        turns: list[dict[str, Any]] = [
            {
                "text": one.text,
                "calls": [_written(call) for call in one.calls],
                "usage": one.usage.model_dump(),
                "stop": one.stop,
            }
            for one in said
        ]
        file.write_text(json.dumps({"version": 1, "turns": turns}), encoding="utf-8")
        return ChatModel(ScriptedChatModel.load(file))

    return make


def _written(call: SaidCall) -> dict[str, Any]:
    return {"name": call.name, "args": call.args} | ({"id": call.id} if call.id else {})


class FakeWithTools(GenericFakeChatModel):
    """LangChain's own fake, which cannot be given tools, made to take and ignore them."""

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=tools)


def fake(folder: Path) -> MakeModel:
    """Models that get their messages ready made, as a provider's package makes them."""

    async def make(said: Sequence[Said]) -> Model:
        return ChatModel(FakeWithTools(messages=iter([_message(one) for one in said])))

    return make


def _message(said: Said) -> AIMessage:
    good = [
        ToolCall(type="tool_call", name=call.name, args=call.args, id=call.id)
        for call in said.calls
        if isinstance(call.args, dict)
    ]
    bad = [
        InvalidToolCall(
            type="invalid_tool_call", name=call.name, args=call.args, id=call.id, error=None
        )
        for call in said.calls
        if isinstance(call.args, str)
    ]
    return AIMessage(
        content=said.text,
        tool_calls=good,
        invalid_tool_calls=bad,
        usage_metadata={
            "input_tokens": said.usage.input_tokens,
            "output_tokens": said.usage.output_tokens,
            "total_tokens": said.usage.total,
        },
        response_metadata={"stop_reason": said.stop, "model_name": "fake-1"},
    )


@pytest.mark.shows(45)
@pytest.mark.parametrize("adapter", [scripted, fake])
@pytest.mark.parametrize("check", CHECKS)
async def test_adapter_keeps_the_promises_of_the_port(
    check: str, adapter: Callable[[Path], MakeModel], tmp_path: Path
) -> None:
    await CHECKS[check](adapter(tmp_path))
