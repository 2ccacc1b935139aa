"""What a function returned, made into a JSON object that any store and any model can hold."""

import json
import math
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from checkrein.contracts.codec import MAX_DEPTH, visible
from checkrein.errors import CapabilityError

MAX_RESULT_BYTES = 64 * 1024
"""Most bytes of a result that a model is shown; the whole is kept beside it."""

_HEAD_BYTES = 40 * 1024
_TAIL_BYTES = 8 * 1024
_MAX_INTEGER = 2**53 - 1


def plain(result: object, *, op: str) -> dict[str, Any]:
    """Return a result as a JSON object: dict as it is, str as {"text"}, models dumped.

    Anything else stands under "value"; None is {}. NUL and lone surrogates are written as
    escapes, numbers that JSON readers would bend as text.

    Raises:
        CapabilityError: JSON cannot hold it (code result_unusable).
    """
    if result is None:
        return {}
    if isinstance(result, str):
        return {"text": visible(result)}
    try:
        value: Any = (
            result.model_dump(mode="json")
            if isinstance(result, BaseModel)
            else to_jsonable_python(result)
        )
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise _unusable(f"a {type(result).__name__}, which JSON cannot hold", op) from error
    found = _storable(value, op)
    return found if isinstance(value, dict) else {"value": found}


def bounded(result: dict[str, Any]) -> tuple[dict[str, Any], bytes | None]:
    """Return a result of at most MAX_RESULT_BYTES, and the whole of it where that cut it.

    A cut result holds `head`, `tail` and `size_bytes`. The whole is the text itself where the
    function returned text, else its JSON.
    """
    data = json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode()
    if len(data) <= MAX_RESULT_BYTES:
        return result, None
    if result.keys() == {"text"}:
        data = str(result["text"]).encode()
    head, tail = _HEAD_BYTES, _TAIL_BYTES
    shown = _cut(data, head, tail)
    # Text full of quotes and control characters grows when it is written as JSON.
    while len(json.dumps(shown, ensure_ascii=False).encode()) > MAX_RESULT_BYTES:
        head, tail = head // 2, tail // 2
        shown = _cut(data, head, tail)
    return shown, data


def _cut(data: bytes, head: int, tail: int) -> dict[str, Any]:
    return {
        "head": data[:head].decode(errors="ignore"),
        "tail": data[-tail:].decode(errors="ignore"),
        "size_bytes": len(data),
    }


def _storable(value: Any, op: str, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise _unusable(f"something nested deeper than {MAX_DEPTH} levels", op)
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        fields = cast(dict[object, object], value)
        return {visible(str(k)): _storable(v, op, depth + 1) for k, v in fields.items()}
    if isinstance(value, list):
        items = cast(list[object], value)
        return [_storable(item, op, depth + 1) for item in items]
    if isinstance(value, bool) or value is None:
        return value
    bent = abs(value) > _MAX_INTEGER if isinstance(value, int) else not math.isfinite(value)
    return str(value) if bent else value


def _unusable(what: str, op: str) -> CapabilityError:
    return CapabilityError(f"The function returned {what}.", op=op, code="result_unusable")
