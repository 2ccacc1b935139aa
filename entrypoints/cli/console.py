"""Writing to people and programs. Text of models, tools and tasks is shown, never obeyed."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from checkrein.contracts.display import short as short
from checkrein.contracts.display import shown as shown

if TYPE_CHECKING:
    from rich.console import Console

    from checkrein.errors import CheckreinError


class ReaderGone(Exception):  # noqa: N818 - a control signal, no error
    """Whoever read stdout has gone, as `head` does; there is nobody left to write to."""


def out(text: str = "") -> None:
    """Write lines for people to stdout."""
    try:
        print(text)
    except BrokenPipeError as error:
        # Told at once: Typer would make exit code 1 of it, which means something else here.
        raise ReaderGone from error


def out_json(value: Mapping[str, Any]) -> None:
    """Write the command's one JSON object to stdout."""
    indent = 2 if sys.stdout.isatty() else None
    # ASCII alone: no terminal and no encoding can go wrong over it.
    out(json.dumps(value, indent=indent, default=str).replace("\x7f", "\\u007f"))


def out_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table to stdout: a drawn one on a terminal, tabs where a program reads."""
    if not sys.stdout.isatty():
        for row in (head, *rows):
            out("\t".join(shown(cell) for cell in row))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(head):
        # What stands first is an id or a number, and is copied whole.
        table.add_column(name, overflow="fold", no_wrap=place == 0)
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    _rich().print(table)


def error_json(error: "CheckreinError") -> dict[str, Any]:
    """The JSON object of a command that ended with an error."""
    return failure_json(str(error), error.code, error.op, error.retryable, error.context)


def failure_json(
    message: str,
    code: str,
    op: str,
    retryable: bool = False,
    context: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The shape of every error that a program reads."""
    return {
        "error": {
            "code": code,
            "message": message,
            "op": op,
            "retryable": retryable,
            "context": dict(context or {}),
        }
    }


def fail(failure: Mapping[str, Any], *, as_json: bool) -> None:
    """Tell why a command ended, on the one place where it is looked for."""
    if as_json:
        out_json(failure)
    else:
        print(f"checkrein: {shown(failure['error']['message'], lines=True)}", file=sys.stderr)


def warn(text: str, kind: str = "warning") -> None:
    """Write one warning, or a note of another kind, to stderr."""
    print(f"{kind}: {shown(text, lines=True)}", file=sys.stderr)


def make_streams_safe() -> None:
    """Let a terminal that lacks a character show an escape in its place, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _rich() -> "Console":
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)
