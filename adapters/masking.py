"""Takes the values of lent secrets out of what a process says, before anybody keeps it.

Known values are looked for, as they are and in the forms that tools usually print: base64, hex,
percent-escapes, JSON, quoted for a shell, reversed, broken into lines. It is a net under mishaps. A
process that holds a secret and means harm can write it in a form of its own, which nobody here
knows; what keeps that in is the sandbox and the policy.
"""

import base64
import html
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote, quote_plus

from pydantic import SecretStr

LEAST_PART = 6
"""Fewest bytes of a value's beginning that are taken out where a stream breaks off in it."""

_BREAK = rb"[\r\n]{0,2}"
_LEAST_LINE = 8


def label(name: str) -> str:
    """What stands in the place of a value."""
    return f"[secret {name}]"


class Masking:
    """The values of some secrets, as one search; `repr` shows no value."""

    def __init__(self, secrets: Mapping[str, SecretStr]) -> None:
        """`secrets`: values by name; none at all is a masking that changes nothing."""
        self._labels: dict[bytes, bytes] = {}
        self._beginnings: list[tuple[bytes, bytes]] = []
        for name, secret in secrets.items():
            value = secret.get_secret_value()
            put = label(name).encode()
            for form in _forms(value):
                self._labels.setdefault(_unbroken(form), put)
            self._beginnings.append((value.encode("utf-8", "surrogatepass"), put))
        self._labels.pop(b"", None)
        longest_first = sorted(self._labels, key=len, reverse=True)
        # Each alternative begins with a plain byte, which lets `re` skip most positions at once.
        patterns = [_BREAK.join(re.escape(bytes([b])) for b in form) for form in longest_first]
        self._search = re.compile(b"|".join(patterns)) if patterns else None
        self.reach = max((3 * len(form) - 2 for form in longest_first), default=1)

    def data(self, data: bytes) -> bytes:
        """Bytes without the values."""
        parts: list[bytes] = []
        stream = MaskedStream(self, parts.append)
        stream.add(data)
        stream.close()
        return b"".join(parts)

    def text(self, text: str) -> str:
        """Text without the values."""
        masked = self.data(text.encode("utf-8", "surrogatepass"))
        return masked.decode("utf-8", "surrogatepass")

    def value(self, value: Any) -> Any:
        """A JSON value without the values, the names of its fields included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            items = cast(Mapping[str, Any], value).items()
            return {self.text(key): self.value(item) for key, item in items}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in cast("list[Any]", value)]
        return value

    def part(self, data: bytes, *, sure: int) -> tuple[bytes, bytes]:
        """The masked beginning of a stream's bytes, and the bytes to look at again with the next.

        `sure`: only what begins before this place is decided now.
        """
        said = bytearray()
        at = 0
        for match in self._search.finditer(data) if self._search else ():
            if match.start() >= sure:
                break
            said += data[at : match.start()]
            said += self._labels[_unbroken(match[0])]
            at = match.end()
        until = max(at, sure)
        said += data[at:until]
        return bytes(said), data[until:]

    def end(self, data: bytes) -> bytes:
        """The end of a stream, in which a value may have begun that nothing more follows of."""
        for value, put in self._beginnings:
            for size in range(min(len(value) - 1, len(data)), LEAST_PART - 1, -1):
                if data.endswith(value[:size]):
                    return data[: len(data) - size] + put
        return data


class MaskedStream:
    """Masks a stream that comes in pieces of any size; no value passes on the border of two."""

    def __init__(self, masking: Masking, take: Callable[[bytes], None]) -> None:
        """`take` is given what is safe to keep, never an empty piece."""
        self._masking = masking
        self._take = take
        self._held = b""

    def add(self, data: bytes) -> None:
        """Take the next bytes; the last few are held back until it is known what follows them."""
        held = self._held + data
        # A value that begins before this place ends within the bytes that are here.
        sure = len(held) - self._masking.reach + 1
        if sure <= 0:
            self._held = held
            return
        said, self._held = self._masking.part(held, sure=sure)
        self._hand_on(said)

    def close(self) -> None:
        """Hand on what was held back: nothing follows."""
        said, _ = self._masking.part(self._held, sure=len(self._held))
        self._held = b""
        self._hand_on(self._masking.end(said))

    def _hand_on(self, said: bytes) -> None:
        if said:
            self._take(said)


def _unbroken(form: bytes) -> bytes:
    return form.translate(None, b"\r\n")


def _forms(value: str) -> Iterator[bytes]:
    """The value in the forms that tools print."""
    yield from _printed(value)
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        # A log puts something before each line; then the whole never stands in one piece.
        for line in lines:
            if len(line.encode("utf-8", "surrogatepass")) >= _LEAST_LINE:
                yield from _printed(line)


def _printed(value: str) -> Iterator[bytes]:
    raw = value.encode("utf-8", "surrogatepass")
    yield raw
    yield raw[::-1]
    yield value.encode("utf-16-le", "surrogatepass")
    for digits in (raw.hex(), raw.hex(" "), raw.hex(":")):
        yield from (digits.encode(), digits.upper().encode())
    yield from _base64(raw)
    for escaped in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield escaped.encode()
        yield re.sub("%..", lambda match: match[0].lower(), escaped).encode()
    written = (
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value)[1:-1])[1:-1],
        repr(value)[1:-1],
        html.escape(value),
        shlex.quote(value),
        value.replace("'", "'\\''"),
    )
    yield from (text.encode("utf-8", "surrogatepass") for text in written)


def _base64(raw: bytes) -> Iterator[bytes]:
    """The value in base64, alone and somewhere inside of a longer text, as in `user:password`."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw)
        yield encode(raw).rstrip(b"=")
        for before in range(3):
            whole = encode(b"\0" * before + raw)
            # Only the characters that are made of the value's bits alone.
            yield whole[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
