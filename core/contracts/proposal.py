"""What a model turn amounts to: tool actions, a question, a candidate, or nothing."""

from typing import Any, Literal

from pydantic import Field

from checkrein.contracts.codec import Frozen

ASK_USER = "ask_user"
"""The control tool by which a model asks the person. It is no capability and has no effect."""


class Usage(Frozen):
    """Tokens that the provider reported for one call."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)

    @property
    def total(self) -> int:
        """Tokens in and out."""
        return self.input_tokens + self.output_tokens


class ModelReply(Frozen):
    """One model turn, as stored before anything is read from it.

    Attributes:
        raw: JSON bytes of RawReply, pure ASCII, so that NUL and lone surrogates survive.
        request_id: the provider's id of the call, where it gave one.
    """

    raw: bytes
    usage: Usage
    model_id: str
    request_id: str | None = None


class RawCall(Frozen):
    """A tool call as the model wrote it. `args` is None where its JSON could not be read."""

    call_id: str
    name: str
    args: dict[str, Any] | None
    error: str | None = None


class RawReply(Frozen):
    """The content of ModelReply.raw. `stop` is the provider's finish reason, lower-case."""

    text: str
    calls: list[RawCall] = Field(default_factory=list[RawCall])
    stop: str | None = None


class ToolProposal(Frozen):
    """The model wants a capability to run. It is valid against its schema, and no more."""

    kind: Literal["tool"] = "tool"
    position: int
    call_id: str
    capability: str
    args: dict[str, Any]


class UnusableProposal(Frozen):
    """A call that no action can be made of; `advice` tells the model how to mend it."""

    kind: Literal["unusable"] = "unusable"
    position: int
    call_id: str
    name: str
    error_type: str
    advice: str


class QuestionProposal(Frozen):
    """The model asks the person something."""

    kind: Literal["question"] = "question"
    call_id: str
    question: str


class CandidateProposal(Frozen):
    """The model claims to be done. That is a claim; evidence decides."""

    kind: Literal["candidate"] = "candidate"
    summary: str


class NothingProposal(Frozen):
    """The model stopped without an action, a question or a candidate."""

    kind: Literal["nothing"] = "nothing"
    why: str


Proposal = ToolProposal | UnusableProposal | QuestionProposal | CandidateProposal | NothingProposal
