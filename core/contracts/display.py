"""Text of models, tools and tasks as people may see it: shown, never obeyed. Pure.

`shown` makes every character visible that steers a terminal or hides in a text; `suspicions` (in
lookalikes) says what in a text may deceive whoever reads it.
"""

import unicodedata
from functools import lru_cache

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that steer a terminal or hide: controls, formats, surrogates, separators."""

_BLANK = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)))
"""Letters, marks and symbols that are drawn as nothing."""

BIDI = frozenset(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Marks that change the order in which a text is shown."""


def is_selector(c: str) -> bool:
    """Whether a character only chooses how the one before it is drawn, and is drawn as nothing."""
    return 0xFE00 <= ord(c) <= 0xFE0F or 0xE0100 <= ord(c) <= 0xE01EF or 0x180B <= ord(c) <= 0x180F


@lru_cache(maxsize=8192)
def is_hidden(c: str) -> bool:
    """Whether a terminal would obey a character, or show nothing in its place."""
    return unicodedata.category(c) in _UNSEEN or c in _BLANK or is_selector(c)


def shown(text: object, *, lines: bool = False) -> str:
    """Text in which every character that a terminal would obey or hide is written as \\uXXXX.

    Args:
        text: what to show; anything but text is shown as str() gives it.
        lines: keep line breaks and tabs, for previews.
    """
    whole = str(text)
    if whole.isascii() and whole.isprintable():
        return whole
    if lines:
        whole = whole.replace("\r\n", "\n")
    kept = "\n\t" if lines else ""
    odd = {ord(c): escape(c) for c in set(whole) if c not in kept and is_hidden(c)}
    return whole.translate(odd) if odd else whole


def escape(c: str) -> str:
    """The written form of one character."""
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"


def short(text: object, width: int = 100) -> str:
    """One shown line, cut to a width."""
    line = shown(" ".join(str(text)[: 4 * width].split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def width_of(text: str) -> int:
    """How many columns a shown line takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


@lru_cache(maxsize=8192)
def _columns(c: str) -> int:
    if unicodedata.combining(c) or unicodedata.category(c) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def cropped(text: str, width: int) -> str:
    """A shown line in at most so many columns; a cut one ends in an ellipsis."""
    if width_of(text) <= width:
        return text
    kept: list[str] = []
    used = 0
    for c in text:
        used += _columns(c)
        if used > width - 1:
            break
        kept.append(c)
    return "".join(kept) + "…" if width > 0 else ""


def wrapped(text: str, width: int, *, words: bool = False) -> list[str]:
    """A shown line as pieces of at most so many columns; nothing is left out.

    Args:
        words: break between words where that leaves no piece half empty.
    """
    pieces: list[str] = []
    piece, used = "", 0
    for c in text.expandtabs(4):
        wide = _columns(c)
        if used + wide > width and piece:
            cut = piece.rfind(" ") + 1 if words else 0
            cut = cut if cut > len(piece) // 2 else len(piece)
            pieces.append(piece[:cut])
            piece = piece[cut:]
            used = width_of(piece)
        piece, used = piece + c, used + wide
    return [*pieces, piece]
