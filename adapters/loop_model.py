"""The model of a loop that is not ours, as a Model port: the loop's own call, made once."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.tool import ToolCall as LangChainCall
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.errors import GraphBubbleUp

from checkrein.adapters.chat_model import DEFAULT_MAX_OUTPUT_TOKENS, reply_of
from checkrein.adapters.model_faults import model_error
from checkrein.contracts.codec import visible
from checkrein.contracts.context import CompiledContext, Message, ToolCall, ToolDescription
from checkrein.contracts.proposal import ModelReply, RawReply
from checkrein.errors import InputError, ModelError

Call = Callable[[], Awaitable[object]]
"""The loop's own call of its model; answers with its response, or raises as it would."""


class LoopModel:
    """One model call that a loop offers to make.

    Attributes:
        response: what the call answered, as the loop made it; None where it was not made.
        fault: what it raised at last.
    """

    def __init__(self, name: str, call: Call | None = None, most: int | None = None) -> None:
        """`most`: the most tokens of its reply."""
        self._name = name
        self._call = call
        self._most = most or DEFAULT_MAX_OUTPUT_TOKENS
        self.response: object = None
        self.fault: Exception | None = None

    @property
    def name(self) -> str:
        """How people name it."""
        return self._name

    @property
    def max_output_tokens(self) -> int:
        """The most tokens that the reply may use."""
        return self._most

    async def respond(self, context: CompiledContext) -> ModelReply:
        """Make the loop's call and return its reply unread.

        Raises:
            ModelError: the call failed, or there is none to make.
        """
        if self._call is None:
            raise ModelError("The loop offers no model call.", op="model.respond")
        try:
            self.response = await self._call()
        except (ModelError, GraphBubbleUp):
            raise
        except Exception as error:
            self.fault = error
            raise model_error(error, self._name) from error
        self.fault = None
        return reply_of(said_in(self.response), context, self._name)

    def closing_note(self, turns: int) -> str | None:
        """A loop's model has nothing to say at the end."""
        return None


def said_in(response: object) -> object:
    """The model's own message in what a loop's call answered; the response itself otherwise."""
    inner = getattr(response, "model_response", response)
    for message in getattr(inner, "result", ()):
        if isinstance(message, AIMessage):
            return message
    return response


def heard(messages: Sequence[BaseMessage]) -> list[Message]:
    """What a loop sends its model, in our words."""
    return [_heard(message) for message in messages]


def _heard(message: BaseMessage) -> Message:
    text = visible(message.text)
    if isinstance(message, AIMessage):
        calls = [
            ToolCall(
                call_id=visible(call["id"] or ""), name=visible(call["name"]), args=call["args"]
            )
            for call in message.tool_calls
        ]
        return Message(role="assistant", text=text, calls=calls)
    if isinstance(message, ToolMessage):
        failed = message.status == "error"
        return Message(role="tool", text=text, call_id=message.tool_call_id, failed=failed)
    return Message(role="system" if message.type == "system" else "user", text=text)


def offered(tools: Sequence[BaseTool | dict[str, Any]]) -> list[ToolDescription]:
    """The tools that a loop offers its model, as they are described to it.

    Raises:
        InputError: tool_at_provider, for one that the model's provider runs by itself.
    """
    return [_described(tool) for tool in tools]


def _described(tool: BaseTool | dict[str, Any]) -> ToolDescription:
    if isinstance(tool, dict) and tool.get("type", "function") != "function":
        raise InputError(
            f"The tool {tool.get('name') or tool['type']} is run by the model's provider, where no "
            "policy, approval or ledger reaches it. Take it from the agent's tools.",
            op="loop.tools",
            code="tool_at_provider",
        )
    one = convert_to_openai_tool(tool)["function"]
    return ToolDescription(
        name=one["name"],
        description=one.get("description", ""),
        parameters=one.get("parameters", {}),
    )


def again(reply: RawReply) -> AIMessage:
    """A stored reply as the message that a loop goes on with."""
    calls = [
        LangChainCall(type="tool_call", id=call.call_id, name=call.name, args=call.args or {})
        for call in reply.calls
    ]
    return AIMessage(content=reply.text, tool_calls=calls)
