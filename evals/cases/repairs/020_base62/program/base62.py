"""Numbers in 62 signs, for short links."""

import string

SIGNS = string.digits + string.ascii_uppercase + string.ascii_lowercase
VALUES = {sign: value for value, sign in enumerate(SIGNS)}


def encode(number: int) -> str:
    """A number's text, without leading zeros.

    Raises:
        ValueError: the number is negative.
    """
    if number < 0:
        raise ValueError(f"{number} is negative")
    signs: list[str] = []
    while number:
        number, rest = divmod(number, 62)
        signs.append(SIGNS[rest])
    return "".join(reversed(signs))


def decode(text: str) -> int:
    """The number of a text.

    Raises:
        ValueError: the text is none of ours.
    """
    number = 0
    for sign in text:
        if sign not in VALUES:
            raise ValueError(f"{sign!r} is no sign of base 62")
        number = number * 62 + VALUES[sign]
    return number
