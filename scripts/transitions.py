"""The tables of checkrein.contracts.transitions: drawn in docs/transitions.md, and as SQL.

python scripts/transitions.py            # write the page
python scripts/transitions.py --check    # fail if it is stale
python scripts/transitions.py --sql      # print the INSERT for a migration
"""

import argparse
import sys
from pathlib import Path

from checkrein.contracts.transitions import TABLES, Machine, Table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "transitions.md"

HEAD = """\
# Transitions

Every status change goes through one of these tables; a change that is not drawn here is refused
and changes nothing, in Python and in the database alike. Written by scripts/transitions.py.
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_drawn(machine, table) for machine, table in TABLES.items())


def sql() -> str:
    """One INSERT with every row, in a stable order."""
    rows = [
        f"    ('{machine}', '{current}', '{event}', '{after}')"
        for machine, table in TABLES.items()
        for (current, event), after in sorted(table.items())
    ]
    return (
        "-- Written by scripts/transitions.py from checkrein.contracts.transitions.\n"
        "INSERT INTO transitions (machine, current, event, next) VALUES\n"
        + ",\n".join(rows)
        + ";\n"
    )


def _drawn(machine: Machine, table: Table) -> str:
    arrows: dict[tuple[str, str], list[str]] = {}
    for (current, event), after in sorted(table.items()):
        arrows.setdefault((current, after), []).append(event.partition(":")[0])
    lines = [
        f"    {current} --> {after}: {', '.join(dict.fromkeys(events))}"
        for (current, after), events in arrows.items()
    ]
    drawing = "\n".join(["stateDiagram-v2", *lines])
    return f"\n## {machine.capitalize()}\n\n```mermaid\n{drawing}\n```\n"


def main(arguments: list[str] | None = None) -> int:
    """Write, check or print; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sql", action="store_true")
    given = parser.parse_args(arguments)
    if given.sql:
        print(sql(), end="")
    elif not given.check:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        print("docs/transitions.md is stale: run `python scripts/transitions.py`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
