"""From a raw reply to proposals: pure, deterministic, and never surprised by what a model wrote."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from checkrein.contracts.codec import MAX_DEPTH, visible
from checkrein.contracts.proposal import (
    ASK_USER,
    CandidateProposal,
    NothingProposal,
    Proposal,
    QuestionProposal,
    RawCall,
    RawReply,
    ToolProposal,
    UnusableProposal,
)
from checkrein.nodes.arguments import (
    MAX_ARGS_BYTES,
    ArgumentFault,
    nearest_names,
    usable_arguments,
)
from checkrein.ports.capability import CapabilitySpec

MAX_CALLS = 32
"""Most calls of one turn that are handled; those beyond are unusable."""

MAX_TEXT = 16_384
"""Most characters of a candidate's summary; the whole text stays in the raw output."""

ASK_USER_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string", "minLength": 1, "maxLength": 4000}},
    "required": ["question"],
    "additionalProperties": False,
}
"""JSON Schema of the control tool's arguments."""

_MAX_NAME = 128
_MAX_ID = 256
_MAX_ADVICE = 1_000
_ODD = re.compile("[\x00\ud800-\udfff]")
_CUT_SHORT = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "incomplete",
        "content_filter",
        "content_filtered",
        "safety",
        "recitation",
        "refusal",
        "guardrail_intervened",
        "error",
    }
)
"""Finish reasons after which a text is no answer."""


def read_proposals(raw: bytes, catalogue: Mapping[str, CapabilitySpec]) -> list[Proposal]:
    """Read what a model turn amounts to.

    Every call becomes exactly one proposal, in the model's order; `position` counts calls from 0.
    A turn without calls becomes one candidate or one nothing. A proposal says what the model
    wants, never that it may.

    Args:
        raw: ModelReply.raw.
        catalogue: the capabilities that this turn's model was shown, by name. A model may call
            them by name or by tool_name.
    """
    reply = _parsed(raw)
    if reply is None:
        return [NothingProposal(why="unreadable_reply")]
    calls = _calls(reply)
    if not calls:
        return [_without_calls(reply)]
    tools = _tools(catalogue)
    return [_proposal(call, len(calls), tools, len(raw)) for call in calls]


def read_reply(raw: bytes) -> RawReply:
    """Read a raw reply for showing it again: NUL and lone surrogates are written as escapes.

    Positions and call ids are those of read_proposals. An unreadable reply is an empty one.
    """
    reply = _parsed(raw) or {}
    stop = reply.get("stop")
    return RawReply(
        text=_storable(_text(reply)),
        calls=[
            RawCall(
                call_id=call.call_id,
                name=call.name,
                args=None if call.args is None else _shown_again(call.args),
                error=call.error,
            )
            for call in _calls(reply)
        ],
        stop=_bounded(stop, _MAX_NAME) if isinstance(stop, str) else None,
    )


@dataclass(frozen=True, slots=True)
class _Call:
    """One call as written; everything but `args` is text that any store can hold."""

    position: int
    call_id: str
    name: str
    args: dict[str, Any] | None
    error: str | None

    def unusable(self, error_type: str, advice: str) -> UnusableProposal:
        return UnusableProposal(
            position=self.position,
            call_id=self.call_id,
            name=self.name,
            error_type=error_type,
            advice=_bounded(advice, _MAX_ADVICE),
        )


def _parsed(raw: bytes) -> dict[str, Any] | None:
    try:
        reply: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, Any], reply) if isinstance(reply, dict) else None


def _calls(reply: dict[str, Any]) -> list[_Call]:
    calls: Any = reply.get("calls")
    if not isinstance(calls, list):
        return []
    return [_call(call, n) for n, call in enumerate(cast(list[object], calls))]


def _call(call: Any, position: int) -> _Call:
    fields = cast(dict[str, Any], call) if isinstance(call, dict) else {}
    name, call_id, args, error = (fields.get(key) for key in ("name", "call_id", "args", "error"))
    return _Call(
        position=position,
        call_id=_bounded(call_id, _MAX_ID) if isinstance(call_id, str) else f"call_{position}",
        name=_bounded(name, _MAX_NAME) if isinstance(name, str) else "",
        args=cast(dict[str, Any], args) if isinstance(args, dict) else None,
        error=_bounded(error, _MAX_ADVICE) if isinstance(error, str) else None,
    )


def _without_calls(reply: dict[str, Any]) -> Proposal:
    stop = reply.get("stop")
    if isinstance(stop, str) and stop.lower() in _CUT_SHORT:
        return NothingProposal(why=f"cut_short:{stop.lower()}")
    text = _text(reply)
    if not text.strip():
        return NothingProposal(why="empty_reply")
    return CandidateProposal(summary=_bounded(text, MAX_TEXT))


def _text(reply: dict[str, Any]) -> str:
    text = reply.get("text")
    return text if isinstance(text, str) else ""


def _tools(catalogue: Mapping[str, CapabilitySpec]) -> dict[str, CapabilitySpec]:
    """Capabilities by every name that a model may use; an ambiguous tool name means none."""
    tools: dict[str, CapabilitySpec] = {}
    ambiguous: set[str] = set()
    for spec in catalogue.values():
        if tools.setdefault(spec.tool_name, spec) is not spec:
            ambiguous.add(spec.tool_name)
    for name in ambiguous:
        del tools[name]
    return tools | {spec.name: spec for spec in catalogue.values()}


def _proposal(
    call: _Call, calls: int, tools: Mapping[str, CapabilitySpec], raw_bytes: int
) -> Proposal:
    if call.position >= MAX_CALLS:
        return call.unusable(
            "too_many_calls",
            f"Only the first {MAX_CALLS} calls of a turn are handled. Make this one later.",
        )
    if call.name == ASK_USER:
        return _question(call, calls, raw_bytes)
    spec = tools.get(call.name)
    if spec is None:
        return call.unusable("unknown_tool", _unknown_tool(call.name, tools))
    args, fault = _arguments(call, spec.parameters, raw_bytes)
    if fault is not None:
        return call.unusable(fault.error_type, fault.advice)
    return ToolProposal(
        position=call.position, call_id=call.call_id, capability=spec.name, args=args
    )


def _question(call: _Call, calls: int, raw_bytes: int) -> Proposal:
    if calls > 1:
        return call.unusable(
            "question_not_alone",
            f"{ASK_USER} must be the only call of its turn. Ask alone, then go on with the answer.",
        )
    args, fault = _arguments(call, ASK_USER_PARAMETERS, raw_bytes)
    if fault is not None:
        return call.unusable(fault.error_type, fault.advice)
    question: str = args["question"].strip()
    if not question:
        return call.unusable("invalid_arguments", "The question is empty. Write what to ask.")
    return QuestionProposal(call_id=call.call_id, question=question)


def _arguments(
    call: _Call, schema: dict[str, Any], raw_bytes: int
) -> tuple[dict[str, Any], ArgumentFault | None]:
    """The arguments made clean, or why they cannot be used."""
    if call.args is None:
        why = call.error or "The arguments are no JSON object."
        advice = f"{why} Send the arguments as one JSON object."
        return {}, ArgumentFault("invalid_json", advice)
    # Only a reply that is larger than the limit can hold arguments that are.
    return usable_arguments(call.args, schema, measure=raw_bytes > MAX_ARGS_BYTES)


def _unknown_tool(name: str, tools: Mapping[str, CapabilitySpec]) -> str:
    known = sorted({spec.tool_name for spec in tools.values()})
    near = nearest_names(name, [*tools, ASK_USER])
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Known tools: {', '.join(known)}."
    return f"There is no tool named {name!r}. {hint}"


def _shown_again(value: Any, depth: int = 0) -> Any:
    """A JSON value with every text in it made storable; what lies too deep is left out."""
    if depth > MAX_DEPTH:
        return "..."
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, list):
        return [_shown_again(item, depth + 1) for item in cast(list[object], value)]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {_storable(key): _shown_again(item, depth + 1) for key, item in fields.items()}
    return value


def _storable(text: str) -> str:
    """Text that any store can hold; looked at first, since nearly all text is fine as it is."""
    return visible(text) if _ODD.search(text) else text


def _bounded(text: str, most: int) -> str:
    if len(text) <= most:
        return _storable(text)
    return f"{_storable(text[:most])} ... ({len(text) - most} more characters)"
