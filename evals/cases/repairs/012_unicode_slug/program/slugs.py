"""Names for URLs, made from titles."""

import re
import unicodedata

LONGEST = 40


def slug(title: str) -> str:
    """Small letters, digits and hyphens; "untitled" where nothing is left."""
    text = unicodedata.normalize("NFC", title)
    plain = text.encode("ascii", "ignore").decode("ascii").lower()
    words = re.findall(r"[a-z0-9]+", plain)
    return _shortened(words) or "untitled"


def _shortened(words: list[str]) -> str:
    """As many whole words as there is room for, yet at least a part of the first."""
    kept = ""
    for word in words:
        longer = f"{kept}-{word}" if kept else word
        if len(longer) > LONGEST:
            return kept or word[:LONGEST]
        kept = longer
    return kept


def unique(title: str, taken: set[str]) -> str:
    """A slug that is not taken yet: title, title-2, title-3, ..."""
    base = candidate = slug(title)
    number = 2
    while candidate in taken:
        candidate = f"{base}-{number}"
        number += 1
    return candidate
