"""The only serialiser: canonical JSON (RFC 8785), digests, and the base of every noun."""

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, cast

import rfc8785
from pydantic import BaseModel, ConfigDict

from checkrein.contracts.display import escape
from checkrein.errors import InputError

MAX_DEPTH = 32
"""Deepest nesting of JSON that enters from outside."""


class Frozen(BaseModel):
    """Base of every noun: immutable, closed, strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


def canonical(value: Any) -> bytes:
    """Return RFC 8785 bytes of a JSON value.

    Raises:
        InputError: the value is no I-JSON (NaN, integers beyond 2**53, lone surrogates).
    """
    try:
        if _plain(value):
            # For such values the standard encoder writes the same bytes, many times faster.
            return json.dumps(
                value, ensure_ascii=False, sort_keys=True, separators=(",", ":")
            ).encode()
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise InputError(
            f"The value cannot be written as canonical JSON: {error}.",
            op="codec.canonical",
            code="not_canonical",
        ) from error


def _plain(value: Any) -> bool:
    """Whether a value holds no floats, no large integers, and no keys beyond ASCII.

    Those are where RFC 8785 differs from Python's own encoder with sorted keys.
    """
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return -(2**53) < value < 2**53
    if isinstance(value, list):
        return all(map(_plain, cast(Sequence[Any], value)))
    if isinstance(value, dict):
        items = cast(Mapping[Any, Any], value).items()
        return all(isinstance(key, str) and key.isascii() and _plain(item) for key, item in items)
    return False


def digest(data: bytes) -> str:
    """Return `sha256:<64 hex digits>` of bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_of(value: Any) -> str:
    """Return the digest of a JSON value's canonical form."""
    return digest(canonical(value))


def clean(value: Any, *, where: str = "", depth: int = 0) -> Any:
    """Return a JSON value with its text in Unicode NFC, or refuse it.

    Raises:
        InputError: NUL or a lone surrogate in text, nesting beyond MAX_DEPTH, a non-JSON type,
            or a number that is not finite or beyond 2**53-1. The message names the place.
    """
    if depth > MAX_DEPTH:
        raise _refused(where, f"is nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value, where=where)
    if isinstance(value, int | float):
        if isinstance(value, float) and not math.isfinite(value):
            raise _refused(where, "is no finite number")
        if abs(value) > 2**53 - 1:
            # Whether it is written as 9e15 or in full: some reader would make another number of it.
            raise _refused(where, "is an integer beyond 2**53-1; send it as text")
        return value
    if isinstance(value, list | tuple):
        items = cast(Sequence[Any], value)
        return [clean(item, where=f"{where}/{n}", depth=depth + 1) for n, item in enumerate(items)]
    if isinstance(value, dict):
        return _clean_object(cast(dict[object, object], value), where, depth)
    raise _refused(where, f"is a {type(value).__name__}, which JSON does not have")


def _clean_object(value: dict[object, object], where: str, depth: int) -> dict[str, Any]:
    cleaned: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _refused(where, f"has a name that is a {type(key).__name__}, not text")
        name = clean_text(key, where=f"{where}/<name>")
        if name in cleaned:
            raise _refused(f"{where}/{name}", "has a name that is there twice, written differently")
        cleaned[name] = clean(item, where=f"{where}/{name}", depth=depth + 1)
    return cleaned


def clean_text(text: str, *, where: str = "") -> str:
    """Return text in NFC, or refuse NUL and lone surrogates by an InputError."""
    if "\x00" in text:
        raise _refused(where, "contains a NUL character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refused(where, "contains a lone surrogate, which is no valid text") from error
    return unicodedata.normalize("NFC", text)


def visible(text: str) -> str:
    """Return text that any store can hold: NUL and lone surrogates written as \\uXXXX.

    For stores only; what people see goes through display.shown.
    """
    if text.isascii() and "\x00" not in text:
        return text
    return "".join(escape(c) if c == "\x00" or 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def to_text(model: BaseModel) -> str:
    """Return the JSON text that is stored and hashed for a noun."""
    return model.model_dump_json(exclude_none=True)


def to_ascii(model: BaseModel) -> str:
    """Return a noun as one line of JSON in ASCII, which no terminal and no reader takes amiss."""
    text = json.dumps(model.model_dump(mode="json"), separators=(",", ":"))
    return text.replace("\x7f", "\\u007f")


def json_object(text: str | bytes, *, op: str) -> dict[str, Any]:
    """Parse JSON text to an object, or raise an InputError that says where it breaks."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"Not valid JSON: {error}.", op=op, code="invalid_json") from error
    if not isinstance(value, dict):
        raise InputError("The JSON is not an object.", op=op, code="invalid_json")
    return cast(dict[str, Any], value)


def _refused(where: str, why: str) -> InputError:
    return InputError(
        f"The value at {where or '/'} {why}.",
        op="codec.clean",
        code="invalid_text",
        context={"where": where or "/"},
    )
