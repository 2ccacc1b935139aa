"""The decision input as the engine sees it: canonical JSON, bounded in size and depth."""

from pydantic import ValidationError

from checkrein.contracts.codec import canonical, clean, json_object
from checkrein.contracts.decision import DecisionInput
from checkrein.errors import InputError

MAX_INPUT_BYTES = 8 * 1024 * 1024
"""Largest input document, as canonical JSON."""

_OP = "policy.input"


class WrittenInput:
    """The document that was written out last.

    It is asked for twice: once to be judged, and once to store what was judged.
    """

    def __init__(self) -> None:
        self._last: tuple[DecisionInput, bytes] | None = None

    def text(self, document: DecisionInput) -> bytes:
        """`input_text`, written once for the same document; raises as that does."""
        if self._last is None or self._last[0] is not document:
            self._last = document, input_text(document)
        return self._last[1]


def input_text(document: DecisionInput) -> bytes:
    """Return the exact bytes that are judged, hashed and stored for a document.

    Raises:
        InputError: an argument holds NUL, a lone surrogate, a number outside I-JSON or a type
            that JSON does not have, is nested too deep, or the whole is too large. The message
            says which kind of fault, never what the document holds.
    """
    try:
        # Before it is dumped: dumping would turn what is no JSON into some JSON.
        clean(document.action.args)
        text = canonical(document.model_dump(mode="json"))
    except (InputError, ValueError, RecursionError) as error:
        kind = error.code if isinstance(error, InputError) else "not_canonical"
        raise InputError(
            f"The policy's input cannot be written as canonical JSON ({kind}).",
            op=_OP,
            code="policy_input_invalid",
        ) from error
    if len(text) > MAX_INPUT_BYTES:
        raise InputError(
            f"The policy's input is {len(text)} bytes, more than {MAX_INPUT_BYTES}.",
            op=_OP,
            code="policy_input_invalid",
        )
    return text


def read_input(text: str | bytes, *, where: str) -> str:
    """A decision input that a person wrote or kept, as canonical JSON.

    Args:
        where: what to call it in messages, for example its file.

    Raises:
        InputError: no JSON, or no decision input; the message names the first wrong field.
    """
    try:
        value = json_object(text, op=_OP)
        document = DecisionInput.model_validate_json(canonical(value), strict=False)
        return input_text(document).decode()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise InputError(
            f"{where} is no decision input: {place}: {first['msg']}. "
            "`checkrein policy explain DECISION --input` writes a recorded one.",
            op=_OP,
            code="policy_input_invalid",
            context={"path": where},
        ) from error
    except InputError as error:
        raise InputError(
            f"{where} cannot be read. {error}",
            op=_OP,
            code="policy_input_invalid",
            context={"path": where},
        ) from error
