"""What people's programs send as an answer, read into what a person said. Pure."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, cast

from checkrein.contracts.approval import Answer
from checkrein.errors import ConflictError, InputError

MAX_TEXT = 100_000
"""The most characters of an answer or a reason."""

_OP = "studio.answer"
_INTERRUPT_ID = re.compile(r"^[0-9a-f]{32}$")
_APPROVE = frozenset({"approve", "accept"})
_REJECT = frozenset({"reject", "ignore", "response"})


class Spoken(NamedTuple):
    """An answer to an approval request. Who gave it never stands in what was sent."""

    answer: Answer
    reason: str


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


def decision(value: Any) -> Spoken:
    """Read `{"decisions": [D]}`, `[D]` or `D`; D is a HITL decision or an Agent Inbox answer.

    Raises:
        InputError: none of these, or nothing that may be said here.
    """
    if isinstance(value, dict) and "decisions" in value:
        value = cast("dict[str, Any]", value)["decisions"]
    if isinstance(value, list):
        listed = cast("Sequence[Any]", value)
        if len(listed) != 1:
            _refuse(f"There are {len(listed)} decisions; the graph asks for exactly one.")
        value = listed[0]
    if not isinstance(value, dict):
        _refuse("An approval is answered by a decision with a type.")
    given = cast("dict[str, Any]", value)
    kind = str(given.get("type"))
    if kind not in _APPROVE | _REJECT:
        _refuse(f"A decision of the type {kind} is not on offer.")
    if kind in _APPROVE:
        return Spoken(Answer.APPROVE, "")
    return Spoken(Answer.REJECT, _reason(given))


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
    if len(said) > MAX_TEXT:
        _refuse(f"The text has {len(said)} characters; {MAX_TEXT} are taken.")
    return said


def _refuse(problem: str) -> NoReturn:
    raise InputError(
        f"{problem} Send "
        '{"decisions": [{"type": "approve"}]} or '
        '{"decisions": [{"type": "reject", "message": WHY}]}.',
        op=_OP,
        code="unusable_answer",
    )
