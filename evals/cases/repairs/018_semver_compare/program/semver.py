"""Semantic versions, compared."""

import re
from functools import total_ordering

_FORM = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


@total_ordering
class Version:
    """One version; build metadata says nothing about its order.

    Raises:
        ValueError: the text is no version.
    """

    def __init__(self, text: str) -> None:
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no version")
        self.text = text
        self.core = tuple(match.groups()[:3])
        self.pre = match[4].split(".") if match[4] else []

    def _key(self) -> tuple[object, ...]:
        # A release comes after its pre-releases; numbers come before words.
        pre = [(0, part, "") if part.isdigit() else (1, "", part) for part in self.pre]
        return (self.core, not self.pre, pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key() == other._key()

    def __lt__(self, other: "Version") -> bool:
        return self._key() < other._key()


def newest(versions: list[str]) -> str:
    """The newest of some versions."""
    return max(versions, key=Version)
