"""A chat model that answers from a script: strict, deterministic, and told its turn.

    version: 1
    calls_log: calls.log              # optional: one line "turn N" for each call, fsynced
    turns:
      - text: I read the file first.
        calls: [{name: workspace.read, args: {path: pricing.py}}]
        usage: {input_tokens: 900, output_tokens: 40}
      - text: Done.
        usage: {input_tokens: 1100, output_tokens: 10}

A turn may also hold `delay_s` (seconds that the answer takes) and `stop` (the finish reason).
`args` given as text is what a model wrote instead of an object; where it is no JSON object, the
call is an invalid one, as providers report it.
"""

import asyncio
import copy
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from langchain_core.caches import BaseCache
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr, WithJsonSchema, field_validator

from checkrein.contracts.codec import Frozen
from checkrein.contracts.proposal import Usage
from checkrein.errors import ModelError
from checkrein.schema_faults import check_model
from checkrein.strict_yaml import read_yaml

TURN = "checkrein_turn"
"""Key of a run's metadata under which the harness tells the turn; it counts from 1."""

MAX_SCRIPT_BYTES = 32 * 1024 * 1024
"""The largest script that is read: 32 MiB."""

_LEAST_MAX_TOKENS = 4096


class ScriptedCall(Frozen):
    """One tool call of a turn. `args` is an object, or the raw text written instead of one."""

    name: str = Field(min_length=1)
    args: Annotated[Any, WithJsonSchema({"type": ["object", "string"]})]
    id: str | None = None

    @field_validator("args")
    @classmethod
    def _object_or_text(cls, args: object) -> object:
        if isinstance(args, dict | str):
            return cast(object, args)
        raise ValueError("must be a mapping of arguments, or raw text")


class ScriptedTurn(Frozen):
    """One answer. `delay_s` is in seconds; `stop` is the finish reason, for example length."""

    text: Annotated[Any, WithJsonSchema({"type": "string"})] = ""
    calls: list[ScriptedCall] = Field(default_factory=list[ScriptedCall])
    usage: Usage
    delay_s: float = Field(0, ge=0, le=3600)
    stop: str | None = None

    @field_validator("text")
    @classmethod
    def _text(cls, text: Any) -> Any:
        # Any text passes, lone surrogates too, which pydantic's own str may refuse.
        if not isinstance(text, str):
            raise ValueError("must be text; put it in quotes")
        return text


class Script(Frozen):
    """All turns of a scripted model."""

    version: Literal[1]
    calls_log: str | None = Field(None, min_length=1)
    turns: list[ScriptedTurn] = Field(min_length=1)


class ScriptedChatModel(BaseChatModel):
    """A LangChain chat model that gives turn N of its script when it is asked for turn N.

    The harness tells the turn in the run's metadata (key TURN); messages are never counted.
    Without that metadata, outside of Checkrein, the model counts its own calls. It ignores the
    messages, and tools that are bound to it change nothing.

    Attributes:
        script: what it answers.
        calls_log: file to which each call appends "turn N", so that calls can be counted across
            processes; it is written before the answer is given.
        source: how people name the script.
    """

    script: Script = Field(repr=False)
    calls_log: Path | None = None
    source: str = "script"
    # A cached answer would be a call that nobody counts.
    cache: BaseCache | bool | None = Field(default=False, exclude=True)

    _own_turns: Iterator[int] = PrivateAttr(default_factory=lambda: itertools.count(1))

    @classmethod
    def load(cls, path: Path) -> "ScriptedChatModel":
        """Load a script file; `calls_log` in it is relative to its folder.

        Raises:
            InputError: the file or what stands in it cannot be used, with line and field.
        """
        document = read_yaml(path, what="script", op="script.load", max_bytes=MAX_SCRIPT_BYTES)
        script = check_model(document, Script)
        log = Path(os.path.abspath(path.parent / script.calls_log)) if script.calls_log else None
        return cls(script=script, calls_log=log, source=str(path))

    @cached_property
    def max_tokens(self) -> int:
        """The most tokens that one answer uses. LangChain asks for it on each call."""
        return max(_LEAST_MAX_TOKENS, *(turn.usage.output_tokens for turn in self.script.turns))

    @property
    def _llm_type(self) -> str:
        return "checkrein-scripted"

    def closing_note(self, turns: int) -> str | None:
        """Return a warning if the script goes on after `turns` turns, else None."""
        scripted = len(self.script.turns)
        if turns >= scripted:
            return None
        return (
            f"{self.source} has {scripted} turns and only {turns} were asked for; "
            f"turns {turns + 1} to {scripted} are left over."
        )

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with the tools bound. They are shown to tracers and change nothing."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        number = self._turn(run_manager.metadata if run_manager else {})
        if self.calls_log is not None:
            _append(self.calls_log, f"turn {number}\n")
        turn = self._scripted(number)
        if turn.delay_s:
            time.sleep(turn.delay_s)
        return _result(turn, number, self.source)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        number = self._turn(run_manager.metadata if run_manager else {})
        if self.calls_log is not None:
            await asyncio.to_thread(_append, self.calls_log, f"turn {number}\n")
        turn = self._scripted(number)
        if turn.delay_s:
            await asyncio.sleep(turn.delay_s)
        return _result(turn, number, self.source)

    def _turn(self, metadata: Mapping[str, Any]) -> int:
        told = metadata.get(TURN)
        return told if isinstance(told, int) else next(self._own_turns)

    def _scripted(self, number: int) -> ScriptedTurn:
        turns = self.script.turns
        if 1 <= number <= len(turns):
            return turns[number - 1]
        raise ModelError(
            f"{self.source} has {len(turns)} turns, and turn {number} was asked for. "
            "Add the missing turn to the script.",
            op="model.respond",
            code="script_exhausted",
            context={"turns": len(turns), "turn": number},
        )


def _result(turn: ScriptedTurn, number: int, source: str) -> ChatResult:
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for n, call in enumerate(turn.calls, start=1):
        call_id = call.id or f"call_{number}_{n}"
        args, error = _arguments(call.args)
        if args is None:
            invalid.append(
                InvalidToolCall(
                    type="invalid_tool_call",
                    name=call.name,
                    args=call.args,
                    id=call_id,
                    error=error,
                )
            )
        else:
            calls.append(ToolCall(type="tool_call", name=call.name, args=args, id=call_id))
    stop = turn.stop or ("tool_calls" if turn.calls else "stop")
    usage = turn.usage
    message = AIMessage(
        content=turn.text,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        usage_metadata={
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total,
        },
        response_metadata={"finish_reason": stop, "model_name": source},
    )
    return ChatResult(generations=[ChatGeneration(message=message)])


def _arguments(args: Any) -> tuple[dict[str, Any] | None, str | None]:
    """The arguments as an object of their own, or None and why they are none."""
    value: Any
    try:
        # The caller may change what it gets; the script stays as it is.
        value = json.loads(args) if isinstance(args, str) else copy.deepcopy(args)
    except (ValueError, RecursionError) as error:
        return None, f"The arguments are no valid JSON: {error}"
    if not isinstance(value, dict):
        return None, "The arguments are no JSON object."
    return cast(dict[str, Any], value), None


def _append(log: Path, line: str) -> None:
    """Append one line durably; a single write with O_APPEND, so that processes do not mix."""
    try:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, line.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise ModelError(
            f"calls_log {log} cannot be written: {error.strerror}. Check its folder and rights.",
            op="model.respond",
            code="calls_log_unwritable",
            context={"file": str(log)},
        ) from error
