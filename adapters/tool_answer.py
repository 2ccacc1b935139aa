"""What a LangChain tool answered, as plain data: content, messages and commands alike."""

import hashlib
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langgraph.types import Command

from checkrein.contracts.folding import folded_text

MAX_SAID = 1_000
"""Most characters of what a tool says of its own failure."""

_NOT_APPLIED = "a tool changes no state and routes nothing here; only its messages are kept"
_HELD = ("data", "base64", "blob")


class ToolSaidError(Exception):
    """A tool answered that it failed, in words that it means for the model."""


def answer_of(answer: object) -> object:
    """The content of a tool's answer.

    Raises:
        ToolSaidError: the answer is that it failed.
    """
    if isinstance(answer, ToolMessage):
        content: Any = answer.content
        if answer.status == "error":
            raise ToolSaidError(folded_text(_text(content), MAX_SAID))
        return _content(content)
    if isinstance(answer, Command):
        return _command(cast("Command[Any]", answer))  # type: ignore[redundant-cast] # pyright sees Command[Unknown]
    if isinstance(answer, list):
        items = cast("list[object]", answer)
        if any(isinstance(item, ToolMessage | Command) for item in items):
            return {"parts": [answer_of(item) for item in items]}
        return _content(items) if items and all(map(_is_block, items)) else items
    return answer


def _command(command: Command[Any]) -> dict[str, Any]:
    """The messages of a command; what else it asks for is named and not done."""
    update: Any = command.update
    fields = dict(cast("dict[str, Any]", update)) if isinstance(update, dict) else {}
    messages: object = fields.pop("messages", [])
    listed = cast("Sequence[object]", messages if isinstance(messages, list) else [messages])
    told = [answer_of(message) for message in listed if isinstance(message, ToolMessage)]
    ignored = sorted(f"update {name}" for name in fields)
    ignored += [word for word in ("goto", "resume", "graph") if getattr(command, word)]
    if update is not None and not isinstance(update, dict):
        ignored.append("update")
    result: dict[str, Any] = {"parts": told}
    return result | ({"ignored": ignored, "note": _NOT_APPLIED} if ignored else {})


def _content(content: str | Sequence[object]) -> object:
    """A message's content: one text where it is only text, else its blocks."""
    if isinstance(content, str):
        return content
    blocks = [_block(item) for item in content]
    texts = [block for block in blocks if isinstance(block, str)]
    return "\n".join(texts) if len(texts) == len(blocks) else {"content": blocks}


def _block(item: object) -> object:
    if not isinstance(item, dict):
        return item
    block = cast("dict[str, Any]", item)
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return block["text"]
    return held_out(block)


def held_out(block: dict[str, Any]) -> dict[str, Any]:
    """A block without its bytes, which no model reads as text: their size and digest instead."""
    shown: dict[str, Any] = {}
    for key, value in block.items():
        if isinstance(value, dict):
            shown[key] = held_out(cast("dict[str, Any]", value))
        elif isinstance(value, str) and (key in _HELD or value.startswith("data:")):
            digest = hashlib.sha256(value.encode("utf-8", "backslashreplace")).hexdigest()
            shown[key] = {"left_out": len(value), "sha256": digest}
        else:
            shown[key] = value
    return shown


def _is_block(item: object) -> bool:
    return isinstance(item, dict) and isinstance(cast("dict[str, Any]", item).get("type"), str)


def _text(content: str | Sequence[object]) -> str:
    shown = _content(content)
    return shown if isinstance(shown, str) else str(shown)
