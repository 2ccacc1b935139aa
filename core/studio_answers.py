"""What people's programs send as an answer, read into what a person said. Pure."""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from checkrein.contracts.approval import MAX_SAID, Answer, ApprovalRequest, Said
from checkrein.contracts.folding import unfolded
from checkrein.errors import ConflictError, InputError

_OP = "studio.answer"
_INTERRUPT_ID = re.compile(r"^[0-9a-f]{32}$")
_APPROVE = frozenset({"approve", "accept"})
_REJECT = frozenset({"reject", "ignore", "response"})


def addressed(resume: Any, pending: str) -> Any:
    """The answer itself, where it came as a map from interrupt id to answer.

    Raises:
        ConflictError: it answers another interrupt than the one that is pending.
        InputError: it answers several at once.
    """
    given = cast("dict[str, Any]", resume) if isinstance(resume, dict) else {}
    if not given or not all(_INTERRUPT_ID.match(str(key)) for key in given):
        return cast("Any", resume)
    if len(given) > 1:
        _refuse("Answer one interrupt at a time: the graph pauses for one undecided action.")
    if pending not in given:
        raise ConflictError(
            f"The interrupt {next(iter(given))} is not pending any more; {pending} is. "
            "Look at what is asked now, and answer that.",
            op=_OP,
            code="other_interrupt",
        )
    return given[pending]


def decision(value: Any, request: ApprovalRequest) -> Said:
    """Read `{"decisions": [D]}`, `[D]` or `D`; D is a HITL decision or an Agent Inbox answer.

    Agent Inbox sends every argument of an edit as text: those that the capability's schema wants
    otherwise are read as JSON. Its `response` is a no with a reason, never the tool's result.

    Raises:
        InputError: none of these, or nothing that may be said here.
    """
    given = _one(value)
    kind = str(given.get("type"))
    if kind in _APPROVE:
        _check_same(given, request)
        return Said(answer=Answer.APPROVE)
    if kind in _REJECT:
        return Said(answer=Answer.REJECT, reason=_reason(given))
    if kind == "edit":
        return Said(answer=Answer.EDIT, args=_edited(given, request))
    if kind != "respond":
        _refuse(f"A decision of the type {kind[:40]} is not on offer.")
    message = _reason(given)
    if not message.strip():
        _refuse("A respond needs the message that is the result.")
    return Said(answer=Answer.RESPOND, reason=message)


def _one(value: Any) -> dict[str, Any]:
    """The one decision that is meant."""
    if isinstance(value, dict) and "decisions" in value:
        value = cast("dict[str, Any]", value)["decisions"]
    if isinstance(value, list):
        listed = cast("Sequence[Any]", value)
        if len(listed) != 1:
            _refuse(f"There are {len(listed)} decisions; the graph asks for exactly one.")
        value = listed[0]
    if not isinstance(value, dict):
        _refuse("An approval is answered by a decision with a type.")
    return cast("dict[str, Any]", value)


def _check_same(given: dict[str, Any], request: ApprovalRequest) -> None:
    """A yes that names what it is for means that, or it is no yes: nobody's words are dropped."""
    said = given.get("edited_action", given.get("args"))
    if not isinstance(said, dict):
        return
    action = cast("dict[str, Any]", said)
    name, args = action.get("name", action.get("action")), action.get("args")
    same = name is None or _is_named(name, request)
    if same and isinstance(args, dict):
        typed = _typed(cast("dict[str, Any]", args), request)
        same = unfolded(typed, request.args) == request.args
    if not same:
        _refuse("This says yes to something else than what is asked about. To change it, edit it.")


def _is_named(name: Any, request: ApprovalRequest) -> bool:
    known = request.capability.rpartition("@")[0]
    return name in {request.capability, known, known.replace(".", "_")}


def _edited(given: dict[str, Any], request: ApprovalRequest) -> dict[str, Any]:
    """The arguments of an edit: LangChain's `edited_action`, or Agent Inbox's `args`."""
    said = given.get("edited_action", given.get("args"))
    action = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    name, args = action.get("name", action.get("action")), action.get("args")
    if not isinstance(args, dict):
        _refuse("An edit holds the name and all arguments of the action.")
    known = request.capability.rpartition("@")[0]
    if not _is_named(name, request):
        _refuse(
            f"An edit changes the arguments of {known}, never which tool is called. Reject it, and "
            "say what to do instead."
        )
    return _typed(cast("dict[str, Any]", args), request)


def _typed(args: dict[str, Any], request: ApprovalRequest) -> dict[str, Any]:
    """Arguments whose text stands for another type, read as that."""
    fields = cast("dict[str, Any]", request.args_schema.get("properties") or {})
    return {name: _read(value, fields.get(name)) for name, value in args.items()}


def _read(value: Any, schema: Any) -> Any:
    wanted = cast("dict[str, Any]", schema).get("type") if isinstance(schema, dict) else None
    if not isinstance(value, str) or wanted is None or "string" in wanted:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value  # as it is; the schema's answer says what is wrong with it


def text(value: Any) -> str:
    """Read a text, or `{"answer": TEXT}`.

    Raises:
        InputError: neither, empty, or too long.
    """
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("answer")
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            'The question is answered by a text, or by {"answer": TEXT}.',
            op=_OP,
            code="unusable_answer",
        )
    return _bounded(value)


def _reason(given: dict[str, Any]) -> str:
    """The message of a HITL decision, or the args of an Agent Inbox answer."""
    said = given.get("message", given.get("args"))
    if said is None:
        return ""
    if not isinstance(said, str):
        _refuse("The message of a rejection is text.")
    return _bounded(said)


def _bounded(said: str) -> str:
    if len(said) > MAX_SAID:
        _refuse(f"The text has {len(said)} characters; {MAX_SAID} are taken.")
    return said


def _refuse(problem: str) -> NoReturn:
    raise InputError(
        f"{problem} Send "
        '{"decisions": [{"type": "approve"}]}, {"type": "reject", "message": WHY}, '
        '{"type": "edit", "edited_action": {"name": NAME, "args": ARGS}} or '
        '{"type": "respond", "message": RESULT} in the same place.',
        op=_OP,
        code="unusable_answer",
    )
