"""Tokens of a small configuration language."""

import re
from collections.abc import Iterator
from typing import NamedTuple

PATTERN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<string>".*")
    | (?P<number>-?\d+)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<mark>[=,;(){}])
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """What it is, how it was written, and where it begins."""

    kind: str
    text: str
    at: int


def tokens(source: str) -> Iterator[Token]:
    """Every token but white space.

    Raises:
        SyntaxError: something there is no token.
    """
    at = 0
    while at < len(source):
        match = PATTERN.match(source, at)
        if match is None:
            raise SyntaxError(f"unexpected {source[at]!r} at {at}")
        if match.lastgroup != "space":
            yield Token(str(match.lastgroup), match[0], at)
        at = match.end()
