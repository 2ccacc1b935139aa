"""How to mend what the engine's parser and compiler refuse: its own messages only say what."""

import re

_SLIPS = (
    (re.compile(r"&&"), "Rego has no &&: write each condition on a line of its own."),
    (re.compile(r"\|\|"), "Rego has no ||: write a second rule of the same name."),
    (re.compile(r"'"), 'Rego\'s texts stand in double quotes: "text".'),
    (re.compile(r"(^|\s)!(?!=)"), "Rego has no !: write `not`."),
    (re.compile(r"\sand\s"), "Rego has no `and`: write each condition on a line of its own."),
    (re.compile(r"\sor\s"), "Rego has no `or`: write a second rule of the same name."),
    (re.compile(r"= ="), "Equality is written == without a space."),
)
"""What other languages write, and what Rego writes in its place."""

_MESSAGES = (
    (
        re.compile(r"`if` keyword is required"),
        "Write `if` before the brace: deny contains {...} if { ... }.",
    ),
    (re.compile(r"`contains` keyword is required"), "Write deny contains {...} if { ... }."),
    (re.compile(r"before definition"), "Move the line that gives it its value further up."),
    (
        re.compile(r"unsafe|undefined variable"),
        "Give it a value first, by `some x in ...` or `x := ...`, or mend its name.",
    ),
    (
        re.compile(r"rule conflicts with|complete rules? should not produce"),
        "A rule with `:=` may have one value at a time: give the two conditions that exclude each "
        "other, or add both to a set with `contains`.",
    ),
    (
        re.compile(r"expects .* argument"),
        "Check the kind of the value first, for example by is_string(...).",
    ),
    (re.compile(r"invalid character in string"), 'Close the text with ", on the same line.'),
    (re.compile(r"expecting [`']?[}\])]"), "Close the bracket, or mend what stands before it."),
    (
        re.compile(r"unexpected keyword"),
        "This word has a meaning of its own; it cannot stand here.",
    ),
    (re.compile(r"expecting expression"), "Something is missing before this place."),
    (
        re.compile(r"comprehension|expect|unexpected|invalid"),
        "A rule reads: deny contains {...} if { ... }.",
    ),
)


def advice_for(message: str, line: str, column: int) -> str:
    """What to do about one of the engine's errors.

    Args:
        message: the engine's words, without the place.
        line: the line of the file that it names.
        column: where it stands there, counted from 1.
    """
    lowered = message.lower()
    is_syntax = not re.search(
        r"unsafe|undefined variable|definition|conflicts|argument|produce", lowered
    )
    if is_syntax and not lowered.startswith("`if`"):
        near = line[max(0, column - 8) : column + 8]
        for pattern, advice in _SLIPS:
            if pattern.search(near):
                return advice
    for pattern, advice in _MESSAGES:
        if pattern.search(lowered):
            return advice
    return ""
