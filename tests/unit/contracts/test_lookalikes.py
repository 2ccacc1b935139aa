"""What may deceive the reader of a request is told, and honest text of any alphabet is not."""

from typing import Any

import pytest

from checkrein.contracts.lookalikes import MAX_WARNINGS, suspicions, warnings_about

HONEST = [
    "plain text, with a tab\tand\r\nlines\n",
    "Привет, мир: файл.txt, API-интерфейс и 5 USD",
    "I mean хор and рост by these",
    "Ελληνικά α β",
    "中文，测试：ＡＢＣ。",
    "日本語のTシャツ",
    "한국어 문서",
    "مرحبا بالعالم، می‌خواهم",
    "עברית",
    "हिन्दी क्‍ष",
    "Δt = 5 μs, 3 µm, λx",
    "1½ m², 1º, Größe, naïve café",
    "👨‍👩‍👧 ❤️",
]

DECEIVING = [
    ("p\u0430ypal.com", "mixed alphabets: Cyrillic, Latin"),
    ("\u0430\u0440\u0440\u04cf\u0435.com", "Cyrillic letters that looks Latin"),
    ("rm \u0441\u043e\u0440\u0443", "Cyrillic letters that looks Latin"),
    ("\u03bf\u03c1en", "mixed alphabets: Greek, Latin"),
    ("photo\u202egpj.exe", "changes the order"),
    ("a\u2066b", "changes the order"),
    ("pay\u200bload", "shown as nothing"),
    ("a\u200db", "shown as nothing"),
    ("x\U000e0041y", "shown as nothing"),
    ("ab\ufe01c", "shown as nothing"),
    ("\u3164", "shown as nothing"),
    ("\x1b[2J", "a terminal would obey"),
    ("over\rwritten", "a terminal would obey"),
    ("\ue000", "without a meaning"),
    ("\U0001d41a\U0001d41d\U0001d426", "letters made for formulas"),
    ("\uff45xample.com", "letters of another form"),
    ("https:\u2215\u2215evil", "looks like '/'"),
    ("name.txt  ", "ends with spaces"),
]


@pytest.mark.parametrize("text", HONEST)
def test_honest_text_is_not_shouted_at(text: str) -> None:
    """Protects people from warnings that they would learn to overlook."""
    assert suspicions(text) == []


@pytest.mark.parametrize(("text", "told"), DECEIVING)
def test_what_deceives_is_told(text: str, told: str) -> None:
    """Protects whoever reads a request, in words and a sample of ASCII alone."""
    found = suspicions(text)
    assert any(told in one.what for one in found), found
    assert all(one.sample.isascii() and one.sample.isprintable() for one in found)


def test_the_place_is_named() -> None:
    """Protects the search for it in a large request; what repeats is told once."""
    given: dict[str, Any] = {
        "args": {"to": ["x", "p\u0430y"], "note": "p\u0430y", "n\u200bame": 1, "count": 7},
        "purpose": "to p\u0430y",
    }
    first, second = warnings_about(given)
    assert first == "args/to/1, character 1: a word of mixed alphabets: Cyrillic, Latin (p\\u0430y)"
    assert second.startswith("a name in args, character 2: a character that is shown as nothing")


def test_many_are_counted() -> None:
    """Protects the screen from warnings themselves."""
    found = warnings_about({"args": [f"p\u0430y{n}" for n in range(100)]})
    assert len(found) == MAX_WARNINGS + 1
    assert found[-1] == f"and {100 - MAX_WARNINGS} more of the kind"
    assert all(len(one) < 300 for one in found)
