"""The words of a command as facts: one list, in one form, for everything that runs a command."""

from typing import cast

from checkrein.contracts.codec import clean_text
from checkrein.errors import CapabilityError, InputError

MAX_WORDS = 256
"""Most words of one command, its program included."""

MAX_WORD = 4_096
"""Longest word, in characters."""


def words_of(value: object, *, param: str, op: str) -> list[str]:
    """Return the words of a command, the program first.

    Text is refused and never split: which words it means depends on the shell that reads it.

    Raises:
        CapabilityError: it is no list of words that a program can be given (code argv_refused).
    """
    if not isinstance(value, list | tuple) or not value:
        raise _refused(param, "is no list of words with a program first", op)
    words = cast("list[object] | tuple[object, ...]", value)
    if len(words) > MAX_WORDS:
        raise _refused(param, f"has {len(words)} words, more than {MAX_WORDS}", op)
    return [_word(word, n, param, op) for n, word in enumerate(words)]


def _word(word: object, n: int, param: str, op: str) -> str:
    if not isinstance(word, str):
        raise _refused(f"{param}/{n}", "is no text", op)
    if not word and n == 0:
        raise _refused(f"{param}/{n}", "names no program", op)
    if len(word) > MAX_WORD:
        raise _refused(f"{param}/{n}", f"is longer than {MAX_WORD} characters", op)
    try:
        clean_text(word)
    except InputError as error:
        raise _refused(f"{param}/{n}", "holds a NUL or a lone surrogate", op) from error
    return word


def _refused(where: str, why: str, op: str) -> CapabilityError:
    return CapabilityError(
        f"The command is refused: {where} {why}.",
        op=op,
        code="argv_refused",
        advice=f'Write the command as a list of words, such as ["ls", "-l"]; {where} {why}.',
    )
