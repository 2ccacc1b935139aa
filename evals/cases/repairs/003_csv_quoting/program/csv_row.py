"""Rows of RFC 4180, written."""

from collections.abc import Iterable

SPECIAL = frozenset(',"\r\n')


def field(value: object) -> str:
    """One field; quoted only where it has to be. None is an empty field."""
    text = "" if value is None else str(value)
    if SPECIAL.isdisjoint(text):
        return text
    return f'"{text}"'


def row(values: Iterable[object]) -> str:
    """One row, without its line end."""
    return ",".join(field(value) for value in values)


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A header and its rows, each line ended by CR LF."""
    lines = [row(header), *(row(values) for values in rows)]
    return "".join(f"{line}\r\n" for line in lines)
