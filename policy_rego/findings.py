"""What is wrong with a bundle: where it is, what it is, and what to do about it."""

import re
from collections.abc import Sequence
from typing import Literal

from checkrein.contracts.codec import Frozen
from checkrein.errors import InputError
from checkrein.policy_rego.syntax_advice import advice_for

_PLACE = re.compile(r"^--> (?P<path>.+):(?P<line>[0-9]+):(?P<column>[0-9]+)$", re.MULTILINE)
_ERROR = re.compile(r"^error: (?P<text>.+)$", re.MULTILINE)
_TAB = 4  # the engine counts a tab as so many columns, and other characters by their bytes


class Finding(Frozen):
    """One thing that a check found.

    Attributes:
        level: an `error` keeps the bundle from being loaded, a `warning` does not.
        rule: snake_case name of the check.
        path: file in the bundle.
        line: counted from 1.
        column: counted from 1, in characters; a tab is one.
        message: what is wrong.
        advice: what to do next.
    """

    level: Literal["error", "warning"] = "error"
    rule: str
    path: str
    line: int
    column: int
    message: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message} {self.advice}".rstrip()


def unusable(origin: str, errors: Sequence[Finding]) -> InputError:
    """The error for a bundle with these findings: the first in full, the others counted."""
    rest = f" ({len(errors) - 1} more.)" if len(errors) > 1 else ""
    return InputError(
        f"The policy bundle {origin} cannot be used: {errors[0]}{rest} "
        f"`checkrein policy check {origin}` lists all.",
        op="policy.load",
        code="policy_invalid",
        context={"path": origin, "findings": [str(finding) for finding in errors]},
    )


def caret(text: str, finding: Finding) -> str:
    """The line that a finding points at and a caret below its place; empty where there is none.

    Args:
        text: the whole file.
    """
    lines = text.splitlines()
    if not 0 < finding.line <= len(lines):
        return ""
    line = lines[finding.line - 1]
    # Tabs stay tabs, so that the caret stands right at any width of them.
    before = "".join("\t" if c == "\t" else " " for c in line[: finding.column - 1])
    return f"{line}\n{before}^"


def place_of(message: str) -> tuple[str, int, int] | None:
    """File, line and the engine's own column in one of its error messages, if it names any."""
    found = _PLACE.search(message)
    if found is None:
        return None
    return found["path"], int(found["line"]), int(found["column"])


def from_engine(message: str, texts: dict[str, str], *, rule: str, fallback: str) -> Finding:
    """Turn the engine's error message into a finding.

    Args:
        texts: sources by path, from which the column is counted anew.
        rule: name of the check that asked the engine.
        fallback: the file to name where the message names none.
    """
    path, line, column = place_of(message) or (fallback, 1, 1)
    error = _ERROR.search(message)
    what = (error["text"] if error else message.strip().partition("\n")[0]).strip(" .")
    lines = texts.get(path, "").splitlines()
    if 0 < line <= len(lines):
        column = _column(lines[line - 1], column)
    elif lines and line > len(lines):
        # Behind the end of the file: point at what is there.
        line, column = len(lines), len(lines[-1]) + 1
    here = lines[line - 1] if 0 < line <= len(lines) else ""
    return Finding(
        rule=rule,
        path=path,
        line=line,
        column=column,
        message=f"{what[:1].upper()}{what[1:300]}.",
        advice=advice_for(what, here, column),
    )


def _column(text: str, engine_column: int) -> int:
    """The column in characters for the engine's, which counts bytes and widens tabs."""
    reached = 1
    for number, character in enumerate(text, start=1):
        if reached >= engine_column:
            return number
        reached += _TAB if character == "\t" else len(character.encode())
    return max(1, len(text) + 1)
