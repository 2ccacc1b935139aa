"""Any LangChain chat model as a Model port: context in, raw reply out, unread."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.tool import ToolCall as LangChainCall
from langchain_core.runnables import Runnable, RunnableConfig

from checkrein.adapters.model_faults import model_error
from checkrein.contracts.context import CompiledContext, Message, ToolDescription
from checkrein.contracts.proposal import ModelReply, Usage
from checkrein.errors import ModelError

TURN = "checkrein_turn"
"""Key of the call's metadata that tells a scripted model its turn; it counts from 1."""

DEFAULT_MAX_OUTPUT_TOKENS = 4096
"""Most tokens of one reply, where the LangChain model does not say."""

_BYTES_PER_TOKEN = 3
_LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens")
_STOPS = ("finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason")
_REQUEST_IDS = ("request_id", "x-request-id", "id")
_GOOD_ID = re.compile(r"[\x21-\x7e]{1,256}")


@runtime_checkable
class _Closing(Protocol):
    """A LangChain model that has something to say once an attempt has ended."""

    def closing_note(self, turns: int) -> str | None: ...


class ChatModel:
    """A Model over one LangChain chat model. It may serve several attempts at once."""

    def __init__(
        self, llm: BaseChatModel, *, name: str | None = None, max_output_tokens: int | None = None
    ) -> None:
        """Wrap a chat model.

        Args:
            name: how people name it; by default the model's own name.
            max_output_tokens: the most tokens of one reply; by default the model's own limit,
                else DEFAULT_MAX_OUTPUT_TOKENS.
        """
        self._llm = llm
        self._name = name or _own_name(llm)
        self._max_output_tokens = max_output_tokens or _own_limit(llm)
        self._tools: list[ToolDescription] = []
        self._runnable: Runnable[LanguageModelInput, Any] = llm
        self._last: dict[int, tuple[Message, BaseMessage]] = {}

    @property
    def name(self) -> str:
        """How people name it, for example `scripted:decisions.yaml` or `openai:gpt-5`."""
        return self._name

    @property
    def max_output_tokens(self) -> int:
        """The most tokens that one reply may use."""
        return self._max_output_tokens

    async def respond(self, context: CompiledContext) -> ModelReply:
        """Call the model once and return its reply unread.

        Raises:
            ModelError: retryable for a connection fault, a time-out, a rate limit or a 5xx.
        """
        messages = self._converted(context.messages)
        config: RunnableConfig = {"metadata": {TURN: context.turn}}
        try:
            answer = await self._with_tools(context.tools).ainvoke(messages, config)
        except ModelError:
            raise
        except Exception as error:
            raise model_error(error, self._name) from error
        return reply_of(answer, context, self._name)

    def closing_note(self, turns: int) -> str | None:
        """Return the model's warning once the attempt ended after `turns` turns, or None."""
        return self._llm.closing_note(turns) if isinstance(self._llm, _Closing) else None

    def _converted(self, messages: list[Message]) -> list[BaseMessage]:
        """LangChain's form; a message of the last call that is sent again is not made anew."""
        # By identity, which is safe while the message itself is kept beside what was made of it.
        now = {
            id(message): self._last.get(id(message)) or (message, _message(message))
            for message in messages
        }
        self._last = now
        return [now[id(message)][1] for message in messages]

    def _with_tools(self, tools: list[ToolDescription]) -> Runnable[LanguageModelInput, Any]:
        """The model with these tools, bound anew only when they differ from the last call's."""
        if tools != self._tools:
            runnable: Runnable[LanguageModelInput, Any] = self._llm
            try:
                if tools:
                    runnable = self._llm.bind_tools([_tool(tool) for tool in tools])
            except NotImplementedError as error:
                raise ModelError(
                    f"The model {self._name} cannot be given tools. Choose one that can.",
                    op="model.respond",
                    code="tools_unsupported",
                ) from error
            self._runnable, self._tools = runnable, tools
        return self._runnable


def reply_of(answer: object, context: CompiledContext, name: str) -> ModelReply:
    """What a LangChain model answered to this context, unread.

    Raises:
        ModelError: model_failed for anything but an AIMessage.
    """
    if not isinstance(answer, AIMessage):
        raise ModelError(
            f"The model {name} answered with no AIMessage: {type(answer).__name__}.",
            op="model.respond",
            code="model_failed",
        )
    raw = _raw(answer, context.turn)
    return ModelReply(
        raw=raw,
        usage=_usage(answer) or _estimate(context, raw),
        model_id=_model_id(answer) or name,
        request_id=_request_id(answer),
    )


def _message(message: Message) -> BaseMessage:
    if message.role == "system":
        return SystemMessage(content=message.text)
    if message.role == "user":
        return HumanMessage(content=message.text)
    if message.role == "assistant":
        calls = [
            LangChainCall(type="tool_call", name=call.name, args=call.args, id=call.call_id)
            for call in message.calls
        ]
        return AIMessage(content=message.text, tool_calls=calls)
    return ToolMessage(
        content=message.text,
        tool_call_id=message.call_id or "",
        status="error" if message.failed else "success",
    )


def _tool(tool: ToolDescription) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    }


def _raw(answer: AIMessage, turn: int) -> bytes:
    """The reply as ASCII JSON of a RawReply; NUL and lone surrogates become escapes.

    Written by hand, since the contract's own text would refuse what must survive here.
    """
    calls: list[dict[str, Any]] = []
    for call in answer.tool_calls:
        args, error = _args(call["args"])
        calls.append(_written(call.get("id"), call["name"], args, error))
    for bad in answer.invalid_tool_calls:
        error = bad["error"] or "The arguments are no valid JSON object."
        calls.append(_written(bad["id"], bad["name"], None, error))
    _name_calls(calls, turn)
    reply = {"text": _text(answer.content), "calls": calls, "stop": _stop(answer)}
    return json.dumps(reply, separators=(",", ":")).encode("ascii")


def _written(
    call_id: str | None, name: str | None, args: dict[str, Any] | None, error: str | None
) -> dict[str, Any]:
    return {"call_id": call_id, "name": name or "", "args": args, "error": error}


def _args(args: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """The arguments if JSON can hold them, else None and the reason."""
    try:
        json.dumps(args)
    except (TypeError, ValueError, RecursionError) as error:
        return None, f"The arguments cannot be written as JSON: {type(error).__name__}."
    return args, None


def _name_calls(calls: Iterable[dict[str, Any]], turn: int) -> None:
    """Give every call an id of its own, keeping the provider's where it is usable."""
    taken: set[str] = set()
    for n, call in enumerate(calls, start=1):
        given = call["call_id"]
        base = given if given and _GOOD_ID.fullmatch(given) else f"call_{turn}_{n}"
        unique, again = base, 2
        while unique in taken:
            unique, again = f"{base}_{again}", again + 1
        taken.add(unique)
        call["call_id"] = unique


def _text(content: str | Sequence[str | dict[str, Any]]) -> str:
    """The text of a message: text blocks joined, all others left out."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif block.get("type") == "text" and isinstance(block.get("text"), str):
            parts.append(block["text"])
    return "".join(parts)


def _stop(answer: AIMessage) -> str | None:
    for key in _STOPS:
        reason = answer.response_metadata.get(key)
        if reason:
            # Some providers give an enum, whose name is the reason.
            return str(getattr(reason, "name", reason)).lower()
    return None


def _usage(answer: AIMessage) -> Usage | None:
    usage = answer.usage_metadata
    if not usage or usage["input_tokens"] + usage["output_tokens"] <= 0:
        return None
    return Usage(
        input_tokens=max(0, usage["input_tokens"]), output_tokens=max(0, usage["output_tokens"])
    )


def _estimate(context: CompiledContext, raw: bytes) -> Usage:
    """Tokens at three bytes each, which errs high."""
    sent = sum(
        len(message.text.encode("utf-8", "surrogatepass"))
        + sum(len(call.name) + len(json.dumps(call.args)) for call in message.calls)
        for message in context.messages
    )
    sent += sum(len(json.dumps(_tool(tool))) for tool in context.tools)
    return Usage(input_tokens=_tokens(sent), output_tokens=_tokens(len(raw)))


def _tokens(size: int) -> int:
    return -(-size // _BYTES_PER_TOKEN)


def _model_id(answer: AIMessage) -> str | None:
    metadata = answer.response_metadata
    return str(metadata.get("model_name") or metadata.get("model") or "") or None


def _request_id(answer: AIMessage) -> str | None:
    for key in _REQUEST_IDS:
        value = answer.response_metadata.get(key)
        if isinstance(value, str) and value:
            return value
    # LangChain makes up an id of its own where the provider gave none.
    own = answer.id is None or answer.id.startswith(("run-", "lc_"))
    return None if own else answer.id


def _own_name(llm: BaseChatModel) -> str:
    for key in ("model_name", "model"):
        value = getattr(llm, key, None)
        if isinstance(value, str) and value:
            return value
    return type(llm).__name__


def _own_limit(llm: BaseChatModel) -> int:
    for key in _LIMITS:
        value = getattr(llm, key, None)
        if isinstance(value, int) and value > 0:
            return value
    return DEFAULT_MAX_OUTPUT_TOKENS
