"""A chat model that says what a test wrote down, for loops that are not ours."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from checkrein.ports.capability import Capability


class Talking(BaseChatModel):
    """Answers with its lines, one each call, and remembers what it was sent."""

    lines: list[AIMessage]
    heard: list[list[BaseMessage]] = Field(default_factory=list[list[BaseMessage]])

    @property
    def _llm_type(self) -> str:
        return "talking"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """It says what it says whatever it is offered."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.heard.append(messages)
        line = self.lines[len(self.heard) - 1].model_copy()
        return ChatResult(generations=[ChatGeneration(message=line)])


class Script(Talking):
    """Answers by how often a model has spoken in the thread, in whatever process."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=self.lines[spoken])])


def calling(*calls: tuple[str, dict[str, Any]], text: str = "", first: int = 1) -> AIMessage:
    """A message that calls tools; ids count from `first`."""
    return AIMessage(
        content=text,
        tool_calls=[
            {"type": "tool_call", "id": f"c{n}", "name": name, "args": args}
            for n, (name, args) in enumerate(calls, start=first)
        ],
    )


def tool_for(capability: Capability, ran: list[str]) -> BaseTool:
    """The tool as an agent has it; it notes that it ran, which it must not under the harness."""
    spec = capability.spec

    async def run(**kwargs: Any) -> str:
        ran.append(spec.tool_name)
        return "ran outside of the harness"

    return StructuredTool(
        name=spec.tool_name,
        description=spec.description,
        args_schema=spec.parameters,
        coroutine=run,
    )
