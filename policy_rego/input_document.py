"""The decision input as the engine sees it: canonical JSON, bounded in size and depth."""

from checkrein.contracts.codec import canonical, clean
from checkrein.contracts.decision import DecisionInput
from checkrein.errors import InputError

MAX_INPUT_BYTES = 8 * 1024 * 1024
"""Largest input document, as canonical JSON."""

_OP = "policy.input"


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
