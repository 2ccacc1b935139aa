"""What in a text may deceive its reader: hidden characters, and letters that look like others.

The rules go by the alphabets of letters, as their Unicode names give them. Whole words of any
alphabet are fine; what is told is a word that mixes alphabets whose letters look alike, or one that
only looks like Latin among Latin.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

from checkrein.contracts.display import BIDI, escape, is_hidden, is_selector

MAX_WARNINGS = 20
"""Most warnings about one request; the rest is counted."""

_MAX_KEY = 60
_SAMPLE = 24
_WORD = re.compile(r"[^\W_]+")
_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "COPTIC", "CHEROKEE", "LISU"})
"""Alphabets that have letters in common, as far as the eye can tell."""

_GREEK_ALONE = frozenset("ΓΔΘΛΞΠΣΦΨΩγδεζηθλμξπσςφψω")
"""Greek letters that look like no Latin one: science writes them beside Latin, as in Δt."""

_LIKE_LATIN = frozenset(
    "аеорсухѕіјһԁԛԝӏѵүАВЕКМНОРСТУХЅІЈԌҮ"  # Cyrillic
    "αικνορυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"  # Greek
    "օոսհցզոԼՏՍՕ"  # Armenian
)
"""Letters that look like a Latin one on their own."""

_SLASHES: Mapping[str, str] = {"⁄": "/", "∕": "/", "⧸": "/", "․": ".", "꞉": ":", "ǃ": "!"}
_JOINERS = frozenset("\u200c\u200d")
_JOINING = frozenset(
    {
        *("ARABIC", "SYRIAC", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI"),
        *("ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "KHMER"),
    }
)
"""Scripts whose spelling needs joiners."""


class Suspicion(NamedTuple):
    """Something that may deceive: what it is, a sample in ASCII, and where it begins."""

    what: str
    sample: str
    at: int


def warnings_about(named: Mapping[str, Any]) -> list[str]:
    """Sentences for people about values by name, each with the place; what repeats is told once.

    A place is the name and the way to the text, as in args/path.
    """
    found: list[str] = []
    told: set[tuple[str, str]] = set()
    for name, value in named.items():
        for place, text in _texts(value, name):
            for one in suspicions(text):
                if (one.what, one.sample) not in told:
                    told.add((one.what, one.sample))
                    found.append(f"{place}, character {one.at + 1}: {one.what} ({one.sample})")
    more = len(found) - MAX_WARNINGS
    return found if more <= 0 else [*found[:MAX_WARNINGS], f"and {more} more of the kind"]


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Every text and every name in a JSON value, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield f"a name in {place}", key
            yield from _texts(item, f"{place}/{_ascii(key[:_MAX_KEY])}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(cast("Sequence[Any]", value)):
            yield from _texts(item, f"{place}/{number}")


def suspicions(text: str) -> list[Suspicion]:
    """What in a text may deceive, each kind with its first place."""
    found = [] if text.isascii() and text.isprintable() else [*_hidden(text)]
    if not text.isascii():
        found += _words(text)
        found += [
            Suspicion(f"looks like {like!r} and is another character", escape(c), text.index(c))
            for c, like in _SLASHES.items()
            if c in text
        ]
    if text != text.rstrip(" \t") and "\n" not in text and len(text) < 1024:
        found.append(Suspicion("ends with spaces", repr(text[-8:]), len(text.rstrip(" \t"))))
    return found


def _hidden(text: str) -> Iterator[Suspicion]:
    """The first of each kind of character that steers or hides."""
    plain = text.replace("\r\n", "\n")
    odd = {c for c in set(plain) if is_hidden(c) and c not in "\n\t"}
    if not odd:
        return
    seen: set[str] = set()
    for at, c in enumerate(text):
        if c not in odd or (c == "\r" and text[at + 1 : at + 2] == "\n"):
            continue
        what = _kind(text, at)
        if what is not None and what not in seen:
            seen.add(what)
            yield Suspicion(what, escape(c), at)


def _kind(text: str, at: int) -> str | None:
    """What a hidden character does; None where honest text needs it there."""
    c, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if c in BIDI:
        return "a mark changes the order in which the text is shown"
    category = unicodedata.category(c)
    if category == "Cc":
        return "a control character, which a terminal would obey"
    if c in _JOINERS and _needs_joiner(before, after):
        return None
    if c in "\ufe0e\ufe0f" and before and unicodedata.category(before) in {"So", "Sm", "Po"}:
        return None
    if is_selector(c) or category not in {"Co", "Cn", "Cs"}:
        return "a character that is shown as nothing"
    return "a character without a meaning of its own"


def _needs_joiner(before: str, after: str) -> bool:
    """Whether a joiner stands inside a word of a script that spells with it, or inside an emoji."""
    if not before or not after:
        return False
    if unicodedata.category(after) == "So":
        return unicodedata.category(before) in {"So", "Sk"} or is_selector(before)
    return {_alphabet(before), _alphabet(after)} <= _JOINING


def _words(text: str) -> Iterator[Suspicion]:
    """Words whose letters are not what they look like; the first of each kind."""
    words = {match[0]: match.start() for match in reversed([*_WORD.finditer(text)])}
    odd = [(word, at) for word, at in words.items() if not word.isascii()]
    latin = any(word.isascii() and word.isalpha() for word in words)
    # Where one letter shows that the text is Cyrillic or Greek, its words are what they look like.
    plainly = any(
        c.isalpha() and c not in _LIKE_LATIN and _alphabet(c) in _ALIKE - {"LATIN"}
        for word, _ in odd
        for c in word
    )
    seen: set[str] = set()
    for word, at in sorted(odd, key=lambda pair: pair[1]):
        what = _mixed(word)
        if what is None and latin and not plainly and set(word) <= _LIKE_LATIN:
            what = f"a word in {_alphabet(word[0]).title()} letters that looks Latin"
        if what is not None and what not in seen:
            seen.add(what)
            yield Suspicion(what, _ascii(word[:_SAMPLE]), at)


def _mixed(word: str) -> str | None:
    """What is odd about one word's letters."""
    alphabets = {_alphabet(c) for c in word if c.isalpha() and c not in _GREEK_ALONE} & _ALIKE
    if len(alphabets) > 1:
        return f"a word of mixed alphabets: {', '.join(sorted(a.title() for a in alphabets))}"
    latin = (c for c in word if c.isalpha() and unicodedata.normalize("NFKC", c).isascii())
    forms = {unicodedata.decomposition(c).partition(" ")[0] for c in latin}
    if len(word) > 1 and "<font>" in forms:
        return "a word in letters made for formulas"
    if forms & {"<wide>", "<compat>"} and any(c.isascii() for c in word):
        return "a word with letters of another form"
    return None


@lru_cache(maxsize=8192)
def _alphabet(c: str) -> str:
    """The first word of a character's Unicode name: its script, for letters and marks."""
    return unicodedata.name(c, "").partition(" ")[0]


def _ascii(text: str) -> str:
    """Text in ASCII alone, everything else escaped."""
    return "".join(c if c.isascii() and c.isprintable() else escape(c) for c in text)
