"""Text in lines of a given width."""


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters; a longer word is cut.

    Raises:
        ValueError: the width is no width.
    """
    if width < 1:
        raise ValueError("width must be at least 1")
    lines: list[str] = []
    line = ""
    for word in _cut(text.split(), width):
        if not line:
            line = word
        elif len(line) + len(word) <= width:
            line += " " + word
        else:
            lines.append(line)
            line = word
    return [*lines, line] if line else lines


def _cut(words: list[str], width: int) -> list[str]:
    """The words, the long ones in pieces."""
    return [word[at : at + width] for word in words for at in range(0, len(word), width)]


def quoted(text: str, width: int) -> str:
    """Text as it is quoted in a mail; the mark counts."""
    return "\n".join(f"> {line}" for line in wrap(text, width - 2))
