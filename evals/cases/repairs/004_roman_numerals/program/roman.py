"""Roman numerals from 1 to 3999."""

NUMERALS = [
    (1000, "M"),
    (500, "D"),
    (100, "C"),
    (50, "L"),
    (10, "X"),
    (5, "V"),
    (1, "I"),
]


def to_roman(number: int) -> str:
    """The numeral of a number.

    Raises:
        ValueError: there is no numeral for it.
    """
    if not 1 <= number <= 3999:
        raise ValueError(f"{number} has no Roman numeral")
    written: list[str] = []
    for value, letters in NUMERALS:
        times, number = divmod(number, value)
        written.append(letters * times)
    return "".join(written)


def from_roman(text: str) -> int:
    """The number of a numeral; a smaller letter before a larger one is taken away."""
    values = {letters: value for value, letters in NUMERALS}
    total = 0
    for letter, following in zip(text, [*text[1:], None]):
        value = values[letter]
        total += -value if following and values[following] > value else value
    return total
