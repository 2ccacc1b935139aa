"""What looks like a credential: counted for policies, and masked before anything is exported.

By two signs: the name of a field, and the form of a value. It finds the usual ones; it is no proof
that a text holds none.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

MASK = "[masked]"

_NAMES = re.compile(
    r"(^|[_\-.])(pass(word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|"
    r"credentials?|authorization|cookie|session[_-]?id|pin|cvv|cvc)($|[_\-.])",
    re.IGNORECASE,
)
_VALUES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bckr_[A-Za-z0-9_-]{20,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bsk_(live|test)_[A-Za-z0-9]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|\bBearer\s+[A-Za-z0-9._~+/=-]{12,}"
    r"|://[^/\s:@]{1,256}:[^/\s:@]{1,256}@"
)
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def secret_hits(value: Any) -> int:
    """How many fields and texts in a JSON value look like credentials."""
    return sum(1 for _ in _places(value, ""))


def masked(value: Any) -> tuple[Any, list[str]]:
    """The value with what looks like a credential taken out, and the places (JSON pointers)."""
    places = list(_places(value, ""))
    return _without(value, "", frozenset(places)), places


def secret_texts(value: Any) -> list[str]:
    """The short texts in a JSON value that look like credentials, the longest first.

    They are looked for in other texts about the same value. Very short ones are left out, since
    they stand in many words, and long ones, in which only a part looks like a credential.
    """
    found: list[str] = []
    for place in _places(value, ""):
        part: Any = value
        for name in place.split("/")[1:]:
            key = name.replace("~1", "/").replace("~0", "~")
            if isinstance(part, Mapping):
                part = cast(Mapping[str, Any], part)[key]
            else:
                part = part[int(key)]
        if isinstance(part, str) and 6 <= len(part) <= 512:
            found.append(part)
    return sorted(set(found), key=len, reverse=True)


def masked_text(text: str) -> str:
    """Text for people, in which whatever has the form of a credential is taken out.

    It goes by the form of values alone, since a text has no fields.
    """
    return _VALUES.sub(MASK, _KEY_BLOCK.sub(MASK, text))


def _places(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in cast(Mapping[str, Any], value).items():
            place = f"{at}/{_escaped(str(key))}"
            filled = isinstance(item, str | int) and not isinstance(item, bool) and item != ""
            if filled and _NAMES.search(_WORDS.sub("_", str(key))):
                yield place
            else:
                yield from _places(item, place)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _places(item, f"{at}/{number}")
    elif isinstance(value, str) and _VALUES.search(value):
        yield at


def _without(value: Any, at: str, places: frozenset[str]) -> Any:
    if at in places:
        return MASK
    if isinstance(value, Mapping):
        return {
            key: _without(item, f"{at}/{_escaped(str(key))}", places)
            for key, item in cast(Mapping[str, Any], value).items()
        }
    if isinstance(value, list | tuple):
        return [
            _without(item, f"{at}/{number}", places)
            for number, item in enumerate(cast("list[Any]", value))
        ]
    return value


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
