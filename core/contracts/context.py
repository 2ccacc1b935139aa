"""What the model is shown, and the manifest that explains it afterwards."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.codec import Frozen


class Trust(StrEnum):
    """How far a text may be believed. Outside text is data; it never becomes an instruction."""

    PLATFORM = "platform"
    USER = "user"
    WORKSPACE = "workspace"
    TOOL = "tool"
    EXTERNAL = "external"


TRUST_ORDER = (Trust.EXTERNAL, Trust.TOOL, Trust.WORKSPACE, Trust.USER, Trust.PLATFORM)
"""From least to most trusted."""


class ToolDescription(Frozen):
    """One tool as the model sees it. `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(Frozen):
    """One call that the model made, as it is shown to it again."""

    call_id: str
    name: str
    args: dict[str, Any]


class Message(Frozen):
    """One message of the compiled context."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: list[ToolCall] = Field(default_factory=list[ToolCall])
    call_id: str | None = None
    failed: bool = False


class Source(Frozen):
    """One thing that is in the context. Tokens are an estimate (see ContextManifest)."""

    type: str
    id: str
    version: str = ""
    tokens: int
    transform: str = "verbatim"
    trust: Trust


class Omitted(Frozen):
    """One thing that was left out, and why."""

    type: str
    id: str
    reason: str


class ContextManifest(Frozen):
    """What one model call was made of.

    Attributes:
        total_tokens: estimate, at three bytes of UTF-8 a token, which errs on the safe side.
        budget_tokens: the most that the compiler was allowed to fill.
        sent: digest of the messages and tools that were sent.
    """

    schema_version: Literal[1] = 1
    turn: int
    policy_version: str
    sources: list[Source]
    omitted: list[Omitted]
    total_tokens: int
    budget_tokens: int
    sent: str


class CompiledContext(Frozen):
    """The messages and tools of one model call, with their manifest."""

    turn: int
    messages: list[Message]
    tools: list[ToolDescription]
    manifest: ContextManifest
    lowest_trust: Trust
